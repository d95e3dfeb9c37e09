"""The n-gram drafter against a slow search through the whole conversation."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.speculation.controller import FixedLength, LengthController
from specchat.speculation.drafters.ngram import NgramDrafter
from specchat.speculation.sampling import Sampler
from specchat.speculation.settings import SamplingSettings

UNLIMITED = FixedLength(1000)

conversations = st.lists(st.integers(0, 2), max_size=40)
"""Three letters only, so that matches of every length come often."""


def begin(drafter: NgramDrafter, ids: Sequence[int]) -> None:
    drafter.begin(ids, Sampler(SamplingSettings()), np.random.default_rng(0))


def drafter_at(ids: Sequence[int]) -> NgramDrafter:
    drafter = NgramDrafter()
    begin(drafter, ids)
    return drafter


def continuation(ids: Sequence[int]) -> list[int]:
    """What followed the last 4, 3 or 2 tokens when they were last there; the longest counts."""
    for size in (4, 3, 2):
        for follows in range(len(ids) - 1, size - 1, -1):
            if ids[follows - size : follows] == ids[-size:]:
                return list(ids[follows:])
    return []


@given(conversations)
def test_it_proposes_what_followed_the_most_recent_longest_match(ids: list[int]) -> None:
    draft = drafter_at(ids).draft(ids, 1000, UNLIMITED)

    assert draft.tokens == continuation(ids)
    assert draft.distributions is None


@given(conversations, st.integers(0, 6), st.integers(0, 6))
def test_it_proposes_no_more_than_the_limit_and_the_controller_allow(
    ids: list[int], limit: int, wanted: int
) -> None:
    draft = drafter_at(ids).draft(ids, limit, FixedLength(wanted))

    assert draft.tokens == continuation(ids)[: min(limit, wanted)]


@given(st.data(), conversations)
def test_it_knows_the_conversation_after_any_rounds_roll_backs_and_new_conversations(
    data: st.DataObject, ids: list[int]
) -> None:
    drafter = drafter_at(ids)
    for _ in range(data.draw(st.integers(1, 12), label="steps")):
        match data.draw(st.sampled_from(["round", "roll back", "another"]), label="step"):
            case "round":
                ids = ids + data.draw(conversations)
                assert drafter.draft(ids, 1000, UNLIMITED).tokens == continuation(ids)
            case "roll back":
                length = data.draw(st.integers(0, len(ids) + 3))
                drafter.rollback(length)
                ids = ids[:length]
            case "another":
                ids = ids[: data.draw(st.integers(0, len(ids)))] + data.draw(conversations)
                begin(drafter, ids)

    assert drafter.draft(ids, 1000, UNLIMITED).tokens == continuation(ids)


class Told:
    """A controller that wants some tokens and writes down what it was asked."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.asked: list[int] = []

    def wants_more(self, drafted: int) -> bool:
        self.asked.append(drafted)
        return drafted < self.wanted

    @property
    def reason(self) -> str:
        return ""


def test_the_controller_is_asked_before_every_token() -> None:
    controller = Told(2)
    ids = [1, 2, 3, 4, 5, 1, 2]
    tokens = drafter_at(ids).draft(ids, 10, controller).tokens

    assert tokens == [3, 4]
    assert controller.asked == [0, 1, 2]


@pytest.mark.parametrize("length", [0, 1])
def test_text_shorter_than_a_match_gives_no_draft(length: int) -> None:
    ids = [1] * length

    assert drafter_at(ids).draft(ids, 5, UNLIMITED).tokens == []


def test_a_longer_match_counts_more_than_a_recent_one() -> None:
    ids = [0, 1, 2, 7, 5, 9, 1, 2, 8, 5, 0, 1, 2]

    assert drafter_at(ids).draft(ids, 1, UNLIMITED).tokens == [7]


def test_more_than_four_tokens_alike_count_no_more_than_four() -> None:
    ids = [9, 1, 2, 3, 4, 7, 8, 1, 2, 3, 4, 6, 9, 1, 2, 3, 4]

    assert drafter_at(ids).draft(ids, 1, UNLIMITED).tokens == [6]


def test_of_matches_alike_the_most_recent_counts() -> None:
    ids = [1, 2, 7, 1, 2, 8, 1, 2]

    assert drafter_at(ids).draft(ids, 1, UNLIMITED).tokens == [8]


def test_what_was_refused_is_forgotten() -> None:
    drafter = drafter_at([1, 2, 3])
    drafter.draft([1, 2, 3, 1, 2, 9], 5, UNLIMITED)
    drafter.rollback(3)

    assert drafter.draft([1, 2, 3, 1, 2], 1, UNLIMITED).tokens == [3]


def test_the_caller_keeps_its_own_list() -> None:
    ids = [1, 2, 3, 1, 2]
    drafter = drafter_at(ids)
    drafter.draft(ids, 5, UNLIMITED)
    drafter.rollback(2)
    drafter.close()

    assert ids == [1, 2, 3, 1, 2]


def test_a_fixed_length_is_kept_and_said() -> None:
    controllers: list[LengthController] = [FixedLength(2), FixedLength(0)]

    assert [c.wants_more(n) for c in controllers for n in (0, 1, 2)] == [True, True] + [False] * 4
    assert [c.reason for c in controllers] == ["drafting 2, fixed", "plain decoding"]
