"""From logits to what may come next, by the person's sampling settings."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from specchat.speculation.distribution import Distribution
from specchat.speculation.settings import SamplingSettings

Logits = npt.NDArray[np.float32]

NEGLIGIBLE_NATS = 24.0
"""Without top-k, tokens this far under the best one are left out: each has less than 4e-11 of its
probability, far under what rounding to 32-bit logits changes anyway."""

BLOCK = 64
"""Logits to a block when the top k are searched for through the maxima of blocks."""


class Sampler:
    """Sampling settings, applied to rows of logits.

    The stages and their order are llama.cpp's (common/sampling.cpp): penalties, logit bias, top-k,
    top-p, min-p, temperature.

    Args:
        suppressed: tokens that must never come.
    """

    def __init__(self, settings: SamplingSettings, suppressed: Sequence[int] = ()) -> None:
        self.settings = settings
        bias = dict(settings.logit_bias) | dict.fromkeys(suppressed, -math.inf)
        self._bias_ids = np.array(list(bias), dtype=np.int64)
        self._bias = np.array(list(bias.values()), dtype=np.float32)
        self._changes_logits = settings.has_penalties or bool(bias)

    def picks(self, logits: Logits, context: Sequence[int], drafted: Sequence[int]) -> list[int]:
        """The most likely token of each row; the lowest id among equals.

        Args:
            logits: shape (rows, n_vocab); penalties and biases are written into it.
            context: the tokens before the first row.
            drafted: row i comes after the first i of these.
        """
        self._adjust(logits, context, drafted)
        picks: list[int] = logits.argmax(axis=1).tolist()
        return picks

    def distributions(
        self, logits: Logits, context: Sequence[int], drafted: Sequence[int]
    ) -> list[Distribution]:
        """The distribution of each row; the arguments are those of `picks`."""
        self._adjust(logits, context, drafted)
        return [self._distribution(row, ids) for row, ids in self._candidates(logits)]

    def _adjust(self, logits: Logits, context: Sequence[int], drafted: Sequence[int]) -> None:
        if not self._changes_logits:
            return
        if self.settings.has_penalties:
            window = self.settings.penalty_window
            for index, row in enumerate(logits):
                before = [*context[-window:], *drafted[:index]][-window:]
                self._penalise(row, before)
        if len(self._bias_ids):
            known = self._bias_ids < logits.shape[1]  # a draft may know fewer tokens
            logits[:, self._bias_ids[known]] += self._bias[known]

    def _penalise(self, row: Logits, before: Sequence[int]) -> None:
        """llama_sampler_penalties of llama.cpp."""
        counts = Counter(token for token in before if token < len(row))
        ids = np.fromiter(counts.keys(), np.int64, len(counts))
        times = np.fromiter(counts.values(), np.float32, len(counts))
        values = row[ids]
        divisor = np.float32(self.settings.repetition_penalty)
        values = np.where(values > 0, values / divisor, values * divisor)
        values -= times * np.float32(self.settings.frequency_penalty)
        values -= np.float32(self.settings.presence_penalty)
        row[ids] = values

    def _candidates(self, logits: Logits) -> list[tuple[Logits, npt.NDArray[np.int64]]]:
        """Each row with the ids that top-k leaves, or all that count, ascending."""
        n_vocab = logits.shape[1]
        top_k = self.settings.top_k
        if 0 < top_k < n_vocab:
            floors = kth_largest_bound(logits, top_k)
        else:
            floors = logits.max(axis=1) - NEGLIGIBLE_NATS * max(1.0, self.settings.temperature)
        found = []
        for row, floor in zip(logits, floors, strict=True):
            ids = np.flatnonzero(row >= floor)
            if 0 < top_k < len(ids):
                order = np.argsort(-row[ids], kind="stable")  # the lower id among equals
                ids = np.sort(ids[order[:top_k]])
            found.append((row, ids))
        return found

    def _distribution(self, row: Logits, ids: npt.NDArray[np.int64]) -> Distribution:
        settings = self.settings
        values = row[ids].astype(np.float64)
        values -= values.max()
        if settings.top_p < 1:
            ids, values = _top_p(ids, values, settings.top_p)
        if settings.min_p > 0:
            kept = values >= math.log(settings.min_p)
            ids, values = ids[kept], values[kept]
        weights = np.exp(values / settings.temperature)
        return Distribution(ids, weights / weights.sum())


def kth_largest_bound(logits: Logits, k: int) -> npt.NDArray[np.float32]:
    """For each row a value that at least k entries reach and hardly more: shape (rows,).

    The k-th largest of the maxima of blocks: k blocks hold an entry that large. It reads the row
    once, where a partition of 150,000 logits takes several times as long.
    """
    rows, n_vocab = logits.shape
    whole = n_vocab // BLOCK * BLOCK
    if whole // BLOCK < k:
        return np.partition(logits, n_vocab - k, axis=1)[:, n_vocab - k]
    maxima = logits[:, :whole].reshape(rows, -1, BLOCK).max(axis=2)
    place = maxima.shape[1] - k
    return np.partition(maxima, place, axis=1)[:, place]


def _top_p(
    ids: npt.NDArray[np.int64], values: npt.NDArray[np.float64], top_p: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The smallest set of the most likely tokens with at least this probability, ids ascending."""
    order = np.argsort(-values, kind="stable")
    cumulative = np.exp(values[order]).cumsum()
    reached = cumulative >= top_p * cumulative[-1]
    kept = np.sort(order[: int(reached.argmax()) + 1])
    return ids[kept], values[kept]
