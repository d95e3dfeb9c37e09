"""Every action that a key does or can do, and by which keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace
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
        "or a click adds keys to it and takes keys off."
    )

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self._preferences = preferences
        self._actions: Sequence[Action] = ()
        self._list = OptionList(markup=False, compact=True)
        self._said = Static("Enter or a click: add and remove keys.", markup=False, classes="about")

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
    def ask_for_keys(self, event: OptionList.OptionSelected) -> None:
        """Let keys come and go."""
        event.stop()
        action = self._actions[event.option_index]
        screen = PressKeyScreen(
            action,
            keys=partial(self._keys, action),
            keep=partial(self._keep, action),
            shown=lambda key: self._shown([key]),
        )
        self.app.push_screen(screen, lambda _: self._fill())

    def _keep(self, action: Action, keys: Sequence[str] | None) -> str:
        """Have these keys do it, or with None the default ones; what to say of that."""
        default = self._default(action)
        if keys is not None and not keys and default:
            return "✗ One key has to stay; Backspace gives the default back."
        if keys is not None and set(keys) == set(default):
            keys = None
        problem = self._preferences.save(("keys", action.id), ",".join(keys) if keys else None)
        if problem:
            return f"✗ {visible(problem)}"
        keys = self._keys(action)
        if also := self._others(action):
            does = ", ".join(f"“{each.does}”" for each in also)
            return f"! A key is for {does} too: what is nearer to the cursor wins."
        return f"✓ {self._shown(keys) or 'no key'} from now on."

    def _default(self, action: Action) -> tuple[str, ...]:
        """Its keys where the settings name none for it."""
        return action.keys_with(keymap_of(replace(self._preferences.settings, keys={})))

    def _others(self, action: Action) -> list[Action]:
        keys = set(self._keys(action))
        here = (each for each in self._actions if each.where == action.where)
        return [each for each in here if each is not action and keys & set(self._keys(each))]

    def _keys(self, action: Action) -> tuple[str, ...]:
        return action.keys_with(keymap_of(self._preferences.settings))

    def _shown(self, keys: Sequence[str]) -> str:
        return ", ".join(self.app.get_key_display(Binding(key, "")) for key in keys)

    def _fill(self) -> None:
        at = self._list.highlighted
        self._list.set_options([Option(self._line(action)) for action in self._actions])
        self._list.highlighted = at if at is not None else (0 if self._actions else None)

    def _line(self, action: Action) -> Content:
        keys = self._keys(action)
        mark = " " if keys == self._default(action) else "*"
        line = [Content.styled(f"{mark}{self._shown(keys)}".ljust(KEYS_WIDTH), "bold")]
        if self.size.width >= ROOM_FOR_IDS:
            line.append(Content.styled(action.id.ljust(ID_WIDTH), "$foreground-muted"))
        return Content(" ").join([*line, Content(action.does)])
