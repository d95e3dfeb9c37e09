"""Another key for an action: the next one that is pressed."""

from __future__ import annotations

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from specchat.tui.actions import Action

LEAVE, DEFAULT = "escape", "backspace"


class PressKeyScreen(ModalScreen[str | None]):
    """Ends with the key, with nothing for those that the action has by itself, or with None.

    Args:
        action: what the key is to do.
        keys: what does it now, in words.
    """

    CSS_PATH = "settings.tcss"
    AUTO_FOCUS = ""
    """Every key comes to the screen, not to a button."""
    HELP = "The key that you press next does this. It is kept in settings.toml, under [keys]."

    def __init__(self, action: Action, keys: str) -> None:
        super().__init__()
        self._action = action
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(id="press-key") as box:
            box.border_title = self._action.id
            yield Static(self._action.does, markup=False)
            yield Static(f"Now: {self._keys}", markup=False)
            yield Static("Press the new key. Esc: leave it. Backspace: the default.", markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Leave it", id="leave", compact=True)
                yield Button("Default", id="default", compact=True)

    def on_mount(self) -> None:
        """The buttons are for the mouse only."""
        for button in self.query(Button):
            button.can_focus = False

    def on_key(self, event: events.Key) -> None:
        """Whatever it is."""
        event.stop()
        event.prevent_default()
        if event.key == LEAVE:
            self.dismiss(None)
        else:
            self.dismiss("" if event.key == DEFAULT else event.key)

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        """The same by mouse."""
        event.stop()
        self.dismiss(None if event.button.id == "leave" else "")
