"""A code block of an answer, with a mark that copies it."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.widgets import Markdown, Static
from textual.widgets._markdown import MarkdownParagraph
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

from specchat.tui.widgets.steady import LaidOutOnce

COPY, COPIED = "copy", "copied"
COPIED_S = 2.0
PADDING = 1


class CopyMark(Static):
    """At the right of the line above the code; a click copies the code."""

    ALLOW_SELECT: ClassVar[bool] = False

    def __init__(self, code: str) -> None:
        super().__init__(COPY, markup=False)
        self._code = code

    def on_click(self, event: events.Click) -> None:
        """Copy, and say so for a while; the line beside the mark is none."""
        event.stop()
        if event.x >= self.size.width - len(COPIED) - PADDING:
            self.app.copy_to_clipboard(self._code)
            self.update(COPIED)
            self.set_timer(COPIED_S, lambda: self.update(COPY))


class CodeBlock(MarkdownFence):
    """The mark stands where there is a blank line above the code otherwise."""

    def compose(self) -> ComposeResult:
        yield CopyMark(self.code)
        yield from super().compose()


class Paragraph(MarkdownParagraph, LaidOutOnce):
    """What most of an answer is."""


class AnswerMarkdown(Markdown, LaidOutOnce):
    """Markdown whose code can be copied."""

    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        """Code and paragraphs in blocks of ours."""
        block = super().get_block_class(block_name)
        if block is MarkdownParagraph:
            return Paragraph
        return CodeBlock if block is MarkdownFence else block
