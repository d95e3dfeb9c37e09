"""MTP heads: trained layers that guess from the target's own hidden states.

After multi-token prediction (Gloeckle et al. 2024, arXiv 2404.19737) as DeepSeek-V3 trains it
(arXiv 2412.19437, section 2.2): a head reads a token together with the hidden state of the token
before, and says what comes next. llama.cpp's order of calls is in common/speculative.cpp.
"""

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from specchat.llama.context import Context, Logits, Outputs
from specchat.llama.head import HeadContext, SharedHeadContext
from specchat.llama.hidden import HiddenStates, KeptStates, States
from specchat.speculation.controller import LengthController, Reach
from specchat.speculation.distribution import Distribution
from specchat.speculation.drafters.base import Draft
from specchat.speculation.drafters.guessing import Guesser
from specchat.speculation.draws import Draws
from specchat.speculation.sampling import Sampler
from specchat.speculation.sequence import shared_prefix

KEPT_BATCHES = 2
"""Batches of hidden states that wait to be read. A head that is idle reads that many at once."""


class MtpDrafter:
    """Drafts with one head, which goes on from its own hidden state after its first token.

    It listens to every decode of its target and keeps the hidden states until they are read: when
    it drafts, or when too many wait. Row p of `_kept` is the state of the token before position p,
    so that it goes in with the token at p; before the first token stands a row of zeros.

    Args:
        target: its listener is this drafter from now on.
        head: reads the target's tokens, and no others once a round is over.
    """

    def __init__(self, target: Context, head: HeadContext) -> None:
        self._target = target
        self._head = head
        self._guesser = Guesser(target.model.vocabulary.n_tokens)
        self._end_tokens = target.model.vocabulary.end_tokens
        self._hidden = HiddenStates(head.extension, target, every_token=True)
        self._kept = KeptStates(self._hidden.width, KEPT_BATCHES * target.n_batch + 1)
        target.listener = self

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
        """Nothing is read before it drafts; the prompt's hidden states wait, or were read."""
        self._guesser.use(sampler, draws)
        self._head.rollback(shared_prefix(self._head.tokens, ids))

    def pending(self, ids: Sequence[int]) -> int:
        """How many tokens it would have to read before it could guess."""
        return max(1, len(ids) - len(self._head.tokens))

    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        """Read what is new, then guess one token at a time.

        Raises:
            Aborted: the abort flag was set.
        """
        pending = self.pending(ids)
        if not controller.start("model", None, pending):
            return Draft()
        limit = min(limit, self.reach.longest or limit)
        last = len(ids) - 1
        self._head.rollback(last)
        tokens: list[int] = []
        rows: list[Distribution] = []
        decode_s = 0.0
        try:
            while True:
                started = perf_counter()
                if not tokens:
                    self._read(ids[:last])
                    self._kept.forget_before(last)
                logits = self._next(ids, tokens)
                took_s = perf_counter() - started
                decode_s += took_s
                controller.spent("model", pending, took_s * 1e3)
                token, confidence = self._guesser.guess(logits, ids, tokens, rows)
                tokens.append(token)
                pending = 1
                goes_on = controller.go_on(confidence)
                if not goes_on or len(tokens) >= limit or token in self._end_tokens:
                    return Draft(tokens, rows or None, "model", decode_s)
        finally:
            self._forget_guesses(last)

    def rollback(self, length: int) -> None:
        """Drop what it read beyond."""
        self._head.rollback(length)

    def close(self) -> None:
        """Free the head's cache."""
        self._target.listener = None
        self._head.close()

    def decoded(self, start: int, tokens: Sequence[int]) -> None:
        """Keep the hidden states of what the target has decoded.

        Raises:
            Aborted: the abort flag was set, and waiting ones had to be read first.
        """
        self._agree(start, tokens)
        if self._kept.room() < len(tokens) + 1:
            self._read(self._target.tokens[:start])
            self._kept.forget_before(start)
        if start == 0 or not self._kept.first <= start < self._kept.end:
            self._kept.put(0, np.zeros((1, self._hidden.width), np.float32))
        self._kept.put(start + 1, self._hidden.rows(len(tokens)))

    def reusable(self, length: int) -> int:
        """One token less where its hidden state is gone: it goes in with the token after it."""
        return length if length == 0 or self._kept.first <= length else length - 1

    def _agree(self, start: int, tokens: Sequence[int]) -> None:
        """Drop what the head has read that is not the target's text any more."""
        read = self._head.tokens
        agreed = start + shared_prefix(read[start : start + len(tokens)], tokens)
        if agreed < min(len(read), start + len(tokens)):
            self._head.rollback(agreed)

    def _read(self, ids: Sequence[int]) -> None:
        """Bring the head to these tokens of the target."""
        done = len(self._head.tokens)
        for start in range(done, len(ids), self._head.n_batch):
            chunk = ids[start : start + self._head.n_batch]
            self._head.read(chunk, self._kept.of(start, start + len(chunk)), Outputs.NONE)

    def _next(self, ids: Sequence[int], tokens: Sequence[int]) -> Logits:
        """The row of what comes after `ids` and `tokens`."""
        last = len(ids) - 1
        if tokens:
            self._head.read(tokens[-1:], self._head.states(1), Outputs.LAST)
        else:
            self._head.read(ids[last:], self._kept.of(last, last + 1), Outputs.LAST)
        return self._head.rows(1)

    def _forget_guesses(self, last: int) -> None:
        """Of what a draft has read, only the last token went in with the target's hidden state."""
        self._head.rollback(last + 1)


class ChainedMtpDrafter(MtpDrafter):
    """Drafts with several heads, each trained to guess one token further.

    Every head is a layer with its own keys and values in the same cells, so that each of them reads
    every token. The head for the i-th guess reads the whole draft before it.
    """

    def __init__(self, target: Context, head: HeadContext) -> None:
        super().__init__(target, head)
        self._n_heads = head.model.n_mtp_heads
        self._chain: list[States] = []

    @property
    def reach(self) -> Reach:
        """As many tokens as there are heads."""
        return Reach(longest=self._n_heads)

    def _read(self, ids: Sequence[int]) -> None:
        for start in range(len(self._head.tokens), len(ids), self._head.n_batch):
            chunk = ids[start : start + self._head.n_batch]
            states = self._kept.of(start, start + len(chunk))
            try:
                for head in range(self._n_heads):
                    self._head.rollback(start)
                    self._head.select(head)
                    self._head.read(chunk, states, Outputs.NONE)
            except BaseException:
                self._head.rollback(start)  # some heads have not read it
                raise
            finally:
                self._head.select(0)

    def _next(self, ids: Sequence[int], tokens: Sequence[int]) -> Logits:
        last, count = len(ids) - 1, len(tokens) + 1
        if tokens:
            self._chain.append(self._head.states(count - 1)[-1].copy())
        else:
            self._chain = [self._kept.of(last, last + 1)[0].copy()]
        self._head.rollback(last)
        self._head.select(len(tokens))
        self._head.read([ids[last], *tokens], np.stack(self._chain), Outputs.ALL)
        return self._head.rows(count)[-1:]

    def _forget_guesses(self, last: int) -> None:
        self._head.select(0)
        self._head.rollback(last)


class SharedMtpDrafter(MtpDrafter):
    """Drafts with a head that attends to its target's cells (Gemma 4): it never reads on its own.

    What it would have to be told is in the cells already, up to the last token.
    """

    def pending(self, ids: Sequence[int]) -> int:
        """Nothing but the last token."""
        return 1

    def _agree(self, start: int, tokens: Sequence[int]) -> None:
        """It has read nothing."""

    def _read(self, ids: Sequence[int]) -> None:
        """It reads nothing."""


def make_mtp_drafter(target: Context, head: HeadContext) -> MtpDrafter:
    """The drafter for these heads."""
    if isinstance(head, SharedHeadContext):
        return SharedMtpDrafter(target, head)
    return (ChainedMtpDrafter if head.model.n_mtp_heads > 1 else MtpDrafter)(target, head)
