"""Guess that the text goes on as it did the last time it said this. Costs no model."""

from collections.abc import Sequence

import numpy as np

from specchat.speculation.controller import LengthController
from specchat.speculation.drafters.base import Draft
from specchat.speculation.sampling import Sampler
from specchat.speculation.sequence import shared_prefix

LONGEST = 4
SHORTEST = 2


class NgramDrafter:
    """Looks the last tokens up in the whole conversation, the longest match first.

    Prompt lookup decoding, with an index that grows with the text: constant time a token.
    Of several matches the most recent one counts.
    """

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._indexed = 0
        self._after: dict[tuple[int, ...], list[int]] = {}
        """For an n-gram the positions that follow its occurrences, ascending."""

    def begin(self, ids: Sequence[int], sampler: Sampler, random: np.random.Generator) -> None:
        """Index a sequence, or only what is new of it."""
        self.rollback(shared_prefix(self._ids, ids))
        self._extend(ids)

    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        """What followed the most recent longest match."""
        self._extend(ids)
        start = self._continuation()
        tokens: list[int] = []
        if start is not None:
            for token in ids[start : start + limit]:
                if not controller.wants_more(len(tokens)):
                    break
                tokens.append(token)
        return Draft(tokens)

    def rollback(self, length: int) -> None:
        """Take the positions after `length` out of the index."""
        for position in range(self._indexed - 1, length - 1, -1):
            for size in range(SHORTEST, LONGEST + 1):
                if position >= size:
                    self._after[tuple(self._ids[position - size : position])].pop()
        self._indexed = min(self._indexed, length)
        del self._ids[length:]

    def close(self) -> None:
        """Nothing is held that the garbage collector does not free."""

    def _extend(self, ids: Sequence[int]) -> None:
        """Index up to the last token: what follows the last n-gram is not known yet."""
        self._ids += ids[len(self._ids) :]
        for position in range(self._indexed, len(self._ids)):
            for size in range(SHORTEST, LONGEST + 1):
                if position >= size:
                    key = tuple(self._ids[position - size : position])
                    self._after.setdefault(key, []).append(position)
        self._indexed = len(self._ids)

    def _continuation(self) -> int | None:
        for size in range(LONGEST, SHORTEST - 1, -1):
            positions = self._after.get(tuple(self._ids[-size:]))
            if positions:
                return positions[-1]
        return None
