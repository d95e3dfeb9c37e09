"""How a drafter with a model comes from a row of logits to a token."""

from collections.abc import Sequence

import numpy as np

from specchat.speculation.distribution import Distribution
from specchat.speculation.draws import Draws, RandomDraws
from specchat.speculation.sampling import Logits, Sampler
from specchat.speculation.settings import SamplingSettings


class Guesser:
    """Draws by the person's settings, so that a draft has the support that the target will have.

    Args:
        n_vocab: the target's vocabulary size; ids beyond it are never drafted.
    """

    def __init__(self, n_vocab: int) -> None:
        self._n_vocab = n_vocab
        self._sampler = Sampler(SamplingSettings())
        self._draws: Draws = RandomDraws(np.random.default_rng())

    def use(self, sampler: Sampler, draws: Draws) -> None:
        """The settings of an answer."""
        self._sampler, self._draws = sampler, draws

    def guess(
        self,
        logits: Logits,
        ids: Sequence[int],
        tokens: Sequence[int],
        rows: list[Distribution],
    ) -> tuple[int, float]:
        """The token after `ids` and the drafted `tokens`, and the probability that it was given.

        Args:
            logits: shape (1, n); penalties and biases are written into it.
            rows: what it was drawn from is appended, where it was drawn.
        """
        logits = logits[:, : self._n_vocab]
        before = [*ids, *tokens] if self._sampler.settings.has_penalties else ids
        if self._sampler.settings.is_greedy:
            token = self._sampler.picks(logits, before, ())[0]
            return token, peak_probability(logits[0], token)
        row = self._sampler.distributions(logits, before, ())[0]
        rows.append(row)
        token = self._draws.draw(row, len(ids) + len(tokens))
        return token, row.probability(token)


def peak_probability(row: Logits, peak: int) -> float:
    """The softmax of the largest logit, in one pass over the row."""
    return float(1.0 / np.exp(row - row[peak]).sum())
