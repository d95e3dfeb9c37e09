"""Sparse distributions for property tests: zeros, ties, one-hot rows."""

import numpy as np
from hypothesis import strategies as st

from specchat.speculation.distribution import Distribution

VOCABULARY = 12

weights = st.one_of(
    st.just(0.0),
    st.sampled_from([0.125, 0.25, 1.0]),  # ties
    st.floats(1e-12, 1.0),
)


@st.composite
def distributions(draw: st.DrawFn, vocabulary: int = VOCABULARY) -> Distribution:
    """Few of many tokens, some of them with no probability, some with equal ones."""
    ids = sorted(draw(st.sets(st.integers(0, vocabulary - 1), min_size=1)))
    found = draw(
        st.lists(weights, min_size=len(ids), max_size=len(ids)).filter(lambda row: sum(row) > 0)
    )
    return sparse(dict(zip(ids, found, strict=True)))


def sparse(entries: dict[int, float]) -> Distribution:
    """These tokens with probabilities in this proportion."""
    ids = sorted(entries)
    row = np.array([entries[token] for token in ids])
    return Distribution(np.array(ids), row / row.sum())


def dense(distribution: Distribution, vocabulary: int = VOCABULARY) -> list[float]:
    """The probability of every token."""
    return [distribution.probability(token) for token in range(vocabulary)]
