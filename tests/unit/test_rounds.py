"""The rounds of an answer are kept in little room, and come back as they were."""

import random

import pytest

from specchat.chat.reasoning import KINDS
from specchat.chat.rounds import (
    MOST_ROUNDS,
    SOURCES,
    TICK_S,
    AnswerRound,
    Rounds,
    decode_rounds,
    encode_rounds,
)

BYTES_A_ROUND = 12
"""Of rounds whose times have nothing in common."""


def rounds_of(count: int) -> Rounds:
    """Rounds as a controller makes them: how far it drafts changes now and then."""
    draw = random.Random(7)
    made = []
    for number in range(count):
        drafted = draw.choice((0, 2, 4, 4, 4, 8))
        accepted = draw.randint(0, drafted)
        made.append(
            AnswerRound(
                text=f"{number} "[: draw.randint(0, 9)],
                kind=KINDS[number * 3 // count],
                drafted=drafted,
                accepted=accepted,
                emitted=accepted + 1,
                source=draw.choice(SOURCES),
                reason=f"drafting {drafted}: it pays",
                draft_s=draw.randint(0, 2_000) * TICK_S,
                verify_s=draw.randint(1_500, 6_000) * TICK_S,
                own_s=draw.randint(0, 50) * TICK_S,
            )
        )
    return Rounds(made, 5, 0.25)


def test_they_come_back_with_the_text_of_the_answer() -> None:
    rounds = rounds_of(300)
    text = "begun" + "".join(each.text for each in rounds.rounds) + "held back"
    back = decode_rounds(encode_rounds(rounds), text)

    assert [each._replace(draft_s=0, verify_s=0, own_s=0) for each in back.rounds] == [
        each._replace(draft_s=0, verify_s=0, own_s=0) for each in rounds.rounds
    ]
    assert [each[-3:] for each in back.rounds] == [
        pytest.approx(each[-3:]) for each in rounds.rounds
    ]
    assert (back.start, back.prefill_s) == (5, 0.25)


def test_of_a_very_long_answer_the_last_rounds_are_kept_in_bounded_room() -> None:
    rounds = rounds_of(MOST_ROUNDS + 100)
    text = "begun" + "".join(each.text for each in rounds.rounds)
    data = encode_rounds(rounds)
    back = decode_rounds(data, text)

    assert [each.text for each in back.rounds] == [each.text for each in rounds.rounds[100:]]
    assert len(data) <= BYTES_A_ROUND * MOST_ROUNDS


def test_what_is_none_of_ours_is_refused() -> None:
    with pytest.raises(ValueError, match="header"):
        decode_rounds(b"nonsense", "")
