"""Cutting growing Markdown into closed pieces: nothing lost, nothing doubled, nothing changed."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from specchat.tui.markdown_blocks import ITEMS_A_PIECE, MarkdownSplitter, Piece

LINES = [
    *("", "plain text", "    indented", "# heading", "===", "---", "> quoted", "<div>", "</div>"),
    *("- item", "  inside the item", "  - nested", "* other list", "1. one", "2. two", "10) ten"),
    *("```", "```python", "~~~", "  ```", "| a | b |", "|---|---|", "| 1 | 2 |", "\t- tabbed"),
]

documents = st.lists(st.sampled_from(LINES), max_size=14).map("\n".join)
any_text = st.one_of(documents, st.text(), st.text(alphabet="\n\r`-*> 1.|a\x85\u2028"))
sizes = st.lists(st.integers(1, 12), min_size=1, max_size=20)


def split(text: str, chunk_sizes: list[int]) -> list[Piece]:
    """Feed the text in chunks of these sizes, over and over, and look at every step."""
    splitter = MarkdownSplitter()
    pieces: list[Piece] = []
    done = step = 0
    while done < len(text):
        chunk = text[done : done + chunk_sizes[step % len(chunk_sizes)]]
        pieces += splitter.feed(chunk)
        done += len(chunk)
        step += 1
        assert joined(pieces) + splitter.tail == text[:done]
    pieces += splitter.close()
    assert splitter.tail == ""
    return pieces


def joined(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def meaning(text: str) -> list[tuple[str, int, str]]:
    """The Markdown as its parser sees it."""
    return [(t.type, t.level, t.content) for t in MarkdownIt("gfm-like").parse(text)]


@given(any_text, sizes)
def test_closed_pieces_and_tail_are_always_the_text(text: str, chunk_sizes: list[int]) -> None:
    assert joined(split(text, chunk_sizes)) == text


@given(documents, sizes)
def test_the_pieces_mean_what_the_whole_means(text: str, chunk_sizes: list[int]) -> None:
    parts = [part for piece in split(text, chunk_sizes) for part in meaning(piece.text)]
    assert parts == meaning(text)


def test_a_paragraph_closes_with_the_blank_line() -> None:
    splitter = MarkdownSplitter()
    assert splitter.feed("one\ntwo\n") == []
    assert splitter.feed("\nthree") == [Piece("one\ntwo\n\n")]
    assert splitter.tail == "three"


def test_a_fence_closes_with_its_own_mark_only() -> None:
    splitter = MarkdownSplitter()
    assert splitter.feed("````md\n```py\n\nx\n```\n\n# no heading\n") == []
    assert splitter.feed("````\n") == [Piece("````md\n```py\n\nx\n```\n\n# no heading\n````\n")]


def test_an_unclosed_fence_stays_open_until_the_end() -> None:
    splitter = MarkdownSplitter()
    assert splitter.feed("```\ncode\n\nmore\n") == []
    assert splitter.close() == [Piece("```\ncode\n\nmore\n")]


def test_a_list_stays_open_after_a_blank_line() -> None:
    splitter = MarkdownSplitter()
    assert splitter.feed("- a\n\n") == []
    assert splitter.feed("- b\n\nafter\n") == [Piece("- a\n\n- b\n\n")]


def test_a_table_closes_with_the_blank_line() -> None:
    splitter = MarkdownSplitter()
    assert splitter.feed("| a |\n|---|\n| 1 |\n") == []
    assert splitter.feed("\n") == [Piece("| a |\n|---|\n| 1 |\n\n")]


def test_a_long_list_is_divided_between_items() -> None:
    items = [f"{number}. item\n    - nested\n" for number in range(1, 2 * ITEMS_A_PIECE + 2)]
    pieces = split("".join(items), [17])
    assert pieces == [
        Piece("".join(items[:ITEMS_A_PIECE]), list_goes_on=True),
        Piece("".join(items[ITEMS_A_PIECE : 2 * ITEMS_A_PIECE]), list_goes_on=True),
        Piece(items[-1]),
    ]


def test_a_long_list_that_came_at_once_is_divided_too() -> None:
    text = "- item\n" * (ITEMS_A_PIECE + 1)
    assert MarkdownSplitter().feed(text) == [Piece("- item\n" * ITEMS_A_PIECE, True)]


def test_a_list_that_repeats_its_number_is_not_divided() -> None:
    text = "1. item\n" * (2 * ITEMS_A_PIECE)
    assert split(text, [50]) == [Piece(text)]
