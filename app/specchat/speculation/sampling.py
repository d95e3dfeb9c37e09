"""From logits to what may come next, by the person's sampling settings."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from specchat.speculation.distribution import Distribution
from specchat.speculation.settings import SamplingSettings

Logits = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

NEGLIGIBLE_NATS = 24.0
"""Without top-k, tokens this far under the best one are left out: each has less than 4e-11 of its
probability, far under what rounding to 32-bit logits changes anyway."""

BLOCK = 64
"""Stripes into which a row is cut when its top k are searched for."""

NUCLEUS = 512
"""How many of the most likely tokens are tried first as the set that top-p leaves."""


class Sampler:
    """Sampling settings, applied to rows of logits.

    The stages and their order are llama.cpp's (common/sampling.cpp): logit bias, penalties, top-k,
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
        candidates = self._candidates(logits)
        return [self._distribution(row, ids) for row, ids in zip(logits, candidates, strict=True)]

    def _adjust(self, logits: Logits, context: Sequence[int], drafted: Sequence[int]) -> None:
        if not self._changes_logits:
            return
        if len(self._bias_ids):
            known = self._bias_ids < logits.shape[1]  # a draft may know fewer tokens
            logits[:, self._bias_ids[known]] += self._bias[known]
        if self.settings.has_penalties:
            window = self.settings.penalty_window
            for index, row in enumerate(logits):
                before = [*context[-window:], *drafted[:index]][-window:]
                self._penalise(row, before)

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

    def _candidates(self, logits: Logits) -> list[Ids]:
        """For each row the ids, ascending, that top-k leaves, or all that can matter."""
        top_k = self.settings.top_k
        if 0 < top_k < logits.shape[1]:
            return [
                largest(row, ids, top_k)
                for row, ids in zip(logits, top_candidates(logits, top_k), strict=True)
            ]
        nats = NEGLIGIBLE_NATS * max(1.0, self.settings.temperature)
        if self.settings.min_p > 0 and self.settings.top_p == 1:
            nats = min(nats, -math.log(self.settings.min_p) + 1e-3)  # rounding stays on this side
        floors = logits.max(axis=1) - np.float32(nats)
        return [np.flatnonzero(row >= floor) for row, floor in zip(logits, floors, strict=True)]

    def _distribution(self, row: Logits, ids: Ids) -> Distribution:
        settings = self.settings
        values = row[ids].astype(np.float64)
        values -= values.max()
        if settings.top_p < 1:
            kept = nucleus(values, settings.top_p)
            ids, values = ids[kept], values[kept]
        if settings.min_p > 0:
            likely = values >= math.log(settings.min_p)
            ids, values = ids[likely], values[likely]
        weights = np.exp(values / settings.temperature)
        return Distribution(ids, weights / weights.sum())


def top_candidates(logits: Logits, k: int) -> list[Ids]:
    """For each row a few ids, ascending, among which its k largest entries are.

    The row is read as BLOCK stripes, and each column of stripes has a maximum. The k-th largest
    maximum is reached by at least k entries, so that no smaller entry is among the k largest, and
    only the columns that reach it have to be looked at. One pass over the row, where a partition
    of 150,000 logits takes several times as long.

    Args:
        logits: shape (rows, n_vocab), k at most n_vocab.
    """
    rows, n_vocab = logits.shape
    stride = n_vocab // BLOCK
    if stride < k:
        bounds = np.partition(logits, n_vocab - k, axis=1)[:, n_vocab - k]
        return [np.flatnonzero(row >= bound) for row, bound in zip(logits, bounds, strict=True)]
    whole = stride * BLOCK
    stripes = logits[:, :whole].reshape(rows, BLOCK, stride)
    maxima = stripes.max(axis=1)
    bounds = np.partition(maxima, stride - k, axis=1)[:, stride - k]
    found = []
    for row, bound, stripe, maximum in zip(logits, bounds, stripes, maxima, strict=True):
        columns = np.flatnonzero(maximum >= bound)
        places, which = np.nonzero(stripe[:, columns] >= bound)
        rest = whole + np.flatnonzero(row[whole:] >= bound)
        found.append(np.sort(np.concatenate([places * stride + columns[which], rest])))
    return found


def largest(row: Logits, ids: Ids, k: int) -> Ids:
    """Of these ids, ascending, those of the k largest entries; the lower id among equals."""
    if len(ids) <= k:
        return ids
    order = np.argsort(-row[ids], kind="stable")
    return np.sort(ids[order[:k]])


def nucleus(values: npt.NDArray[np.float64], top_p: float) -> Ids:
    """The places, ascending, of the smallest set of likely values with this share of all.

    Args:
        values: logits less the largest of them.
    """
    weights = np.exp(values)
    needed, k = top_p * weights.sum(), NUCLEUS
    while k < len(values):  # sorting a few is much quicker than sorting all
        few = np.argpartition(-values, k)[:k]
        if weights[few].sum() >= needed:
            few = np.flatnonzero(values >= values[few].min())  # equals at the edge: all of them
            break
        k *= 8
    else:
        few = np.arange(len(values))
    few = few[np.lexsort((few, -values[few]))]
    cumulative = weights[few].cumsum()
    reached = cumulative >= min(needed, cumulative[-1])
    return np.sort(few[: int(reached.argmax()) + 1])


def log_probabilities(logits: Logits, tokens: Sequence[int]) -> list[float]:
    """The log probability of token i in row i, by the model itself: no setting changes it.

    Args:
        logits: shape (rows, n_vocab), at least as many rows as tokens.
    """
    result = []
    for row, token in zip(logits, tokens, strict=False):
        peak = float(row.max())
        total = float(np.exp(row - peak, dtype=np.float64).sum())
        result.append(float(row[token]) - peak - math.log(total))
    return result
