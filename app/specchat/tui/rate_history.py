"""The graph of the last minute: the sliding rate, sampled on the clock of decoding."""

import math

from specchat.speculation.metrics import NOTHING, Figures, SlidingRate

SAMPLE_S = 0.25
MINUTE_S = 60.0


class RateHistory:
    """Samples of the sliding rate, one every `SAMPLE_S` of decoding, across answers."""

    def __init__(self) -> None:
        self._samples: list[float] = []
        self._dropped = 0
        self._rate = SlidingRate()
        self._clock_s = 0.0
        """Decoding of the answers before this one."""
        self._answer_s = 0.0
        self._begun_s = 0.0
        """Decoding that its figures count and that was before."""

    def begin_answer(self, begun: Figures = NOTHING) -> None:
        """The next figures count from zero again, or from what an answer begins with."""
        self._clock_s += self._answer_s
        self._answer_s, self._begun_s = 0.0, begun.decode_s
        self._rate = SlidingRate(begun)

    def add(self, figures: Figures) -> None:
        """Take the totals after a round."""
        self._answer_s = figures.decode_s - self._begun_s
        rate = self._rate.add(figures)
        due = math.ceil((self._clock_s + self._answer_s) / SAMPLE_S)
        missing = due - self._dropped - len(self._samples)
        if missing > 0:
            self._samples.extend([rate] * missing)
        elif self._samples:
            self._samples[-1] = rate
        surplus = len(self._samples) - int(MINUTE_S / SAMPLE_S)
        if surplus > 0:
            del self._samples[:surplus]
            self._dropped += surplus

    @property
    def covered_s(self) -> float:
        """How much decoding the samples cover, a minute at most."""
        return len(self._samples) * SAMPLE_S

    def columns(self, width: int) -> list[float]:
        """The samples as at most `width` means, oldest first.

        Groups are aligned to the clock, so that a column keeps its value while the graph moves.
        """
        if not self._samples or width < 1:
            return []
        size = max(1, math.ceil(len(self._samples) / width))
        groups: dict[int, list[float]] = {}
        for index, sample in enumerate(self._samples, self._dropped):
            groups.setdefault(index // size, []).append(sample)
        return [sum(group) / len(group) for group in groups.values()][-width:]
