"""Coupled draws: the distribution's own law; the noise hangs on seed, place and token alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from specchat.speculation.distribution import Distribution
from specchat.speculation.draws import GOLDEN, CoupledDraws, RandomDraws
from unit.sparse_rows import distributions, sparse

MODULUS = 2**64
ONES = MODULUS - 1

seeds = st.integers(0, 2**63 - 1)
positions = st.integers(0, 2**31)


def drawn(distribution: Distribution, count: int, *, seed: int = 7, first: int = 0) -> list[int]:
    """Tokens at positions one after the other."""
    draws = CoupledDraws(seed)
    return [draws.draw(distribution, first + index) for index in range(count)]


def shares_of(tokens: list[int], ids: list[int]) -> list[float]:
    return [tokens.count(token) / len(tokens) for token in ids]


@pytest.mark.parametrize(
    "weights",
    [
        {0: 1, 1: 1},
        {0: 6, 1: 3, 2: 1},
        {3: 1, 17: 5, 31_999: 2, 151_935: 2},
        dict.fromkeys(range(40), 1),
    ],
    ids=["even", "three", "ids-far-apart", "forty"],
)
@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_over_many_positions_tokens_come_as_often_as_their_probability_says(
    weights: dict[int, float], seed: int
) -> None:
    distribution = sparse(weights)
    tokens = drawn(distribution, 8000, seed=seed)
    observed = [tokens.count(int(token)) for token in distribution.ids]

    assert sum(observed) == 8000
    assert chisquare(observed, distribution.probabilities * 8000).pvalue > 1e-3


def test_over_many_seeds_tokens_come_as_often_as_their_probability_says() -> None:
    distribution = sparse({0: 6, 1: 3, 2: 1})
    tokens = [CoupledDraws(seed).draw(distribution, 5) for seed in range(8000)]
    observed = [tokens.count(token) for token in range(3)]

    assert chisquare(observed, distribution.probabilities * 8000).pvalue > 1e-3


@given(distributions(), seeds, positions)
def test_what_is_drawn_is_possible_and_the_same_every_time(
    distribution: Distribution, seed: int, position: int
) -> None:
    token = CoupledDraws(seed).draw(distribution, position)

    assert distribution.probability(token) > 0
    assert CoupledDraws(seed).draw(distribution, position) == token


@given(distributions(vocabulary=40), seeds, positions, st.data())
def test_the_winner_among_all_wins_among_fewer(
    distribution: Distribution, seed: int, position: int, data: st.DataObject
) -> None:
    draws = CoupledDraws(seed)
    winner = draws.draw(distribution, position)
    others = [int(token) for token in distribution.ids if token != winner]
    chosen = data.draw(st.sets(st.sampled_from(others))) if others else set()
    fewer = sparse({token: distribution.probability(token) for token in {winner, *chosen}})

    assert draws.draw(fewer, position) == winner


def test_a_draw_leaves_the_others_as_they_are() -> None:
    distribution = sparse(dict.fromkeys(range(20), 1))
    draws = CoupledDraws(3)
    backwards = [draws.draw(distribution, position) for position in reversed(range(50))]

    assert backwards[::-1] == drawn(distribution, 50, seed=3)


@pytest.mark.parametrize("lag", [1, 2, 7, 64])
def test_draws_some_positions_apart_have_nothing_to_do_with_each_other(lag: int) -> None:
    tokens = np.array(drawn(sparse({0: 1, 1: 1}), 8000), dtype=float)

    # Three standard errors of an uncorrelated sequence are 0.034.
    assert abs(np.corrcoef(tokens[:-lag], tokens[lag:])[0, 1]) < 0.034


@pytest.mark.parametrize("other", [8, 7 + 2**40, 2**63 - 1])
def test_another_seed_gives_draws_that_have_nothing_to_do_with_these(other: int) -> None:
    even = sparse({0: 1, 1: 1})
    pair = np.corrcoef(drawn(even, 8000), drawn(even, 8000, seed=other))

    assert abs(pair[0, 1]) < 0.034


def test_the_noise_of_one_token_tells_nothing_of_anothers() -> None:
    first = np.array(drawn(sparse({0: 1, 1: 1}), 8000)) == 0
    second = np.array(drawn(sparse({2: 1, 3: 1}), 8000)) == 2

    assert abs(np.corrcoef(first, second)[0, 1]) < 0.034


@pytest.mark.parametrize("distance", [0.02, 0.1, 0.3, 0.6])
def test_close_distributions_agree_about_as_often_as_they_are_close(distance: float) -> None:
    """Never much less often than (1 - TV) / (1 + TV), whatever the two are."""
    random = np.random.default_rng(11)
    for _ in range(3):
        one = random.dirichlet(np.ones(10))
        far = random.dirichlet(np.full(10, 0.3))
        other = (1 - distance) * one + distance * far
        apart = float(np.abs(one - other).sum() / 2)
        mine, theirs = (Distribution(np.arange(10), row) for row in (one, other))
        pairs = zip(drawn(mine, 3000), drawn(theirs, 3000), strict=True)
        agreed = float(np.mean([a == b for a, b in pairs]))

        assert agreed > (1 - apart) / (1 + apart) - 0.02
        assert agreed < 1 - apart + 0.03  # no coupling can do better


def test_equal_distributions_always_agree_whatever_else_they_list() -> None:
    one = sparse({2: 1, 5: 2, 9: 1})
    padded = sparse({0: 0, 2: 1, 5: 2, 7: 0, 9: 1, 11: 0})

    assert drawn(one, 500) == drawn(padded, 500)


def unshifted(value: int, shift: int) -> int:
    """The number whose exclusive or with itself, shifted to the right, is this."""
    found = value
    for _ in range(64 // shift):
        found = value ^ (found >> shift)
    return found


def unmixed(value: int) -> int:
    """What the finaliser of SplitMix64 turns into this."""
    value = unshifted(value, 31) * pow(0x94D049BB133111EB, -1, MODULUS) % MODULUS
    value = unshifted(value, 27) * pow(0xBF58476D1CE4E5B9, -1, MODULUS) % MODULUS
    return unshifted(value, 30)


def seed_and_position_for(bits: int, token: int) -> tuple[int, int]:
    """Where the hash of this token has just these bits."""
    key = unmixed((unmixed(bits) - token * int(GOLDEN)) % MODULUS)
    for position in range(64):
        seed = (key - int(GOLDEN) * (position + 1)) % MODULUS
        if seed < 2**63:
            return seed, position
    raise AssertionError("none of these positions has a seed that may be asked for")


@pytest.mark.parametrize("token", [0, 1, 151_935, 2**31 - 1])
def test_the_largest_noise_there_is_does_not_outweigh_every_probability(token: int) -> None:
    seed, position = seed_and_position_for(ONES, token)
    nearly_sure = sparse({token: 1e-30, token + 1: 1.0})

    assert CoupledDraws(seed).draw(nearly_sure, position) == token + 1
    assert CoupledDraws(seed).draw(sparse({token: 1e-9, token + 1: 1.0}), position) == token


@pytest.mark.parametrize("token", [0, 1, 151_935, 2**31 - 1])
def test_the_smallest_noise_there_is_does_not_rule_a_token_out(token: int) -> None:
    seed, position = seed_and_position_for(0, token)

    assert CoupledDraws(seed).draw(sparse({token: 1.0, token + 1: 1e-30}), position) == token
    assert CoupledDraws(seed).draw(sparse({token: 1.0, token + 1: 1.0}), position) == token + 1


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
@pytest.mark.parametrize("position", [0, 1, 2**31, 2**62])
def test_seeds_and_positions_at_the_ends_of_their_ranges_can_be_drawn_with(
    seed: int, position: int
) -> None:
    ids = [0, 1, 2**31 - 2, 2**31 - 1]
    tokens = drawn(sparse(dict.fromkeys(ids, 1)), 400, seed=seed, first=position)

    assert shares_of(tokens, ids) == pytest.approx([0.25] * 4, abs=0.08)


def test_random_draws_follow_their_generator_and_not_the_position() -> None:
    distribution = sparse({0: 6, 1: 3, 2: 1})
    here, there = (RandomDraws(np.random.default_rng(5)) for _ in range(2))
    tokens = [here.draw(distribution, 4) for _ in range(4000)]

    assert tokens == [there.draw(distribution, position) for position in range(4000)]
    assert chisquare([tokens.count(token) for token in range(3)], [2400, 1200, 400]).pvalue > 1e-3
