"""How often a drafter is right when it is this sure of itself."""

BINS = 10
DECAY = 0.998
"""What each tested token leaves of the weight of those before it in its bin."""
MEAN_DECAY = 0.98
"""The same for the mean over all bins, which follows the text faster."""
PRIOR_WEIGHT = 4.0
"""As many tested tokens is the first belief worth, and the mean in a bin of its own."""
PRIOR_ACCEPTANCE = 0.8
"""High, so that a drafter gets its chance: a few tokens that are refused correct it."""


class Calibration:
    """Acceptance by confidence, learnt from tested tokens: binned and decaying.

    A bin that has seen little believes the running mean of all.
    """

    def __init__(self) -> None:
        self._accepted = [0.0] * BINS
        self._tested = [0.0] * BINS
        self.forget()

    def forget(self) -> None:
        """Begin anew with the running mean: the text may have changed since it was last tested."""
        self._all_accepted = PRIOR_WEIGHT * PRIOR_ACCEPTANCE
        self._all_tested = PRIOR_WEIGHT

    @property
    def mean(self) -> float:
        """Running mean of acceptance, for tokens that are not drafted yet."""
        return self._all_accepted / self._all_tested

    def acceptance(self, confidence: float) -> float:
        """The chance that a token drafted with this confidence, 0 to 1, is kept."""
        place = _bin(confidence)
        believed = PRIOR_WEIGHT * self.mean
        return (self._accepted[place] + believed) / (self._tested[place] + PRIOR_WEIGHT)

    def learn(self, confidence: float, accepted: bool) -> None:
        """Take one tested token into account."""
        place = _bin(confidence)
        self._accepted[place] = self._accepted[place] * DECAY + accepted
        self._tested[place] = self._tested[place] * DECAY + 1
        self._all_accepted = self._all_accepted * MEAN_DECAY + accepted
        self._all_tested = self._all_tested * MEAN_DECAY + 1


def _bin(confidence: float) -> int:
    return min(BINS - 1, int(confidence * BINS))
