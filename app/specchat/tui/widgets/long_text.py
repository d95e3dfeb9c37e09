"""What a person wrote: a long text shows its beginning, the rest on demand."""

from textual.content import Content
from textual.widgets import Static

from specchat.hub.wording import size_text
from specchat.tui.folds import UNWIELDY, is_long
from specchat.tui.wording import visible

HEAD_LINES = 10
HEAD_LENGTH = 800


class LongText(Static):
    """A click, or `toggle`, shows more and less of it.

    Args:
        text: as it was written.
    """

    def __init__(self, text: str, *, classes: str) -> None:
        self._text = text
        self._folded = is_long(text)
        super().__init__(self._content(), classes=classes)

    def toggle(self) -> None:
        """Show all, or the beginning."""
        if is_long(self._text):
            self._folded = not self._folded
            self.update(self._content())

    def on_click(self) -> None:
        """The same by the mouse, unless it has selected something."""
        if not self.screen.selections:
            self.toggle()

    def _content(self) -> Content:
        shown = _head(self._text) if self._folded else self._text[:UNWIELDY]
        rest = self._text[len(shown) :]
        text = Content(visible(shown))
        return Content.assemble(text, (f"\n… {_measure(rest)}", "$text-muted")) if rest else text


def _head(text: str) -> str:
    end = 0
    for _ in range(HEAD_LINES):
        end = text.find("\n", end) + 1
        if not end:
            break
    return text[: min(end - 1 if end else len(text), HEAD_LENGTH)]


def _measure(rest: str) -> str:
    lines = rest.count("\n")
    size = size_text(len(rest.encode(errors="replace")))
    return f"{lines:,} more lines, {size}" if lines else f"{size} more"
