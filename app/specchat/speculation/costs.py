"""What a decode call costs, by its number of tokens, as measured on this machine."""

from collections import deque

SAMPLES = 9
"""Decode calls whose median counts: old ones fall out as the context grows deeper."""


class CostTable:
    """Median milliseconds of a decode call of n tokens, for each n that was measured.

    Costs need not grow with n: a call of 4 tokens may be cheaper than one of 3. Between measured
    sizes the table interpolates; above the largest it goes on with the slope of all of it.
    """

    def __init__(self) -> None:
        self._samples: dict[int, deque[float]] = {}
        self._medians: dict[int, float] = {}
        self._filled: list[float] = []

    def add(self, n_tokens: int, milliseconds: float) -> None:
        """Learn from one call of at least one token."""
        samples = self._samples.setdefault(n_tokens, deque(maxlen=SAMPLES))
        samples.append(milliseconds)
        ordered, half = sorted(samples), len(samples) // 2
        self._medians[n_tokens] = (ordered[half] + ordered[-1 - half]) / 2
        self._filled = []

    @property
    def measured(self) -> dict[int, float]:
        """The medians by number of tokens."""
        return dict(sorted(self._medians.items()))

    def count(self, n_tokens: int) -> int:
        """How many calls of this size are remembered."""
        return len(self._samples.get(n_tokens, ()))

    def cost(self, n_tokens: int) -> float:
        """Milliseconds that a call of this many tokens is expected to take.

        Raises:
            LookupError: nothing was measured yet.
        """
        if n_tokens >= len(self._filled):
            self._filled = self._fill(n_tokens)
        return self._filled[n_tokens]

    def _fill(self, up_to: int) -> list[float]:
        """The cost of 0, 1, ... tokens; entry 0 is 0."""
        if not self._medians:
            raise LookupError("no decode call was measured")
        known = sorted(self._medians.items())
        (first, first_cost), (last, last_cost) = known[0], known[-1]
        slope = max(0.0, (last_cost - first_cost) / (last - first)) if last > first else 0.0
        filled = [0.0]
        after = iter(known)
        low = high = next(after)
        for n in range(1, up_to + 1):
            while n > high[0] and high[0] != last:
                low, high = high, next(after)
            if n >= last:
                filled.append(last_cost + (n - last) * slope)
            elif n <= first:
                filled.append(first_cost)
            else:
                share = (n - low[0]) / (high[0] - low[0])
                filled.append(low[1] + share * (high[1] - low[1]))
        return filled
