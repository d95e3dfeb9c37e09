"""Guess that the text goes on as it did the last time it said this. Costs no model."""

from collections.abc import Sequence

from specchat.speculation.controller import LengthController
from specchat.speculation.drafters.base import Draft
from specchat.speculation.draws import Draws
from specchat.speculation.sampling import Sampler
from specchat.speculation.sequence import shared_prefix

LONGEST = 6
SHORTEST = 2
CONFIDENCE_STEPS = 2 * (LONGEST - SHORTEST + 1)


class NgramDrafter:
    """Looks the last tokens up in the whole conversation, the longest match first.

    Prompt lookup decoding, with an index that grows with the text: constant time a token.
    Of several matches the most recent one counts. Its confidence tells the length of the match,
    and whether the two most recent ones went on alike; how often that is right, is learnt.
    """

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._indexed = 0
        self._after: dict[tuple[int, ...], list[int]] = {}
        """For an n-gram the positions that follow its occurrences, ascending."""

    def begin(
        self,
        ids: Sequence[int],
        sampler: Sampler,
        draws: Draws,
        controller: LengthController,
    ) -> None:
        """Index a sequence, or only what is new of it."""
        self.rollback(shared_prefix(self._ids, ids))
        self._extend(ids)

    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        """What followed the most recent longest match."""
        found = self.match(ids)
        if found is None or not controller.start("ngram", found[1], 1):
            return Draft()
        start, confidence = found
        tokens: list[int] = []
        for token in ids[start : start + limit]:
            tokens.append(token)
            if not controller.go_on(confidence):
                break
        return Draft(tokens, source="ngram")

    def match(self, ids: Sequence[int]) -> tuple[int, float] | None:
        """Where the text may go on from, and the confidence, above 0 and below 1; None: nowhere."""
        self._extend(ids)
        for size in range(min(LONGEST, len(ids)), SHORTEST - 1, -1):
            positions = self._after.get(tuple(self._ids[-size:]))
            if positions:
                alike = len(positions) > 1 and ids[positions[-1]] == ids[positions[-2]]
                step = 2 * (size - SHORTEST) + alike
                return positions[-1], (step + 0.5) / CONFIDENCE_STEPS
        return None

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
