"""A place to write that shows long pasted texts as one word each."""

from rich.text import Text
from textual.widgets import TextArea

from specchat.tui.folds import UNWIELDY, Folds, is_long
from specchat.tui.wording import visible_line


class FoldingText(TextArea, inherit_bindings=False):
    """What was folded is deleted as a whole, and is one word for everything else too."""

    def __init__(self, placeholder: str) -> None:
        super().__init__(
            compact=True,
            highlight_cursor_line=False,
            placeholder=placeholder,
            show_line_numbers=False,
        )
        self._folds = Folds()

    def folded(self, text: str) -> str:
        """A pasted text as it is shown."""
        return self._folds.fold(text) if is_long(text) else text

    def hold(self, text: str) -> None:
        """Hold this text, to be worked on: only what would be slow is folded."""
        self.load_text(text if len(text) <= UNWIELDY else self._folds.fold(text))
        self.move_cursor(self.document.end)

    def unfolded(self, text: str) -> str:
        """The text as it is meant."""
        return self._folds.unfold(text)

    def type_in(self, text: str) -> None:
        """Put text in place of the selection, the cursor behind it."""
        self.replace(text, *self.selection, maintain_selection_offset=False)

    def action_delete_left(self) -> None:
        """Delete a character, or all of what was folded."""
        if not self._delete_fold(at_end=True):
            super().action_delete_left()

    def action_delete_word_left(self) -> None:
        """Delete a word, or all of what was folded."""
        if not self._delete_fold(at_end=True):
            super().action_delete_word_left()

    def action_delete_right(self) -> None:
        """Delete a character, or all of what was folded."""
        if not self._delete_fold(at_end=False):
            super().action_delete_right()

    def get_line(self, line_index: int) -> Text:
        """A line as it is shown: control characters as pictures, what was folded underlined."""
        line = self.document.get_line(line_index)
        shown = Text(visible_line(line), end="", no_wrap=True)
        for start, end in self._folds.spans(line):
            shown.stylize("underline", start, end)
        return shown

    def _delete_fold(self, *, at_end: bool) -> bool:
        row, column = self.cursor_location
        spans = self._folds.spans(self.document.get_line(row)) if self.selection.is_empty else []
        for start, end in spans:
            if column == (end if at_end else start):
                self.replace("", (row, start), (row, end), maintain_selection_offset=False)
                return True
        return False
