"""How often a drafter is right when it is this sure of itself."""

BINS = 10
DECAY = 0.998
"""What each tested token leaves of the weight of those before it in its bin."""
MEAN_DECAY = 0.98
PRIOR_WEIGHT = 4.0
"""As many tested tokens is the first belief worth."""
PRIOR_ACCEPTANCE = 0.6


class Calibration:
    """Acceptance by confidence, learnt from tested tokens: binned and decaying."""

    def __init__(self) -> None:
        self._accepted = [PRIOR_WEIGHT * PRIOR_ACCEPTANCE] * BINS
        self._tested = [PRIOR_WEIGHT] * BINS
        self.mean = PRIOR_ACCEPTANCE
        """Running mean of acceptance, for tokens that are not drafted yet."""

    def acceptance(self, confidence: float) -> float:
        """The chance that a token drafted with this confidence, 0 to 1, is kept."""
        place = _bin(confidence)
        return self._accepted[place] / self._tested[place]

    def learn(self, confidence: float, accepted: bool) -> None:
        """Take one tested token into account."""
        place = _bin(confidence)
        self._accepted[place] = self._accepted[place] * DECAY + accepted
        self._tested[place] = self._tested[place] * DECAY + 1
        self.mean = self.mean * MEAN_DECAY + accepted * (1 - MEAN_DECAY)


def _bin(confidence: float) -> int:
    return min(BINS - 1, int(confidence * BINS))
