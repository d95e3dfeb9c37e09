"""What a person wrote: a long text shows its beginning and its end, the rest on demand."""

from textual.content import Content
from textual.widgets import Static

from specchat.hub.wording import size_text
from specchat.tui.folds import UNWIELDY, is_long
from specchat.tui.wording import visible

HEAD_LINES, HEAD_LENGTH = 6, 500
TAIL_LINES, TAIL_LENGTH = 4, 300
"""A question stands behind the files that it is about."""


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
        """Show all, or the beginning and the end."""
        if is_long(self._text):
            self._folded = not self._folded
            self.update(self._content())

    def on_click(self) -> None:
        """The same by the mouse, unless it has selected something."""
        if not self.screen.selections:
            self.toggle()

    def _content(self) -> Content:
        if not self._folded and len(self._text) <= UNWIELDY:
            return Content(visible(self._text))
        head_end = _end_of_head(self._text) if self._folded else UNWIELDY
        tail_start = max(head_end, _start_of_tail(self._text))
        left_out = self._text[head_end:tail_start]
        if not left_out:
            return Content(visible(self._text))
        return Content.assemble(
            visible(self._text[:head_end]),
            (f"\n… {_measure(left_out)} …\n", "$text-muted"),
            visible(self._text[tail_start:]),
        )


def _end_of_head(text: str) -> int:
    end = -1
    for _ in range(HEAD_LINES):
        end = text.find("\n", end + 1)
        if end < 0:
            break
    return min(end if end >= 0 else len(text), HEAD_LENGTH)


def _start_of_tail(text: str) -> int:
    text = text.rstrip("\n")
    start = len(text)
    for _ in range(TAIL_LINES):
        start = text.rfind("\n", 0, max(start, 0))
        if start < 0:
            break
    return max(start + 1, len(text) - TAIL_LENGTH)


def _measure(rest: str) -> str:
    lines = rest.strip("\n").count("\n") + 1
    size = size_text(len(rest.encode(errors="replace")))
    return f"{lines:,} lines, {size}" if lines > 1 else size
