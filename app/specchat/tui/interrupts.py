"""Ctrl+C with nothing selected: once warns, twice in a row leaves."""

import time
from collections.abc import Callable

AGAIN_S = 2.0


class Interrupts:
    """Tells whether this one comes right after another."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = float("-inf")

    def again(self) -> bool:
        """One more came."""
        now = self._clock()
        soon = now - self._last <= AGAIN_S
        self._last = now
        return soon
