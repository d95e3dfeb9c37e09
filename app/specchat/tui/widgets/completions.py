"""The list of what may be meant, above the prompt. The prompt keeps the focus and the keys."""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from specchat.tui.suggestions import Suggestion
from specchat.tui.wording import visible

MOST_ROWS = 8
EDGES = 2
"""Rows of the border, and its columns."""
OPTION_PADDING = 2
SCROLLBAR = 1
WIDEST_LABEL = 40


class Completions(OptionList, can_focus=False):
    """One suggestion a row; it lies over the end of the chat, which stays where it is."""

    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "The one before", id="completions.previous", show=False),
        Binding("down", "move(1)", "The next one", id="completions.next", show=False),
        Binding("tab", "take", "Take", id="completions.take", show=False),
        Binding("enter", "run", "Take and go on", id="completions.run", show=False),
        Binding("escape", "close", "Close", id="completions.close", show=False),
    ]
    """While the list is open. It never has the focus: the place to write obeys them."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._suggestions: tuple[Suggestion, ...] = ()
        self.moved = False
        """The person has gone through the list: what is highlighted is meant."""
        self.display = False

    @property
    def is_open(self) -> bool:
        """Whether there is something to choose from."""
        return bool(self._suggestions)

    @property
    def chosen(self) -> Suggestion:
        """The one that is highlighted."""
        return self._suggestions[self.highlighted or 0]

    def show(self, suggestions: Sequence[Suggestion]) -> None:
        """Offer these, the first one highlighted; none closes the list."""
        self.moved = False
        if tuple(suggestions) == self._suggestions:
            self.highlighted = 0 if suggestions else None
            return
        self._suggestions = tuple(suggestions)
        self.display = bool(suggestions)
        rows = min(len(suggestions), MOST_ROWS) + EDGES
        self.styles.height = rows
        self.styles.offset = (0, -rows)
        self.set_options(self._rows())
        if suggestions:
            self.highlighted = 0

    def hide(self) -> None:
        """Offer nothing."""
        self.show(())

    def move(self, step: int) -> None:
        """Highlight the next one, from the last to the first and the other way round."""
        self.moved = True
        self.highlighted = ((self.highlighted or 0) + step) % len(self._suggestions)

    def on_resize(self) -> None:
        """Rows end where the list does."""
        if self.is_open:
            highlighted = self.highlighted
            self.set_options(self._rows())
            self.highlighted = highlighted

    def _rows(self) -> list[Option]:
        labels = [visible(each.label) for each in self._suggestions]
        column = min(max(map(cell_len, labels), default=0), WIDEST_LABEL) + 2
        room = max(self._room, 10)
        return [
            Option(_row(label, each.detail, column).truncate(room, ellipsis=True))
            for label, each in zip(labels, self._suggestions, strict=True)
        ]

    @property
    def _room(self) -> int:
        around = self.parent
        width = self.size.width
        if not width and isinstance(around, Widget):
            width = around.size.width - EDGES
        return width - OPTION_PADDING - SCROLLBAR


def _row(label: str, detail: str, column: int) -> Content:
    space = " " * max(2, column - cell_len(label))
    return Content.assemble(label, (f"{space}{visible(detail)}", "$text-muted"))
