"""Every action that a key does, and what key; another one is pressed in place of it."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from specchat.tui.actions import Action, all_actions, keymap_of
from specchat.tui.preferences import Preferences
from specchat.tui.screens.press_key import PressKeyScreen
from specchat.tui.wording import visible

KEYS_WIDTH, ID_WIDTH = 16, 26
ROOM_FOR_IDS = 90
"""Columns from which on the ids have a column of their own."""


class KeyList(Vertical):
    """The keys, in the order of the actions' ids.

    Args:
        preferences: where keys are read and written.
    """

    HELP = (
        "Each line: the keys that do it, and what they do; * where they are not the default. Enter "
        "or a click asks for another key."
    )

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self._preferences = preferences
        self._actions: Sequence[Action] = ()
        self._list = OptionList(markup=False, compact=True)
        self._said = Static("Enter or a click: press another key.", markup=False, classes="about")

    def compose(self) -> ComposeResult:
        yield self._said
        yield self._list

    def on_mount(self) -> None:
        """Look at all bindings."""
        self._actions = all_actions()
        self._fill()

    def on_resize(self) -> None:
        """As much as there is room for."""
        self._fill()

    @on(OptionList.OptionSelected)
    def ask_for_key(self, event: OptionList.OptionSelected) -> None:
        """Wait for a key."""
        event.stop()
        action = self._actions[event.option_index]
        screen = PressKeyScreen(action, self._shown(self._keys(action)))
        self.app.push_screen(screen, lambda key: self._take(action, key))

    def _take(self, action: Action, key: str | None) -> None:
        if key is None:
            return
        problem = self._preferences.save(("keys", action.id), key or None)
        if problem:
            self._say(f"✗ {visible(problem)}")
            return
        self._fill()
        shown = self._shown(self._keys(action))
        also = self._others(action)
        if also:
            does = ", ".join(f"“{each.does}”" for each in also)
            self._say(f"! {shown} is for {does} too: what is nearer to the cursor wins.")
        else:
            self._say(f"✓ {shown} from now on.")

    def _others(self, action: Action) -> list[Action]:
        keys = set(self._keys(action))
        here = (each for each in self._actions if each.where == action.where)
        return [each for each in here if each is not action and keys & set(self._keys(each))]

    def _keys(self, action: Action) -> tuple[str, ...]:
        return action.keys_with(keymap_of(self._preferences.settings))

    def _shown(self, keys: Sequence[str]) -> str:
        return ", ".join(self.app.get_key_display(Binding(key, "")) for key in keys)

    def _say(self, text: str) -> None:
        self._said.update(text)

    def _fill(self) -> None:
        at = self._list.highlighted
        self._list.set_options([Option(self._line(action)) for action in self._actions])
        self._list.highlighted = at if at is not None else (0 if self._actions else None)

    def _line(self, action: Action) -> Content:
        keys = self._keys(action)
        mark = " " if keys == action.keys else "*"
        line = [Content.styled(f"{mark}{self._shown(keys)}".ljust(KEYS_WIDTH), "bold")]
        if self.size.width >= ROOM_FOR_IDS:
            line.append(Content.styled(action.id.ljust(ID_WIDTH), "$foreground-muted"))
        return Content(" ").join([*line, Content(action.does)])
