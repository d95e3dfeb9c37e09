"""Log probabilities of tokens, against another implementation of the softmax."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax

from specchat.speculation.sampling import log_probabilities


@given(st.data(), st.integers(1, 5), st.integers(1, 3000), st.integers(0, 2**32))
def test_they_are_those_of_the_softmax(
    data: st.DataObject, rows: int, n_vocab: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    spread, offset = data.draw(st.sampled_from([(1.0, 0.0), (12.0, 0.0), (3.0, 1e4)]))
    logits = random.normal(offset, spread, (rows, n_vocab)).astype(np.float32)
    tokens = random.integers(n_vocab, size=rows).tolist()
    wanted = log_softmax(logits.astype(np.float64), axis=1)

    found = log_probabilities(logits, tokens)
    assert found == pytest.approx([wanted[row, token] for row, token in enumerate(tokens)], 1e-5)


def test_over_all_tokens_of_a_row_the_probabilities_make_one() -> None:
    row = np.random.default_rng(1).normal(0, 5, (1, 500)).astype(np.float32)
    total = math.fsum(math.exp(log_probabilities(row, [token])[0]) for token in range(500))

    assert total == pytest.approx(1.0, abs=1e-6)


def test_a_token_that_cannot_come_has_minus_infinity_and_the_others_share_the_rest() -> None:
    logits = np.array([[0.0, -math.inf, 0.0]] * 2, dtype=np.float32)

    assert log_probabilities(logits, [1, 2]) == [-math.inf, pytest.approx(-math.log(2))]


def test_a_sure_token_has_zero() -> None:
    assert log_probabilities(np.array([[0.0, 200.0]], dtype=np.float32), [1]) == [0.0]


def test_rows_without_a_token_are_not_looked_at() -> None:
    logits = np.array([[0.0, 0.0], [math.nan, math.nan]], dtype=np.float32)

    assert log_probabilities(logits, [0]) == [pytest.approx(-math.log(2))]
    assert log_probabilities(logits, []) == []


def test_the_logits_are_left_as_they_were() -> None:
    logits = np.arange(6, dtype=np.float32).reshape(2, 3)
    log_probabilities(logits, [0, 1])

    assert logits.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
