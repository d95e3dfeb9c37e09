"""Every character of an answer is marked by where it came from, and no character is divided."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import split_graphemes
from textual.content import Content

from specchat.chat.tokens import ORIGINS, Origin, Tokens
from specchat.tui.origins import (
    LINE_END,
    NAMES,
    NOT_A_TOKENS,
    STYLES,
    legend,
    origin_content,
    origin_spans,
)

PIECES = [
    "a",
    "b ",
    "\n",
    "é",
    "e\u0301",
    "語",
    "👍🏽",
    "👨\u200d👩\u200d👧",
    "🇨🇭",
    "\u1100\u1161\u11a8",
    "❤\ufe0f",
    "\r\n",
    "\u200d",
]

texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@st.composite
def answers(draw: st.DrawFn) -> tuple[str, Tokens]:
    """A text, and tokens of any sizes that make up the end of it or a little more."""
    text = draw(texts)
    sizes: list[int] = draw(st.lists(st.integers(0, 4), max_size=30))
    origins = draw(st.lists(st.integers(0, 3), min_size=len(sizes), max_size=len(sizes)))
    return text, Tokens(tuple(range(len(sizes))), bytes(origins), tuple(sizes))


def tokens(*parts: tuple[str, Origin]) -> tuple[str, Tokens]:
    """A text and its tokens, from the text of each and its origin."""
    origins = bytes(ORIGINS.index(origin) for _, origin in parts)
    sizes = tuple(len(text) for text, _ in parts)
    return "".join(text for text, _ in parts), Tokens(tuple(range(len(parts))), origins, sizes)


def spans(text: str, made: Tokens) -> list[tuple[str, Origin | None]]:
    return [(text[start:end], origin) for start, end, origin in origin_spans(text, made)]


def styled(content: Content) -> list[tuple[str, str]]:
    """The pieces of a content with their styles."""
    return [(content.plain[span.start : span.end], str(span.style)) for span in content.spans]


@given(answers())
def test_the_parts_are_the_whole_text(answer: tuple[str, Tokens]) -> None:
    text, made = answer
    found = origin_spans(text, made)

    assert "".join(text[start:end] for start, end, _ in found) == text
    assert all(start < end for start, end, _ in found)
    assert all(a.end == b.start and a.origin != b.origin for a, b in pairwise(found))


@given(answers())
def test_a_part_ends_at_most_one_visible_character_before_its_last_token(
    answer: tuple[str, Tokens],
) -> None:
    text, made = answer
    if not text.isascii():
        text = text.encode("ascii", "ignore").decode()
    begun = max(0, len(text) - sum(made.sizes))
    owners: list[Origin | None] = [None] * begun
    for size, origin in zip(made.sizes, made.origins, strict=True):
        owners += [ORIGINS[origin]] * size
    found = origin_spans(text, made)

    assert [origin for start, end, origin in found for _ in range(start, end)] == owners[
        : len(text)
    ]


@given(answers())
def test_what_the_terminal_draws_as_one_is_never_divided(answer: tuple[str, Tokens]) -> None:
    text, made = answer[0].replace("\r", ""), answer[1]
    lines, at = [], 0
    for line in text.split("\n"):
        lines += [at + start for start, _, _ in split_graphemes(line)[0]] + [at + len(line)]
        at += len(line) + 1
    found = origin_spans(text, made)

    assert {start for start, _, _ in found} <= {0, *lines}


CLUSTERS = ["e\u0301", "👍🏽", "👨\u200d👩\u200d👧", "🇨🇭", "❤\ufe0f", "\u1100\u1161\u11a8"]


@pytest.mark.parametrize("whole", CLUSTERS)
def test_a_character_of_several_tokens_has_the_origin_of_the_last(whole: str) -> None:
    text, made = tokens(
        ("a", "plain"), (whole[0], "draft"), (whole[1:], "corrected"), ("z", "plain")
    )

    assert spans(text, made) == [("a", "plain"), (whole, "corrected"), ("z", "plain")]


def test_tokens_that_end_within_a_character_show_nothing_of_their_own() -> None:
    made = Tokens((1, 2, 3), b"\1\1\2", (0, 0, 1))

    assert spans("語", made) == [("語", "corrected")]


def test_two_flags_are_two_characters() -> None:
    text, made = tokens(("🇨🇭", "draft"), ("🇦🇹", "plain"))

    assert spans(text, made) == [("🇨🇭", "draft"), ("🇦🇹", "plain")]


def test_text_before_the_tokens_is_nobodys() -> None:
    _, made = tokens(("b", "draft"))

    assert spans("edited, b", made) == [("edited, ", None), ("b", "draft")]
    assert styled(origin_content("edited, b", made))[0] == ("edited, ", NOT_A_TOKENS)


def test_tokens_whose_text_was_taken_off_mark_nothing() -> None:
    _, made = tokens(("ab", "draft"), ("STOP", "plain"))

    assert spans("ab", made) == [("ab", "draft")]
    assert spans("", made) == []


def test_every_origin_differs_from_the_others_without_any_colour() -> None:
    attributes = {
        origin: frozenset(word for word in style.split() if not word.startswith("$"))
        for origin, style in STYLES.items()
    }

    assert len(set(attributes.values())) == len(ORIGINS)
    assert attributes["plain"] == frozenset()


def test_line_ends_and_control_characters_show_their_marks() -> None:
    text, made = tokens(("a\n", "corrected"), ("\x1b[2J", "draft"))
    content = origin_content(text, made)

    assert content.plain == f"a{LINE_END}\n␛[2J"
    assert styled(content) == [
        (f"a{LINE_END}\n", STYLES["corrected"]), ("␛[2J", STYLES["draft"]),
    ]  # fmt: skip


def test_the_legend_names_each_mark_in_its_style_and_how_many_have_it() -> None:
    _, made = tokens(("a", "ngram"), ("b", "ngram"), ("c", "draft"), ("d", "corrected"))

    assert legend(made).plain == "n-gram 50% · draft 25% · corrected 25% · plain 0%"
    assert legend().plain == "n-gram · draft · corrected · plain"
    assert {(NAMES[origin], STYLES[origin]) for origin in ORIGINS if STYLES[origin]} == set(
        styled(legend())
    )
