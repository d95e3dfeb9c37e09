"""A probability distribution over few of many tokens."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Distribution:
    """Token ids, ascending and unique, and their probabilities; every other token has none."""

    ids: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float64]

    @classmethod
    def certain(cls, token: int) -> "Distribution":
        """All probability on one token."""
        return cls(np.array([token]), np.ones(1))

    def probability(self, token: int) -> float:
        """The probability of one token."""
        index = int(self.ids.searchsorted(token))
        if index < len(self.ids) and self.ids[index] == token:
            return float(self.probabilities[index])
        return 0.0

    def draw(self, uniform: float) -> int:
        """The token at this point, in [0, 1), of the cumulative distribution."""
        cumulative = self.probabilities.cumsum()
        index = int(cumulative.searchsorted(uniform * cumulative[-1], side="right"))
        return int(self.ids[min(index, len(self.ids) - 1)])

    def excess(self, other: "Distribution", weight: float = 1.0) -> npt.NDArray[np.float64]:
        """max(weight * self - other, 0) for each id of this one."""
        taken = np.zeros_like(self.probabilities)
        places = other.ids.searchsorted(self.ids)
        inside = places < len(other.ids)
        shared = np.flatnonzero(inside)[other.ids[places[inside]] == self.ids[inside]]
        taken[shared] = other.probabilities[places[shared]]
        return np.maximum(weight * self.probabilities - taken, 0.0)

    def minus(self, other: "Distribution", weight: float = 1.0) -> "Distribution":
        """max(weight * self - other, 0), normalised: what to draw from after a refusal.

        Where nothing is left, which only rounding can bring about, it is `self`.
        """
        left = self.excess(other, weight)
        total = left.sum()
        return Distribution(self.ids, left / total) if total > 0 else self
