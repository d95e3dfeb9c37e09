"""The n-gram drafter against a slow search through the whole conversation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.speculation.drafters.base import Draft
from specchat.speculation.drafters.ngram import NgramDrafter
from specchat.speculation.draws import RandomDraws
from specchat.speculation.sampling import Sampler
from specchat.speculation.settings import SamplingSettings
from unit.listening_controller import Listener

UNLIMITED = 1000

conversations = st.lists(st.integers(0, 2), max_size=40)
"""Three letters only, so that matches of every length come often."""


class Match(NamedTuple):
    """What a slow search finds; a greater one is to be believed more."""

    size: int
    alike: bool
    """Whether the two most recent occurrences went on alike."""
    position: int


def begin(drafter: NgramDrafter, ids: Sequence[int]) -> None:
    draws = RandomDraws(np.random.default_rng(0))
    drafter.begin(ids, Sampler(SamplingSettings()), draws, Listener(UNLIMITED))


def drafter_at(ids: Sequence[int]) -> NgramDrafter:
    drafter = NgramDrafter()
    begin(drafter, ids)
    return drafter


def guesses(drafter: NgramDrafter, ids: Sequence[int], limit: int = UNLIMITED) -> list[int]:
    return drafter.draft(ids, limit, Listener(UNLIMITED)).tokens


def longest_match(ids: Sequence[int]) -> Match | None:
    """Where the last 6, 5, 4, 3 or 2 tokens were before; the longest counts, then the latest."""
    for size in (6, 5, 4, 3, 2):
        places = [
            follows
            for follows in range(size, len(ids))
            if list(ids[follows - size : follows]) == list(ids[-size:])
        ]
        if places:
            alike = len(places) > 1 and ids[places[-1]] == ids[places[-2]]
            return Match(size, alike, places[-1])
    return None


def continuation(ids: Sequence[int]) -> list[int]:
    """What followed the longest match."""
    found = longest_match(ids)
    return [] if found is None else list(ids[found.position :])


def confidence_after(ids: Sequence[int]) -> float:
    found = drafter_at(ids).match(ids)
    assert found is not None
    return found[1]


@given(conversations)
def test_it_proposes_what_followed_the_most_recent_longest_match(ids: list[int]) -> None:
    wanted = continuation(ids)
    draft = drafter_at(ids).draft(ids, UNLIMITED, Listener(UNLIMITED))

    assert draft.tokens == wanted
    assert draft.distributions is None
    assert draft.source == ("ngram" if wanted else None)


@given(conversations)
def test_a_match_is_where_the_text_went_on(ids: list[int]) -> None:
    found, wanted = drafter_at(ids).match(ids), longest_match(ids)

    assert (found and found[0]) == (wanted and wanted.position)


@given(conversations, conversations)
def test_a_longer_match_is_believed_more_and_among_equals_one_that_went_on_alike_twice(
    one: list[int], other: list[int]
) -> None:
    first, second = longest_match(one), longest_match(other)
    if first is None or second is None:
        return
    mine, theirs = confidence_after(one), confidence_after(other)

    assert 0 < mine < 1
    assert (mine < theirs) == (first[:2] < second[:2])
    assert (mine == theirs) == (first[:2] == second[:2])


@given(conversations, st.integers(1, 6), st.integers(0, 6))
def test_it_proposes_no_more_than_the_limit_and_the_controller_allow(
    ids: list[int], limit: int, wanted: int
) -> None:
    draft = drafter_at(ids).draft(ids, limit, Listener(wanted))

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
                assert guesses(drafter, ids) == continuation(ids)
            case "roll back":
                length = data.draw(st.integers(0, len(ids) + 3))
                drafter.rollback(length)
                ids = ids[:length]
            case "another":
                ids = ids[: data.draw(st.integers(0, len(ids)))] + data.draw(conversations)
                begin(drafter, ids)

    assert drafter.match(ids) == drafter_at(ids).match(ids)
    assert guesses(drafter, ids) == continuation(ids)


def test_the_controller_is_asked_once_before_the_draft_and_after_every_token() -> None:
    controller = Listener(2)
    ids = [1, 2, 3, 4, 5, 1, 2]
    confidence = confidence_after(ids)
    tokens = drafter_at(ids).draft(ids, 10, controller).tokens

    assert tokens == [3, 4]
    assert controller.starts == [("ngram", confidence, 1)]
    assert controller.confidences == [confidence, confidence]


def test_nothing_is_drafted_when_the_controller_does_not_want_to_start() -> None:
    controller = Listener(0)
    ids = [1, 2, 3, 1, 2]

    assert drafter_at(ids).draft(ids, 10, controller) == Draft()
    assert len(controller.starts) == 1
    assert controller.confidences == []


def test_without_a_match_the_controller_is_not_asked() -> None:
    controller = Listener(5)

    assert drafter_at([1, 2, 3]).draft([1, 2, 3], 10, controller) == Draft()
    assert controller.starts == []


@pytest.mark.parametrize("length", [0, 1])
def test_text_shorter_than_a_match_gives_no_draft(length: int) -> None:
    ids = [1] * length

    assert drafter_at(ids).match(ids) is None
    assert guesses(drafter_at(ids), ids) == []


def test_one_token_alike_is_no_match() -> None:
    assert drafter_at([1, 2, 3, 1]).match([1, 2, 3, 1]) is None


def test_a_longer_match_counts_more_than_a_recent_one() -> None:
    ids = [0, 1, 2, 7, 5, 9, 1, 2, 8, 5, 0, 1, 2]

    assert guesses(drafter_at(ids), ids, 1) == [7]


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_up_to_six_tokens_alike_count(size: int) -> None:
    alike = list(range(10, 10 + size))
    ids = [*alike, 70, *alike[1:], 80, *alike]

    assert guesses(drafter_at(ids), ids, 1) == [70]


def test_more_than_six_tokens_alike_count_no_more_than_six() -> None:
    six = [1, 2, 3, 4, 5, 6]
    ids = [9, *six, 70, 8, *six, 60, 9, *six]

    assert guesses(drafter_at(ids), ids, 1) == [60]


def test_of_matches_alike_the_most_recent_counts() -> None:
    ids = [1, 2, 7, 1, 2, 8, 1, 2]

    assert guesses(drafter_at(ids), ids, 1) == [8]


def test_what_was_refused_is_forgotten() -> None:
    drafter = drafter_at([1, 2, 3])
    guesses(drafter, [1, 2, 3, 1, 2, 9])
    drafter.rollback(3)

    assert guesses(drafter, [1, 2, 3, 1, 2], 1) == [3]


def test_what_was_said_while_another_drafted_is_known() -> None:
    drafter = drafter_at([1, 2])

    assert guesses(drafter, [1, 2, 3, 4, 5, 1, 2], 2) == [3, 4]


def test_the_caller_keeps_its_own_list() -> None:
    ids = [1, 2, 3, 1, 2]
    drafter = drafter_at(ids)
    guesses(drafter, ids)
    drafter.rollback(2)
    drafter.close()

    assert ids == [1, 2, 3, 1, 2]
