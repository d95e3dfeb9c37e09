"""Cuts growing Markdown into pieces that cannot change any more and an open tail."""

from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

ITEMS_A_PIECE = 20
"""A longer list is shown in several pieces: building one long list would hold up the screen."""

_PROBE = "p\n"
"""A line of plain text: where it ends up tells whether the block before it is still open."""

_OPEN_ENDED = {"bullet_list_open", "ordered_list_open", "code_block"}
"""Blocks that a blank line does not end."""

# The same rules as the widget that shows the pieces, blocks only.
_parser = MarkdownIt("gfm-like", {"linkify": False}).disable(
    ["inline", "linkify", "text_join"], ignoreInvalid=True
)


class Piece(NamedTuple):
    """Whole Markdown blocks that nothing written later can change."""

    text: str
    list_goes_on: bool = False
    """The next piece continues the list that ends this one."""


class MarkdownSplitter:
    """Takes text as it comes and gives out closed pieces.

    The pieces given out so far and `tail` are together exactly the text that came.
    """

    def __init__(self) -> None:
        self.tail = ""
        """The text after the last closed piece."""

    def feed(self, text: str) -> list[Piece]:
        """Add text; the pieces that it closed."""
        self.tail += text
        if "\n" not in text:
            return []
        complete = self.tail.rfind("\n") + 1
        cuts = _cuts(self.tail[:complete])
        pieces = _cut(self.tail, cuts)
        self.tail = self.tail[sum(len(piece.text) for piece in pieces) :]
        return pieces

    def close(self) -> list[Piece]:
        """No more text comes: the tail as its last pieces."""
        text, self.tail = self.tail, ""
        cuts = [cut for cut in _cuts(text) if cut.list_goes_on]
        pieces = _cut(text, cuts)
        rest = text[sum(len(piece.text) for piece in pieces) :]
        return [*pieces, Piece(rest)] if rest else pieces


class _Cut(NamedTuple):
    line: int
    list_goes_on: bool = False


def _cuts(text: str) -> list[_Cut]:
    """The lines at which the closed part of `text` (whole lines) falls into pieces."""
    # A lone carriage return would count as a line for the parser but not for us.
    lines = text.replace("\r", " ")
    probe_line = lines.count("\n")
    tokens = _parser.parse(lines + _PROBE)
    blocks = [token for token in tokens if token.level == 0 and token.map and token.nesting >= 0]
    if not blocks:
        return []
    starts = [_start(block) for block in blocks]
    if starts[-1] < probe_line:
        closed = starts[-1]
    elif len(blocks) > 1 and blocks[-2].type in _OPEN_ENDED:
        closed = starts[-2]
    else:
        closed = probe_line
    cuts = [_Cut(line, True) for line in _list_cuts(tokens)]
    cuts = [cut for cut in cuts if cut.line > 0]
    if closed:
        cuts.append(_Cut(closed))
    return sorted(cuts)


def _list_cuts(tokens: list[Token]) -> list[int]:
    """Lines of items at which a long top-level list is divided."""
    lines: list[int] = []
    first = index = 0
    for token in tokens:
        if token.level == 0:
            index = 0
        elif token.level == 1 and token.type == "list_item_open":
            if index == 0:
                first = int(token.info or 0)
            # A list that repeats one number would start counting anew after a cut.
            counts = not token.info or int(token.info) == first + index
            if index and index % ITEMS_A_PIECE == 0 and counts:
                lines.append(_start(token))
            index += 1
    return lines


def _cut(text: str, cuts: list[_Cut]) -> list[Piece]:
    pieces: list[Piece] = []
    lines = text.split("\n")
    done = 0
    for cut in cuts:
        piece = "".join(line + "\n" for line in lines[done : cut.line])
        pieces.append(Piece(piece, cut.list_goes_on))
        done = cut.line
    return pieces


def _start(token: Token) -> int:
    assert token.map is not None
    return token.map[0]
