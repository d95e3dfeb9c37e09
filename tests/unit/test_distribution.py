"""Sparse distributions: what is looked up, drawn and left after a refusal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.speculation.distribution import Distribution
from unit.sparse_rows import dense, distributions, sparse

JUST_UNDER_ONE = math.nextafter(1.0, 0.0)

shares = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))


def test_a_certain_token_has_all_probability() -> None:
    certain = Distribution.certain(7)

    assert [certain.probability(token) for token in (6, 7, 8)] == [0.0, 1.0, 0.0]
    assert {certain.draw(uniform) for uniform in (0.0, 0.5, JUST_UNDER_ONE)} == {7}


def test_a_token_that_is_not_listed_has_no_probability() -> None:
    distribution = sparse({2: 1.0, 5: 3.0})

    assert dense(distribution, 8) == [0.0, 0.0, 0.25, 0.0, 0.0, 0.75, 0.0, 0.0]


@pytest.mark.parametrize(
    ("uniform", "token"),
    [(0.0, 3), (0.24, 3), (0.25, 4), (0.74, 4), (0.75, 9), (JUST_UNDER_ONE, 9)],
)
def test_a_token_is_drawn_over_an_interval_as_long_as_its_probability(
    uniform: float, token: int
) -> None:
    assert sparse({3: 0.25, 4: 0.5, 9: 0.25}).draw(uniform) == token


@pytest.mark.parametrize("uniform", [0.0, 0.25, 0.5, JUST_UNDER_ONE])
def test_impossible_tokens_at_the_edges_and_between_are_never_drawn(uniform: float) -> None:
    assert sparse({0: 0, 1: 1, 2: 0, 3: 3, 4: 0}).draw(uniform) in (1, 3)


def test_rounding_in_the_sum_does_not_let_an_impossible_token_in() -> None:
    short = Distribution(np.array([3, 4, 5]), np.array([0.5, 0.5 - 2**-50, 0.0]))

    assert short.draw(JUST_UNDER_ONE) == 4


@given(distributions(), st.floats(0, JUST_UNDER_ONE))
def test_what_is_drawn_is_possible(distribution: Distribution, uniform: float) -> None:
    assert distribution.probability(distribution.draw(uniform)) > 0


@given(distributions())
def test_evenly_spread_points_draw_each_token_as_often_as_its_probability_says(
    distribution: Distribution,
) -> None:
    points = 1000
    drawn = [distribution.draw((index + 0.5) / points) for index in range(points)]

    for token, probability in enumerate(dense(distribution)):
        assert drawn.count(token) == pytest.approx(probability * points, abs=1.001)


@given(distributions(), distributions(), shares)
def test_the_excess_is_the_positive_part_of_the_difference_for_each_token_listed(
    target: Distribution, draft: Distribution, weight: float
) -> None:
    wanted = [
        max(weight * target.probability(token) - draft.probability(token), 0.0)
        for token in target.ids.tolist()
    ]

    assert target.excess(draft, weight).tolist() == wanted


@given(distributions(), distributions(), shares)
def test_what_is_left_is_the_excess_normalised(
    target: Distribution, draft: Distribution, weight: float
) -> None:
    both = list(zip(dense(target), dense(draft), strict=True))
    excess = [max(weight * mine - theirs, 0.0) for mine, theirs in both]
    left = target.minus(draft, weight)

    assert (left.probabilities >= 0).all()
    assert left.probabilities.sum() == pytest.approx(1.0)
    if sum(excess) > 1e-9:  # below it rounding decides
        wanted = [value / sum(excess) for value in excess]
        assert dense(left) == pytest.approx(wanted, abs=1e-6)


@given(distributions(), distributions())
def test_without_a_weight_the_target_counts_whole(
    target: Distribution, draft: Distribution
) -> None:
    assert target.excess(draft).tolist() == target.excess(draft, 1.0).tolist()
    assert dense(target.minus(draft)) == dense(target.minus(draft, 1.0))


@given(distributions(), distributions(), st.floats(0, JUST_UNDER_ONE))
def test_after_a_refusal_no_token_comes_that_the_draft_had_enough_of(
    target: Distribution, draft: Distribution, uniform: float
) -> None:
    token = target.minus(draft).draw(uniform)
    possible = any(mine > theirs for mine, theirs in zip(dense(target), dense(draft), strict=True))

    if possible:
        assert target.probability(token) > draft.probability(token)


def test_of_a_draft_on_other_tokens_nothing_is_taken() -> None:
    target = sparse({1: 1.0, 4: 3.0})

    for draft in (sparse({0: 1.0}), sparse({2: 1.0, 3: 1.0}), sparse({5: 1.0, 90: 1.0})):
        assert dense(target.minus(draft)) == dense(target)


@given(distributions())
def test_a_draft_like_the_target_leaves_the_target(distribution: Distribution) -> None:
    twin = Distribution(distribution.ids.copy(), distribution.probabilities.copy())

    assert dense(distribution.minus(twin)) == dense(distribution)


def test_a_refused_certain_token_is_taken_out_whole() -> None:
    left = sparse({1: 0.5, 2: 0.25, 3: 0.25}).minus(Distribution.certain(1))

    assert dense(left, 4) == [0.0, 0.0, 0.5, 0.5]
