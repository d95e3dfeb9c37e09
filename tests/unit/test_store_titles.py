"""A title is the first sentence that has words, cut to fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.chat.titles import LONGEST, make_title, shorten, width


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Hi", "Hi"),
        ("What is a lighthouse? I saw one.", "What is a lighthouse?"),
        ("Fix this:\n```py\nx=1\n```", "Fix this"),
        ("```py\nx=1\n```\nWhy does it fail?", "Why does it fail?"),
        ("```py\nx=1\n", ""),
        ("~~~\n```\n~~~\nafter", "after"),
        ("# A heading\n\nText", "A heading"),
        ("- first item\n- second", "first item"),
        ("1. first item", "first item"),
        ("> quoted text", "quoted text"),
        ("See [the page](https://example.org/x).", "See the page."),
        ("What is **bold**, and `this`?", "What is bold, and this?"),
        ("Is 5*3 = 15 in snake_case?", "Is 5*3 = 15 in snake_case?"),
        ("Python 3.12 vs. 3.11: what is new? Tell me.", "Python 3.12 vs. 3.11: what is new?"),
        ("Things, e.g. this one. And more.", "Things, e.g. this one."),
        ("\n\n  \t spaced   out \x07\n", "spaced out"),
        ("...", ""),
        ("", ""),
        ("🙂", ""),
        ("🙂 smile", "🙂 smile"),
        ("什么是灯塔？我看到了一个。", "什么是灯塔？"),  # noqa: RUF001
        ("مرحبا بالعالم", "مرحبا بالعالم"),
    ],
)
def test_a_title_is_the_first_sentence_with_words(text: str, title: str) -> None:
    assert make_title(text) == title


def test_a_long_sentence_is_cut_after_a_word() -> None:
    text = "Write a poem about the sea, the wind and the sun that shines over all of it"

    assert make_title(text) == "Write a poem about the sea, the wind and the…"


def test_wide_characters_take_two_columns() -> None:
    title = make_title("데이터베이스" * 10)

    assert width("데이") == 4
    assert title == "데이터베이스" * 3 + "데이터베이…"
    assert width(title) == 47


def test_a_mark_on_a_letter_takes_no_column() -> None:
    assert width("e\u0301") == 1


@given(st.text())
def test_a_title_fits_its_columns_on_one_line(text: str) -> None:
    title = make_title(text)

    assert width(title) <= LONGEST
    assert title == title.strip()
    assert "\n" not in title


@given(st.text(), st.integers(2, 60))
def test_what_is_shortened_fits(text: str, columns: int) -> None:
    assert width(shorten(text, columns)) <= columns
