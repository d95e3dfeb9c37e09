"""What the decoder asks of a drafter."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from specchat.speculation.controller import LengthController, Reach, Source
from specchat.speculation.distribution import Distribution
from specchat.speculation.draws import Draws
from specchat.speculation.sampling import Sampler


class Draft(msgspec.Struct, frozen=True):
    """Guesses for the next tokens, and what each was drawn from.

    `distributions` is None when every token was proposed with certainty, or nobody will ask.
    """

    tokens: list[int] = []
    distributions: list[Distribution] | None = None
    source: Source | None = None
    """Who guessed; None where nobody did."""
    decode_s: float = 0.0
    """Seconds inside the decode calls that it took."""
    step_back_s: float = 0.0
    """Seconds in which the drafter marked where to come back to."""

    def cut(self, length: int) -> "Draft":
        """The first `length` tokens of it."""
        if length >= len(self.tokens):
            return self
        rows = None if self.distributions is None else self.distributions[:length]
        return msgspec.structs.replace(self, tokens=self.tokens[:length], distributions=rows)


class Drafter(Protocol):
    """Guesses what comes after a sequence of tokens.

    The decoder calls `begin` once an answer, then `draft` and `rollback` once a round.
    """

    def begin(
        self,
        ids: Sequence[int],
        sampler: Sampler,
        draws: Draws,
        controller: LengthController,
    ) -> None:
        """Get ready for this sequence; what it shares with the last one is not done again.

        A drafter that draws its tokens draws them by these settings: a draft needs the support
        that the target will have.
        """
        ...

    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        """Guess up to `limit` tokens after `ids`, for as long as the controller wants more.

        `ids` starts with what the drafter has seen and was not told to forget.
        """
        ...

    def rollback(self, length: int) -> None:
        """Forget what comes after the first `length` tokens; with fewer seen, nothing happens."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


class ModelLikeDrafter(Drafter, Protocol):
    """A drafter with a model, which has to read a text before it can go on from it."""

    @property
    def reach(self) -> Reach:
        """What its drafts can be."""
        ...

    def pending(self, ids: Sequence[int]) -> int:
        """How many tokens it would have to read before it could guess."""
        ...
