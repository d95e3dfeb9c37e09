"""An answer's text while it grows: closed blocks as Markdown, the open tail as plain text."""

import time

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.timer import Timer

from specchat.tui.markdown_blocks import MarkdownSplitter, Piece
from specchat.tui.widgets.code_block import AnswerMarkdown
from specchat.tui.widgets.steady import GrowingText, LaidOutOnce, drawn_together
from specchat.tui.wording import visible

FEEDS_PER_SECOND = 5
WAITS_S = 2.0
"""How long closed blocks may stay plain text."""

KEPT_S = 0.1
"""After which a kept answer is shown: what it stands among is drawn first."""


class StreamingMarkdown(Vertical, LaidOutOnce):
    """Shows text as it comes, five times a second at most.

    Rendering Markdown anew for every token costs more than all else on the screen; a closed
    block is rendered once and never again. Laying the screen out for it is next, and so is done
    for several lines and blocks at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self._splitter = MarkdownSplitter()
        self._tail = GrowingText(markup=False, classes="tail")
        self._waiting: list[str] = []
        self._blocks: list[Piece] = []
        """Closed, and still part of the tail on screen."""
        self._mounted_at = 0.0
        """When blocks last became Markdown."""
        self._timer: Timer | None = None
        self._finished = False
        self.is_complete = False
        """Whether it has ended and all of it is shown."""

    def compose(self) -> ComposeResult:
        yield self._tail

    def on_mount(self) -> None:
        """Take in text at a steady pace until the answer has ended."""
        if self._finished:
            self.set_timer(KEPT_S, self._feed)
        else:
            self._timer = self.set_interval(1 / FEEDS_PER_SECOND, self._feed, name="feed")

    def write(self, text: str) -> None:
        """Add text; it is shown at the next beat."""
        self._waiting.append(visible(text))

    def finish(self) -> None:
        """Show all of it now, the tail as Markdown too. Nothing may be written afterwards."""
        self._finished = True
        if self._timer is not None:
            self._timer.stop()
            self.call_later(self._feed)

    async def _feed(self) -> None:
        text = "".join(self._waiting)
        self._waiting.clear()
        self._blocks += self._splitter.feed(text)
        if self._finished:
            self._blocks += self._splitter.close()
        waited = bool(self._blocks) and time.monotonic() - self._mounted_at > WAITS_S
        is_due = waited or self._finished
        if is_due or (text and not self._tail.show_in_place(self._plain_text())):
            await self._mount_blocks()
        self.is_complete = self._finished

    async def _mount_blocks(self) -> None:
        """Make Markdown of the blocks that are whole, and show the rest."""
        shown = [_markdown(piece) for piece in _joined(self._blocks) if piece.text.strip()]
        self._blocks.clear()
        self._mounted_at = time.monotonic()
        with drawn_together(self):
            await self.mount_all(shown, before=self._tail)
            self._tail.show(self._plain_text())

    def _plain_text(self) -> str:
        """What is not Markdown yet."""
        return "".join([*(piece.text for piece in self._blocks), self._splitter.tail]).strip("\n")


def _markdown(piece: Piece) -> AnswerMarkdown:
    """A widget for one piece. A click on a link must not start a program."""
    classes = "list-goes-on" if piece.list_goes_on else ""
    return AnswerMarkdown(piece.text, open_links=False, classes=classes)


def _joined(pieces: list[Piece]) -> list[Piece]:
    """The same text in as few pieces as can be; where a list was cut it stays so."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and not joined[-1].list_goes_on:
            joined[-1] = Piece(joined[-1].text + piece.text, piece.list_goes_on)
        else:
            joined.append(piece)
    return joined
