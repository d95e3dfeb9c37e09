"""What is said of two answers to one question: the same or not, and how fast."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from specchat.engine.protocol import FinishReason, Message
from specchat.speculation.metrics import Figures
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from specchat.tui.comparison import (
    Side,
    agreement,
    figures_of,
    parting,
    settings_for,
    speed_up,
    summary,
    up_to_question,
)

SYSTEM, ASKED = Message("system", "Be brief."), Message("user", "Why?")
TOLD, AGAIN = Message("assistant", "So."), Message("user", "And?")


def side(text: str, ended: FinishReason | None = "stop", *, per_second: float = 10.0) -> Side:
    """An answer in tokens of one letter."""
    figures = Figures(emitted=len(text), rounds=len(text), decode_s=len(text) / per_second)
    return Side([text], [ord(letter) for letter in text], figures, ended)


def test_equal_texts_are_called_identical_with_their_length() -> None:
    assert agreement(side("x" * 1200), side("x" * 1200)) == "identical, 1,200 tokens"
    assert agreement(side("x"), side("x")) == "identical, 1 token"


def test_equal_texts_in_other_tokens_are_called_so() -> None:
    drafted = side("the sea")
    drafted.figures = Figures(emitted=6)
    assert agreement(side("the sea"), drafted) == "identical text, in 7 and 6 tokens"


def test_texts_that_part_are_shown_from_the_word_in_which_they_do() -> None:
    plain, drafted = side("It is blue because of air."), side("It is blue beside the sea.")
    parted = parting(plain, drafted)

    assert parted is not None
    assert parted.tokens == len("It is blue be")
    assert parted.plain == "…because of air."
    assert parted.drafted == "…beside the sea."
    assert agreement(plain, drafted) == "the same for 13 tokens, then they part"


def test_a_text_that_ends_before_the_other_is_said_to() -> None:
    parted = parting(side("one two"), side("one two three"))

    assert parted is not None
    assert parted.plain == "…two (ends here)"
    assert parted.drafted == "…two three"


def test_pieces_are_short_and_in_one_line() -> None:
    parted = parting(side("a" * 100 + "b\nc" + "d" * 100), side("a" * 100 + "x"))

    assert parted is not None
    assert parted.plain == "…" + "a" * 16 + "b⏎c" + "d" * 25 + "…"
    assert parted.drafted == "…" + "a" * 16 + "x"


@pytest.mark.parametrize("ended", [None, "cancelled"])
def test_a_text_that_has_come_less_far_does_not_part_for_that(ended: FinishReason | None) -> None:
    for plain, drafted in (
        (side("one two three"), side("one", ended)),
        (side("one", ended), side("one two")),
        (side("one", ended), side("one", ended)),
    ):
        assert parting(plain, drafted) is None
        assert agreement(plain, drafted).startswith("the same ")
        assert agreement(plain, drafted).endswith(", 3 tokens")


def test_nothing_is_said_before_there_is_something_to_compare() -> None:
    assert agreement(side("one"), Side()) == ""
    assert summary(side("one", None), Side()) == ""


def test_the_speed_up_is_the_rate_with_drafts_over_the_plain_one() -> None:
    plain, fast = side("x" * 50), side("x" * 50, per_second=21.0)

    assert speed_up(plain, fast) == pytest.approx(2.1)
    assert speed_up(plain, Side()) is None
    fast.figures = Figures(emitted=50, rounds=20, drafted=60, decode_s=50 / 21)
    assert summary(plain, fast) == "2.10x plain with drafts · identical, 50 tokens"


def test_the_plain_answer_is_taken_without_what_snapshots_took_of_it() -> None:
    plain, fast = side("x" * 50), side("x" * 50, per_second=21.0)
    plain.figures = replace(plain.figures, snapshots_s=1.0)  # of 5 s

    assert speed_up(plain, fast) == pytest.approx(21.0 / 12.5)


def test_drafts_that_lose_are_called_slower() -> None:
    slow = side("xx", per_second=8.0)
    slow.figures = Figures(emitted=2, rounds=1, drafted=3, decode_s=0.25)
    assert summary(side("xx"), slow).startswith("0.80x plain with drafts (slower) · ")


def test_an_answer_for_which_nothing_was_drafted_says_so() -> None:
    assert "nothing was drafted" in summary(side("xx"), side("xx"))


def test_the_figures_of_one_answer_fit_its_border() -> None:
    figures = Figures(emitted=412, rounds=150, tested=300, accepted=234, drafted=400, decode_s=8.9)
    assert figures_of(Side(figures=figures)) == "46.3 tok/s · 8.9 s · 78% accepted"
    assert figures_of(side("x", "cancelled")) == "10.0 tok/s · 0.10 s · stopped"


def test_only_what_was_said_before_the_question_counts() -> None:
    assert up_to_question([SYSTEM, ASKED, TOLD], 2) == (SYSTEM, ASKED)
    assert up_to_question([ASKED, TOLD, AGAIN], 2) == (ASKED, TOLD, AGAIN)
    assert up_to_question([ASKED, TOLD, AGAIN, TOLD], 1) == (ASKED,)
    assert up_to_question([SYSTEM], 0) == ()
    assert up_to_question([], -1) == ()


def test_both_are_drawn_alike_and_only_one_is_drafted() -> None:
    chosen = SpeculationSettings(drafter="ngram", draft_length=4, rule="block")
    sampling, plain, drafted = settings_for(SamplingSettings(temperature=0.5), chosen)

    assert sampling.temperature == 0.5
    assert sampling.seed is not None
    assert plain == SpeculationSettings(drafter="none", rule="coupled")
    assert drafted == SpeculationSettings(drafter="ngram", draft_length=4, rule="coupled")
    assert settings_for(SamplingSettings(seed=7), chosen)[0].seed == 7


def test_who_has_switched_drafts_off_sees_what_they_would_bring() -> None:
    for off in (SpeculationSettings(drafter="none"), SpeculationSettings(draft_length=0)):
        *_, drafted = settings_for(SamplingSettings(), off)
        assert drafted == SpeculationSettings(rule="coupled")


@given(st.text(max_size=40), st.text(max_size=40))
def test_whole_texts_part_exactly_if_they_differ(one: str, other: str) -> None:
    assert (parting(side(one), side(other)) is None) == (one == other)
