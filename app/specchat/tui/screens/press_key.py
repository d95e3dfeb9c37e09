"""The keys of an action: the next one that is pressed comes to them, or goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from specchat.tui.actions import Action

LEAVE, DEFAULT = "escape", "backspace"
CROSS = "\N{MULTIPLICATION SIGN}"


class PressKeyScreen(ModalScreen[None]):
    """Every key that is pressed is one more for the action; one that it has is taken off.

    Args:
        action: what the keys do.
        keys: gives those that do it now.
        keep: has other keys do it, or with None those that it has by itself; what to say of that.
        shown: a key in words.
    """

    CSS_PATH = "settings.tcss"
    AUTO_FOCUS = ""
    """Every key comes to the screen, not to a button."""
    HELP = "The key that you press next does this too. It is kept in settings.toml, under [keys]."

    def __init__(
        self,
        action: Action,
        *,
        keys: Callable[[], Sequence[str]],
        keep: Callable[[Sequence[str] | None], str],
        shown: Callable[[str], str],
    ) -> None:
        super().__init__()
        self._action = action
        self._keys = keys
        self._keep = keep
        self._shown = shown
        self._row = Vertical(classes="keys")
        self._said = Static("", markup=False, classes="about")

    def compose(self) -> ComposeResult:
        with Vertical(id="press-key") as box:
            box.border_title = self._action.id
            yield Static(self._action.does, markup=False)
            yield self._row
            yield Static(
                "Press a key to add it, or one of these to take it off. "
                "Backspace: the default. Esc: done.",
                markup=False,
            )
            yield self._said
            with Horizontal(classes="buttons"):
                yield Button("Done", id="done", compact=True)
                yield Button("Default", id="default", compact=True)

    async def on_mount(self) -> None:
        """The buttons are for the mouse only."""
        self._said.display = False
        await self._fill()
        for button in self.query(Button):
            button.can_focus = False

    async def on_key(self, event: events.Key) -> None:
        """Whatever it is."""
        event.stop()
        event.prevent_default()
        if event.key == LEAVE:
            self.dismiss(None)
        elif event.key == DEFAULT:
            await self._have(None)
        else:
            await self._turn(event.key)

    @on(Button.Pressed, "#done")
    def leave(self, event: Button.Pressed) -> None:
        """The same as Esc."""
        event.stop()
        self.dismiss(None)

    @on(Button.Pressed, "#default")
    async def use_default(self, event: Button.Pressed) -> None:
        """The same as Backspace."""
        event.stop()
        await self._have(None)

    @on(Button.Pressed, ".key")
    async def take_off(self, event: Button.Pressed) -> None:
        """A key was clicked."""
        event.stop()
        await self._turn(event.button.name or "")

    async def _turn(self, key: str) -> None:
        keys = list(self._keys())
        if key in keys:
            keys.remove(key)
        else:
            keys.append(key)
        await self._have(keys)

    async def _have(self, keys: Sequence[str] | None) -> None:
        self._said.update(self._keep(keys))
        self._said.display = True
        await self._fill()

    async def _fill(self) -> None:
        keys = self._keys()
        buttons = [
            Button(Content(f"{self._shown(key)} {CROSS}"), name=key, compact=True, classes="key")
            for key in keys
        ]
        for button in buttons:
            button.can_focus = False
        async with self._row.batch():
            await self._row.remove_children()
            await self._row.mount_all(buttons or [Static("no key", markup=False)])
