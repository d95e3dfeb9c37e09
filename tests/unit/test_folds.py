"""Long pasted texts as one word."""

from hypothesis import given
from hypothesis import strategies as st

from specchat.tui.folds import LONGEST, Folds, is_long


def test_a_text_is_long_from_so_many_characters_or_lines_on() -> None:
    assert not is_long("a" * LONGEST)
    assert is_long("a" * (LONGEST + 1))
    assert not is_long("\n".join("a" * 20))
    assert is_long("\n".join("a" * 21))


def test_the_word_says_how_much_it_stands_for() -> None:
    folds = Folds()

    assert folds.fold("line\n" * 3120) == "[pasted 3,120 lines, 16 kB]"
    assert folds.fold("é" * 3000) == "[pasted 1 line, 6 kB]"


def test_a_word_is_unfolded_wherever_it_stands() -> None:
    folds = Folds()
    word = folds.fold("a\nb")

    assert folds.unfold(f"See {word}, and again {word}.") == "See a\nb, and again a\nb."
    assert folds.unfold("nothing") == "nothing"


def test_a_word_that_was_edited_stands_for_nothing() -> None:
    folds = Folds()
    word = folds.fold("a\nb")

    assert folds.unfold(word[:-1]) == word[:-1]


def test_texts_of_the_same_size_have_words_of_their_own() -> None:
    folds = Folds()
    one, two, again = folds.fold("a\nb"), folds.fold("c\nd"), folds.fold("a\nb")

    assert one != two
    assert one == again
    assert folds.unfold(f"{one} {two}") == "a\nb c\nd"


@given(st.lists(st.text(alphabet="ab[]pasted 1line,2B\\", max_size=40), min_size=1, max_size=6))
def test_what_is_folded_comes_back_whatever_it_is(texts: list[str]) -> None:
    folds = Folds()
    words = [folds.fold(text) for text in texts]

    assert folds.unfold("\n".join(words)) == "\n".join(texts)


def test_words_are_found_in_a_line() -> None:
    folds = Folds()
    assert folds.spans("[pasted") == []
    word = folds.fold("a\nb")

    assert folds.spans(f"x {word} y") == [(2, 2 + len(word))]
