"""What all drafters that read their target's hidden states have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from time import perf_counter
from typing import ClassVar

import numpy as np

from specchat.llama.context import Context, Logits
from specchat.llama.hidden import KeptStates, TargetStates
from specchat.speculation.controller import LengthController, Reach
from specchat.speculation.distribution import Distribution
from specchat.speculation.drafters.base import Draft
from specchat.speculation.drafters.guessing import Guesser
from specchat.speculation.draws import Draws
from specchat.speculation.sampling import Sampler
from specchat.speculation.sequence import shared_prefix

KEPT_BATCHES = 2
"""Batches of hidden states that wait to be read. A head that is idle reads that many at once."""


class ListeningDrafter(ABC):
    """Listens to every decode of its target, and keeps the hidden states until they are read.

    They are read when it drafts, or when too many wait. Row p of `_kept` is what the target made of
    the token before position p, so that it goes in with the token at p; before the first token
    stands a row of zeros.

    Args:
        target: its listener is this drafter from now on.
        head: reads the target's tokens, and no others once a round is over.
        states: what the target's decodes leave behind.
    """

    SKIPPED: ClassVar[int] = 0
    """Tokens at the start of a text that the head does not read."""

    def __init__(self, target: Context, head: Context, states: TargetStates) -> None:
        self._target = target
        self._cache = head
        self._states = states
        self._guesser = Guesser(target.model.vocabulary.n_tokens)
        self._end_tokens = target.model.vocabulary.end_tokens
        self._kept = KeptStates(states.width, KEPT_BATCHES * target.n_batch + 1)
        self._skipped: list[int] = []
        """The tokens that it does not read, and that the states of what it has read came after."""
        target.listener = self

    def begin(
        self,
        ids: Sequence[int],
        sampler: Sampler,
        draws: Draws,
        controller: LengthController,
    ) -> None:
        """Nothing is read before it drafts; the prompt's hidden states wait, or were read."""
        self._guesser.use(sampler, draws)
        self._cache.rollback(shared_prefix(self._cache.tokens, ids[self.SKIPPED :]))
        if len(ids) == 1:  # the target has decoded nothing yet that would have left this row
            self._kept.put(0, np.zeros((1, self._states.width), np.float32))

    @property
    @abstractmethod
    def reach(self) -> Reach:
        """What its drafts can be."""

    @abstractmethod
    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        """Read what is new, then guess.

        Raises:
            Aborted: the abort flag was set.
        """

    def pending(self, ids: Sequence[int]) -> int:
        """How many tokens it would have to read before it could guess."""
        return max(1, len(ids) - self.SKIPPED - len(self._cache.tokens))

    def rollback(self, length: int) -> None:
        """Drop what it read beyond."""
        self._cache.rollback(max(0, length - self.SKIPPED))

    def close(self) -> None:
        """Free the head's cache."""
        self._target.listener = None
        self._cache.close()

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
            self._kept.put(start, np.zeros((1, self._states.width), np.float32))
        self._kept.put(start + 1, self._states.rows(len(tokens)))

    def reusable(self, length: int) -> int:
        """One token less where its hidden state is gone: it goes in with the token after it."""
        return length if length == 0 or self._kept.first <= length else length - 1

    def _agree(self, start: int, tokens: Sequence[int]) -> None:
        """Drop what the head has read that is not the target's text any more."""
        read, skipped = self._cache.tokens, self.SKIPPED
        if start < skipped:
            begun = [*self._skipped[:start], *tokens][:skipped]
            if begun != self._skipped:
                self._cache.rollback(0)
            self._skipped = begun
        first = max(start, skipped)
        heard = tokens[first - start :]
        place = first - skipped
        agreed = place + shared_prefix(read[place : place + len(heard)], heard)
        if agreed < min(len(read), place + len(heard)):
            self._cache.rollback(agreed)

    @abstractmethod
    def _read(self, ids: Sequence[int]) -> None:
        """Bring the head to this text, of which the target has decoded every token."""


class SteppingDrafter(ListeningDrafter):
    """Guesses one token a decode call, and goes on from the head's own hidden state."""

    @property
    def reach(self) -> Reach:
        """As long as it pays, one token at a time."""
        return Reach()

    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        """Read what is new, then guess one token at a time.

        Raises:
            Aborted: the abort flag was set.
        """
        pending, last = self.pending(ids), len(ids) - 1
        if last < self.SKIPPED or not controller.start("model", None, pending):
            return Draft()
        limit = min(limit, self.reach.longest or limit)
        self._cache.rollback(last - self.SKIPPED)
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
                controller.spent("model", pending, took_s * 1e3, guess=len(tokens) + 1)
                token, confidence = self._guesser.guess(logits, ids, tokens, rows)
                tokens.append(token)
                pending = 1
                goes_on = controller.go_on(confidence)
                if not goes_on or len(tokens) >= limit or token in self._end_tokens:
                    return Draft(tokens, rows or None, "model", decode_s)
        finally:
            self._forget_guesses(last)

    @abstractmethod
    def _next(self, ids: Sequence[int], tokens: Sequence[int]) -> Logits:
        """The row of what comes after `ids` and the guessed `tokens`."""

    def _forget_guesses(self, last: int) -> None:
        """Of what a draft has read, only the last token went in with the target's hidden state."""
        self._cache.rollback(last + 1 - self.SKIPPED)
