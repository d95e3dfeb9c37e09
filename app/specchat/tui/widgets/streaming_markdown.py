"""An answer's text while it grows: closed blocks as Markdown, the open tail as plain text."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from specchat.tui.markdown_blocks import MarkdownSplitter, Piece
from specchat.tui.widgets.code_block import AnswerMarkdown
from specchat.tui.widgets.steady import put
from specchat.tui.wording import visible

FEEDS_PER_SECOND = 10


class StreamingMarkdown(Vertical):
    """Shows text as it comes, ten times a second at most.

    Rendering Markdown anew for every token costs more than all else on the screen; a closed
    block is rendered once and never again.
    """

    def __init__(self) -> None:
        super().__init__()
        self._splitter = MarkdownSplitter()
        self._tail = Static(markup=False, classes="tail")
        self._waiting: list[str] = []
        self._finished = False
        self.is_complete = False
        """Whether it has ended and all of it is shown."""

    def compose(self) -> ComposeResult:
        yield self._tail

    def on_mount(self) -> None:
        """Take in text at a steady pace until the answer has ended."""
        self._timer = self.set_interval(1 / FEEDS_PER_SECOND, self._feed, name="feed")
        if self._finished:
            self.finish()

    @property
    def tail(self) -> str:
        """The part that is still shown as plain text."""
        return self._splitter.tail

    def write(self, text: str) -> None:
        """Add text; it is shown at the next beat."""
        self._waiting.append(visible(text))

    def finish(self) -> None:
        """Show all of it now, the tail as Markdown too. Nothing may be written afterwards."""
        self._finished = True
        if self.is_mounted:
            self._timer.stop()
            self.call_later(self._feed)

    async def _feed(self) -> None:
        if not self._waiting and not (self._finished and self._splitter.tail):
            self.is_complete = self._finished
            return
        text = "".join(self._waiting)
        self._waiting.clear()
        pieces = self._splitter.feed(text)
        if self._finished:
            pieces += self._splitter.close()
        shown = [_markdown(piece) for piece in pieces if piece.text.strip()]
        with self.app.batch_update():
            if shown:
                await self.mount_all(shown, before=self._tail)
            tail = self._splitter.tail.strip("\n")
            put(self._tail, tail)
            self._tail.display = bool(tail)
        self.is_complete = self._finished


def _markdown(piece: Piece) -> AnswerMarkdown:
    """A widget for one piece. A click on a link must not start a program."""
    classes = "list-goes-on" if piece.list_goes_on else ""
    return AnswerMarkdown(piece.text, open_links=False, classes=classes)
