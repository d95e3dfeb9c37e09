"""Drafts cut short, and what two sequences of tokens share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.speculation.distribution import Distribution
from specchat.speculation.drafters.base import Draft
from specchat.speculation.sequence import shared_prefix

sequences = st.lists(st.integers(0, 1), max_size=12)


@pytest.mark.parametrize("length", range(5))
def test_a_cut_draft_has_a_distribution_for_each_token_left(length: int) -> None:
    draft = Draft([7, 8, 9], [Distribution.certain(token) for token in (7, 8, 9)])
    cut = draft.cut(length)

    assert cut.tokens == [7, 8, 9][:length]
    assert cut.distributions is not None
    assert [int(row.ids[0]) for row in cut.distributions] == cut.tokens
    assert draft.tokens == [7, 8, 9]


def test_a_certain_draft_stays_certain_when_cut() -> None:
    assert Draft([7, 8, 9]).cut(1) == Draft([7])


@given(sequences, sequences)
def test_the_shared_prefix_is_equal_and_cannot_be_longer(one: list[int], other: list[int]) -> None:
    length = shared_prefix(one, other)

    assert one[:length] == other[:length]
    assert length in (len(one), len(other)) or one[length] != other[length]
