"""What an answer says about the traps that made it slow."""

from dataclasses import replace

import msgspec
import psutil
import pytest

from specchat.engine.alarms import AnswerFacts, alarms
from specchat.speculation.metrics import Figures

FINE = AnswerFacts(
    figures=Figures(
        emitted=100,
        rounds=40,
        drafted=80,
        tested=70,
        accepted=60,
        decode_s=10.0,
        plain_tokens_per_second=8.0,
    ),
    temperature=0.8,
    fixed_length=None,
    model_tested=70,
    model_accepted=60,
    break_even=0.6,
    others=0.0,
)
SLOW = replace(
    FINE,
    figures=Figures(
        emitted=100, rounds=90, drafted=90, decode_s=10.0, plain_tokens_per_second=12.5
    ),
)
SELDOM_RIGHT = replace(FINE, model_accepted=21)


def words(facts: AnswerFacts) -> list[str]:
    return [f"{alarm.title}: {alarm.message} {alarm.help}" for alarm in alarms(facts)]


def kinds(facts: AnswerFacts) -> list[str]:
    return [alarm.kind for alarm in alarms(facts)]


def test_an_answer_that_came_faster_for_its_guesses_says_nothing() -> None:
    assert words(FINE) == []


def test_programs_that_take_cores_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_count", lambda: 4)

    assert words(replace(FINE, others=0.5)) == []
    assert words(replace(FINE, others=1.25)) == [
        "Other programs are busy: They used 1.2 of 4 cores during this answer. "
        "End them, or leave them a core with --threads."
    ]


def test_a_machine_that_does_not_tell_is_not_called_busy() -> None:
    assert words(replace(FINE, others=None)) == []


def test_a_fixed_length_that_is_slower_than_plain_decoding_is_told_to_let_go() -> None:
    assert words(replace(SLOW, fixed_length=5, break_even=None)) == [
        "Slower than plain decoding: This answer came at 10.0 tok/s; without guesses it was 12.5. "
        "Use --draft-length auto, which stops drafting where it does not pay."
    ]


def test_an_automatic_length_that_was_slower_says_so_too() -> None:
    assert kinds(SLOW) == ["slower_than_plain"]
    assert "--draft-length" not in words(SLOW)[0]


def test_snapshots_that_cost_more_than_the_guesses_win_are_named() -> None:
    """Plain decoding takes 80 ms a token, and 100 with them."""
    told = (
        "Slower than plain decoding: This answer came at 10.0 tok/s; without guesses it was 12.5. "
        "Snapshots of its state, to undo refused guesses, take 20.0 ms of every call: load it with "
        "--draft-length 0, which asks for none."
    )
    assert words(replace(SLOW, snapshots_ms=20.0)) == [told]
    idle = msgspec.structs.replace(SLOW.figures, drafted=0, rounds=100)
    assert words(replace(SLOW, figures=idle, snapshots_ms=20.0, model_tested=0)) == [told]


def test_guesses_that_lose_even_beside_snapshots_are_named_instead() -> None:
    assert words(replace(SLOW, snapshots_ms=5.0)) == words(SLOW)
    idle = msgspec.structs.replace(SLOW.figures, drafted=0, rounds=100)
    assert words(replace(SLOW, figures=idle, snapshots_ms=5.0, model_tested=0)) == []


def test_a_draft_that_is_seldom_right_is_held_against_what_it_would_need() -> None:
    assert words(SELDOM_RIGHT) == [
        "The draft model does not pay here: 30% of its guesses were kept; below 60% they cost more "
        "than they save. Choose a draft that is smaller or closer to the target."
    ]


def test_a_hot_temperature_is_named_where_it_is_the_likely_reason() -> None:
    assert words(replace(SELDOM_RIGHT, temperature=1.3)) == [
        "The temperature is too high to guess: At 1.3 the draft model is seldom right: 30% of its "
        "guesses were kept; below 60% they cost more than they save. "
        "Choose a lower temperature, or decode such answers without a draft."
    ]
    assert kinds(replace(FINE, temperature=1.3)) == []


def test_a_draft_that_could_never_pay_is_called_too_slow() -> None:
    assert words(replace(FINE, break_even=float("inf"))) == [
        "The draft model is too slow for this target: It would cost more than it saves even if all "
        "of its guesses were kept. Choose a smaller draft, or a larger target."
    ]


def test_few_tokens_are_no_ground_for_an_alarm() -> None:
    short = Figures(emitted=20, drafted=9, decode_s=9.0, plain_tokens_per_second=12.5)
    assert words(replace(SLOW, figures=short, others=50.0)) == []
    assert words(replace(SELDOM_RIGHT, model_tested=9, model_accepted=0)) == []
