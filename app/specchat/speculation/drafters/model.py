"""A small model with the same vocabulary guesses what the large one will say."""

from collections.abc import Sequence

import numpy as np

from specchat.llama.context import Context, Outputs
from specchat.speculation.controller import LengthController
from specchat.speculation.distribution import Distribution
from specchat.speculation.drafters.base import Draft
from specchat.speculation.sampling import Sampler
from specchat.speculation.sequence import shared_prefix
from specchat.speculation.settings import SamplingSettings


class ModelDrafter:
    """Drafts with a model that keeps its own KV cache.

    What it drafted stays in its cache as far as the target keeps it, so drafted tokens are not
    decoded twice (llama.cpp drops and decodes them again: common/speculative.cpp).

    Args:
        context: the draft model's own; it must be able to step back.
        n_vocab: the target's vocabulary size; ids beyond it are never drafted.
    """

    def __init__(self, context: Context, n_vocab: int) -> None:
        self._context = context
        self._n_vocab = n_vocab
        self._end_tokens = context.model.vocabulary.end_tokens
        self._sampler = Sampler(SamplingSettings())
        self._random = np.random.default_rng()

    def begin(self, ids: Sequence[int], sampler: Sampler, random: np.random.Generator) -> None:
        """Prefill all but the last token.

        Raises:
            Aborted: the abort flag was set.
        """
        self._sampler, self._random = sampler, random
        prompt = ids[:-1]
        kept = self._context.rollback(shared_prefix(self._context.tokens, prompt))
        for _ in self._context.prefill(prompt[kept:]):
            pass

    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        """Decode what is new, then one token at a time.

        Raises:
            Aborted: the abort flag was set.
        """
        greedy = self._sampler.settings.is_greedy
        tokens: list[int] = []
        rows: list[Distribution] = []
        feed = ids[len(self._context.tokens) :]
        overdue = len(feed) - self._context.n_batch
        if overdue > 0:  # it was idle for long
            for _ in self._context.prefill(feed[:overdue]):
                pass
            feed = feed[overdue:]
        while len(tokens) < limit and controller.wants_more(len(tokens)):
            self._context.decode(feed, Outputs.LAST)
            logits = self._context.rows(1)[:, : self._n_vocab]
            before = [*ids, *tokens] if self._sampler.settings.has_penalties else ids
            if greedy:
                token = self._sampler.picks(logits, before, ())[0]
            else:
                row = self._sampler.distributions(logits, before, ())[0]
                token = row.draw(self._random.random())
                rows.append(row)
            tokens.append(token)
            if token in self._end_tokens:
                break
            feed = [token]
        return Draft(tokens, None if greedy else rows)

    def rollback(self, length: int) -> None:
        """Drop the guesses that were refused."""
        self._context.rollback(length)

    def close(self) -> None:
        """Free the draft's cache."""
        self._context.close()
