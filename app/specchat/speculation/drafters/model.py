"""A small model with the same vocabulary guesses what the large one will say."""

from collections.abc import Sequence
from time import perf_counter

from specchat.llama.context import Context, Outputs
from specchat.speculation.controller import LengthController, Reach
from specchat.speculation.distribution import Distribution
from specchat.speculation.drafters.base import Draft
from specchat.speculation.drafters.guessing import Guesser
from specchat.speculation.draws import Draws
from specchat.speculation.reading import read_prompt
from specchat.speculation.sampling import Sampler

STAND_IN = 0
"""The id that is read in place of one that the draft's vocabulary lacks."""


class ModelDrafter:
    """Drafts with a model that keeps its own KV cache.

    The target may have a few tokens more than the draft, mostly ones without a meaning. Where one
    comes, the draft reads another token in its place, and guesses on.

    What it drafted stays in its cache as far as the target keeps it, so drafted tokens are not
    decoded twice (llama.cpp drops and decodes them again: common/speculative.cpp). A model that
    keeps a state goes back to where it began to guess, and reads what was kept together with the
    next token.

    Args:
        context: the draft model's own.
        n_vocab: the target's vocabulary size; ids beyond it are never drafted.
    """

    def __init__(self, context: Context, n_vocab: int) -> None:
        self._context = context
        self._guesser = Guesser(n_vocab)
        self._n_vocab = n_vocab
        self._n_known = context.model.vocabulary.n_tokens
        self._end_tokens = context.model.vocabulary.end_tokens

    @property
    def reach(self) -> Reach:
        """As long as it pays, one token at a time."""
        return Reach()

    def begin(
        self,
        ids: Sequence[int],
        sampler: Sampler,
        draws: Draws,
        controller: LengthController,
    ) -> None:
        """Prefill all but the last token; not where its guesses could never pay.

        Raises:
            Aborted: the abort flag was set.
        """
        self._guesser.use(sampler, draws)
        reading = read_prompt(self._context, self._readable(ids[:-1]))
        next(reading)  # forgets what the prompt does not share
        if not controller.could_pay("model"):
            return
        for _ in reading:
            pass

    def pending(self, ids: Sequence[int]) -> int:
        """How many tokens it would have to read before it could guess."""
        return len(ids) - len(self._context.tokens)

    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        """Decode what is new, then one token at a time.

        Raises:
            Aborted: the abort flag was set.
        """
        if not controller.start("model", None, self.pending(ids)):
            return Draft()
        tokens: list[int] = []
        rows: list[Distribution] = []
        decode_s = step_back_s = 0.0
        feed = self._catch_up(ids)
        while True:
            started = perf_counter()
            self._context.decode(feed, Outputs.LAST)
            took_s = perf_counter() - started
            decode_s += took_s
            controller.spent("model", len(feed), took_s * 1e3)
            token, confidence = self._guesser.guess(self._context.rows(1), ids, tokens, rows)
            tokens.append(token)
            goes_on = controller.go_on(confidence)
            if not goes_on or len(tokens) >= limit or token in self._end_tokens:
                return Draft(tokens, rows or None, "model", decode_s, step_back_s)
            if len(tokens) == 1:
                before = perf_counter()
                self._context.mark()  # all before here will be kept
                step_back_s = perf_counter() - before
            feed = [token]

    def rollback(self, length: int) -> None:
        """Drop the guesses that were refused."""
        self._context.rollback(length)

    def close(self) -> None:
        """Free the draft's cache."""
        self._context.close()

    def _readable(self, ids: Sequence[int]) -> Sequence[int]:
        """The same for the draft: what is really in its cache, and can be compared with it."""
        if self._n_known >= self._n_vocab:
            return ids
        return [token if token < self._n_known else STAND_IN for token in ids]

    def _catch_up(self, ids: Sequence[int]) -> Sequence[int]:
        """Read what was missed but for the last batch, which is left to be decoded."""
        feed = self._readable(ids[len(self._context.tokens) :])
        overdue = len(feed) - self._context.n_batch
        if overdue > 0:
            for _ in self._context.prefill(feed[:overdue]):
                pass
            feed = feed[overdue:]
        return feed
