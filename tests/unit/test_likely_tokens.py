"""The short cuts to the most likely tokens of a row, against sorting all of it."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from specchat.speculation.sampling import BLOCK, NUCLEUS, Logits, largest, nucleus, top_candidates

Values = npt.NDArray[np.float64]


def ranked(row: npt.NDArray[np.floating]) -> list[int]:
    """Places by value, the largest first, the lower one among equals."""
    return sorted(range(len(row)), key=lambda place: (-row[place], place))


@st.composite
def rows(draw: st.DrawFn) -> Logits:
    """Two rows, some with many ties and some with impossible tokens."""
    n_vocab = draw(st.one_of(st.integers(1, 300), st.integers(1, 80 * BLOCK)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = random.normal(0, 3, (2, n_vocab))
    logits = (values.round() if draw(st.booleans()) else values).astype(np.float32)
    logits[random.random((2, n_vocab)) < draw(st.sampled_from([0.0, 0.3]))] = -np.inf
    return logits


@given(rows(), st.data())
def test_the_k_largest_are_among_the_candidates(logits: Logits, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, min(60, logits.shape[1])))

    for row, candidates in zip(logits, top_candidates(logits, k), strict=True):
        found = candidates.tolist()
        assert found == sorted(set(found))
        # Of equals at the edge all are there, so that the choice among them is left.
        edge = row[ranked(row)[k - 1]]
        assert set(found) >= {place for place in range(len(row)) if row[place] >= edge}


@given(rows(), st.data())
def test_the_largest_are_those_of_a_sort(logits: Logits, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, min(60, logits.shape[1])))

    for row, candidates in zip(logits, top_candidates(logits, k), strict=True):
        assert largest(row, candidates, k).tolist() == sorted(ranked(row)[:k])


def test_there_are_hardly_more_than_k_candidates_in_a_large_vocabulary() -> None:
    logits = np.random.default_rng(0).normal(0, 3, (3, 150_000)).astype(np.float32)

    assert all(40 <= len(candidates) < 60 for candidates in top_candidates(logits, 40))


@pytest.mark.parametrize("place", [0, 63, 64, 149_999, 150_000, 150_001])
def test_the_largest_may_be_anywhere(place: int) -> None:
    logits = np.zeros((1, 150_002), np.float32)
    logits[0, place] = 1.0

    (candidates,) = top_candidates(logits, 1)
    assert largest(logits[0], candidates, 1).tolist() == [place]


def smallest_set(values: Values, top_p: float) -> list[int]:
    """The most likely places, one by one until they have this share."""
    weights = np.exp(values)
    kept: list[int] = []
    share = 0.0
    for place in ranked(values):
        kept.append(place)
        share += float(weights[place] / weights.sum())
        assume(abs(share - top_p) > 1e-9)
        if share > top_p:
            break
    return sorted(kept)


@given(
    st.one_of(st.integers(1, 50), st.integers(1, 3 * NUCLEUS)),
    st.sampled_from([0.0, 0.01, 1.0, 4.0]),
    st.sampled_from([0.25, 1e-9]),
    st.floats(0.001, 0.999),
    st.integers(0, 2**32),
)
def test_the_nucleus_is_the_smallest_set_with_its_share_and_the_first_of_equals(
    count: int, spread: float, grain: float, top_p: float, seed: int
) -> None:
    values = np.random.default_rng(seed).normal(0, spread, count)
    values = (values / grain).round() * grain
    values -= values.max()

    assert nucleus(values, top_p).tolist() == smallest_set(values, top_p)


@pytest.mark.parametrize("count", [1, 2, NUCLEUS, NUCLEUS + 1, 10 * NUCLEUS])
def test_a_nucleus_of_nearly_everything_reaches_the_last_token(count: int) -> None:
    kept = nucleus(np.zeros(count), float(np.nextafter(1.0, 0.0)))

    assert len(kept) >= 0.999 * count
    assert kept.tolist() == list(range(len(kept)))
