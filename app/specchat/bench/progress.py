"""How far a run is and how long it still takes, on standard error."""

import sys
from time import monotonic
from typing import TextIO

WIDTH = 78


class Progress:
    """One changing line on a terminal; elsewhere a line every ten per cent."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = sys.stderr if out is None else out
        self._terminal = self._out.isatty()
        self._shown = False
        self._phase = ""
        self._began = monotonic()
        self._next_percent = 0

    def begin(self) -> None:
        """The clock of the time left starts now."""
        self._began = monotonic()
        self._next_percent = 10

    def phase(self, text: str, detail: str = "") -> None:
        """Say what goes on before there is anything to count.

        Args:
            detail: how far it is; not worth a line of its own.
        """
        if self._terminal:
            self._show(f"{text} {detail}".rstrip())
        elif text != self._phase:
            self._show(text)
        self._phase = text

    def step(self, done: int, total: int, label: str) -> None:
        """So many of all answers are there; `label` is the next one."""
        percent = 100 * done // total
        if not self._terminal and percent < self._next_percent:
            return
        self._next_percent = percent - percent % 10 + 10
        left = (monotonic() - self._began) / done * (total - done) if done else None
        words = "" if left is None else f", {duration(left)} left"
        self._show(f"{percent:3d} %, {done} of {total} answers{words}, {label}")

    def close(self) -> None:
        """Take the changing line away."""
        if self._terminal and self._shown:
            print("\r\x1b[K", end="", file=self._out, flush=True)

    def _show(self, text: str) -> None:
        self._shown = True
        if self._terminal:
            print(f"\r{text[:WIDTH]}\x1b[K", end="", file=self._out, flush=True)
        else:
            print(text, file=self._out, flush=True)


def duration(seconds: float) -> str:
    """Such as `45 s`, `12 min` or `1 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
