"""What a decode call costs, by its number of tokens, as measured on this machine."""

from collections import deque
from typing import NamedTuple

SAMPLES = 9
"""Remembered calls of a size: old ones fall out as the context grows deeper."""
SLOW = 1.5
"""A call this many times as long as it could have been was disturbed."""


class Sample(NamedTuple):
    """One decode call."""

    milliseconds: float
    in_plain_calls: float
    """The same as a multiple of what a call of the target for one token cost at that time."""


class CostTable:
    """Milliseconds of a decode call of n tokens, for each n that was measured.

    The lower quartile of the last calls: half of them may have had a busy neighbour. Costs need not
    grow with n: a call of 4 tokens may be cheaper than one of 3. Between measured sizes the table
    interpolates; above the largest it goes on with the slope of all of it.

    Args:
        plain: the target's table, whose call of one token is the measure of how fast the machine
            is at a time; None: this is that table.
    """

    def __init__(self, plain: "CostTable | None" = None) -> None:
        self._plain = plain or self
        self._samples: dict[int, deque[Sample]] = {}
        self._usual: dict[int, float] = {}
        self._lowest: dict[int, float] = {}
        self._filled: list[float] = []
        self._filled_lowest: list[float] = []

    def add(self, n_tokens: int, milliseconds: float) -> None:
        """Learn from one call of at least one token."""
        plain = self._plain._usual.get(1, milliseconds)
        samples = self._samples.setdefault(n_tokens, deque(maxlen=SAMPLES))
        samples.append(Sample(milliseconds, milliseconds / plain))
        self._digest(n_tokens)

    @property
    def measured(self) -> dict[int, float]:
        """What calls of the measured sizes usually cost, by number of tokens."""
        return dict(sorted(self._usual.items()))

    def cost(self, n_tokens: int) -> float:
        """Milliseconds that a call of this many tokens is expected to take.

        Raises:
            LookupError: nothing was measured yet.
        """
        if n_tokens >= len(self._filled):
            self._filled = _fill(self._usual, n_tokens)
        return self._filled[n_tokens]

    def at_best(self, n_tokens: int) -> float:
        """What such a call costs when nobody disturbs, in calls of the target for one token.

        A size that is not used is not measured either. It would not be tried again after a busy
        time, or after a first measurement in one, if its slow calls were believed for good.

        Raises:
            LookupError: nothing was measured yet.
        """
        if n_tokens >= len(self._filled_lowest):
            self._filled_lowest = _fill(self._lowest, n_tokens)
        return self._filled_lowest[n_tokens]

    def forget_slow_calls(self) -> None:
        """Let calls that were far slower than at best count for no more than that.

        The target's calls for one token are left alone: those are measured all the time.
        """
        plain = self._plain._usual[1]
        for size, samples in self._samples.items():
            if self is self._plain and size == 1:
                continue
            best = Sample(self._lowest[size] * plain, self._lowest[size])
            kept = [sample for sample in samples if sample.milliseconds <= SLOW * best.milliseconds]
            samples.clear()
            samples.extend(kept or [best])
            self._digest(size)

    def _digest(self, size: int) -> None:
        samples = self._samples[size]
        self._usual[size] = sorted(samples)[len(samples) // 4].milliseconds
        self._filled = []
        lowest = min(sample.in_plain_calls for sample in samples)
        if lowest != self._lowest.get(size):
            self._lowest[size] = lowest
            self._filled_lowest = []


class StepBackCosts:
    """Milliseconds of a drafted round for marking memories and going back, without decoding again.

    Marks are set in every such round, and nothing goes back unless a guess was refused.

    Args:
        plain: the target's table.
    """

    def __init__(self, plain: CostTable) -> None:
        self._kept, self._refused = CostTable(plain), CostTable(plain)
        self._kept_ms = self._refused_ms = 0.0

    def add(self, milliseconds: float, *, refused: bool) -> float:
        """Learn from one round; what such a round usually takes."""
        (self._refused if refused else self._kept).add(1, milliseconds)
        self._digest()
        return self._refused_ms if refused else self._kept_ms

    def expected(self, kept: float) -> float:
        """By the chance that all guesses are kept; nothing for what was never measured."""
        return kept * self._kept_ms + (1.0 - kept) * self._refused_ms

    @property
    def at_best(self) -> float:
        """Of a round that keeps all and that nobody disturbs, in plain calls for one token."""
        return self._kept.at_best(1) if self._kept.measured else 0.0

    def forget_slow_calls(self) -> None:
        """As `CostTable.forget_slow_calls`."""
        self._kept.forget_slow_calls()
        self._refused.forget_slow_calls()
        self._digest()

    def _digest(self) -> None:
        self._kept_ms = self._kept.measured.get(1, 0.0)
        self._refused_ms = self._refused.measured.get(1, 0.0)


def _fill(measured: dict[int, float], up_to: int) -> list[float]:
    """The cost of 0, 1, ... tokens; entry 0 is 0."""
    if not measured:
        raise LookupError("no decode call was measured")
    known = sorted(measured.items())
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
