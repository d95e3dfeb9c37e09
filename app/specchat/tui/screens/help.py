"""What can be done here, and what the figures mean."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Footer, Static

from specchat.engine.protocol import Notice
from specchat.tui.actions import UNSET
from specchat.tui.definitions import FIGURES
from specchat.tui.memory_lines import legend_line
from specchat.tui.origins import legend
from specchat.tui.slash_table import COMMANDS
from specchat.tui.wording import visible

FIRST_KEYS = ("prompt.send", "prompt.new_line")
"""Named before the others."""


class Key(NamedTuple):
    """What a key does now."""

    key: str
    does: str


class HelpScreen(ModalScreen[None]):
    """Notices about the last answer first, then what belongs to the place, the keys, the figures.

    Args:
        notices: what a person could do something about.
        place: a few sentences about what has the focus.
        keys: those that work there.
        commands: those of the prompt, if it is there.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q", "dismiss", "Close", id="help.close", key_display="esc"),
    ]

    def __init__(
        self,
        notices: Sequence[Notice],
        place: str,
        keys: Sequence[Key],
        commands: Sequence[Key] = (),
    ) -> None:
        super().__init__()
        self._notices = notices
        self._place = place
        self._keys = keys
        self._commands = commands

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as scroll:
            scroll.border_title = "help"
            for notice in self._notices:
                yield Static(f"! {visible(notice.title)}", markup=False, classes="heading")
                yield Static(visible(notice.message), markup=False)
                yield Static(f"→ {visible(notice.help)}", markup=False)
            if self._place:
                yield Static(self._place, markup=False)
            yield Static("Keys", classes="heading")
            yield from _rows(self._keys)
            if self._commands:
                yield Static("Commands, written into the prompt", classes="heading")
                yield from _rows(self._commands)
            yield Static("What the figures mean", classes="heading")
            yield from _rows(FIGURES)
            yield Static("The bars of memory", classes="heading")
            yield Static(legend_line())
            yield Static("The marks of tokens", classes="heading")
            yield Static(legend())
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """The arrow keys scroll at once."""
        self.query_one("#help").focus()


def keys_of(screen: Screen[object]) -> Iterator[Key]:
    """Every key of ours that works where the focus is, with all keys of one action together."""
    found: dict[str, tuple[list[str], str]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.id is None or not binding.description or binding.key.startswith(UNSET):
            continue
        keys, _ = found.setdefault(binding.id, ([], binding.tooltip or binding.description))
        keys.append(screen.app.get_key_display(binding))
    for action in sorted(found, key=lambda action: action not in FIRST_KEYS):
        keys, does = found[action]
        yield Key(", ".join(dict.fromkeys(keys)), does)


def commands_listed() -> tuple[Key, ...]:
    """The commands of the prompt."""
    return tuple(Key(command.shown, command.does) for command in COMMANDS)


def place_of(screen: Screen[object]) -> str:
    """What the widget with the focus, or what it is in, says about itself."""
    node = screen.focused or screen
    texts = (type(each).HELP for each in node.ancestors_with_self if isinstance(each, Widget))
    return next((text for text in texts if text), "")


def _rows(pairs: Iterable[tuple[str, str]]) -> Iterator[Widget]:
    for name, text in pairs:
        yield Horizontal(
            Static(name, markup=False, classes="name"),
            Static(text, markup=False, classes="meaning"),
            classes="row",
        )
