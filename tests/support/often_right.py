"""A drafter that is right as often as it is told to be."""

from collections.abc import Sequence

import numpy as np

from specchat.speculation.controller import LengthController
from specchat.speculation.drafters.base import Draft
from specchat.speculation.draws import Draws
from specchat.speculation.sampling import Sampler


class OftenRight:
    """A drafter that knows the text, and is wrong now and then: every length of a kept draft."""

    def __init__(self, text: Sequence[int], right: float, seed: int) -> None:
        self._text = text
        self._right = right
        self._random = np.random.default_rng(seed)

    def begin(
        self, ids: Sequence[int], sampler: Sampler, draws: Draws, controller: LengthController
    ) -> None:
        """Nothing to get ready."""

    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        tokens: list[int] = []
        if not controller.start("ngram", 0.5, 1):
            return Draft()
        for token in self._text[len(ids) : len(ids) + limit]:
            wrong = self._random.random() >= self._right
            tokens.append(3 + (token + 1) % 250 if wrong else token)
            if not controller.go_on(0.5):
                break
        return Draft(tokens, source="ngram")

    def rollback(self, length: int) -> None:
        """It keeps nothing."""

    def close(self) -> None:
        """It holds nothing."""
