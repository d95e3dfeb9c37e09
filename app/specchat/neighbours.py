"""What other programs take of the machine while ours works."""

import contextlib
import os
from collections.abc import Iterable
from time import monotonic

import psutil

BUSY_SHARE = 0.15
"""Share of all cores that other programs may use before the machine counts as busy."""
POLITE = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
"""How llama.cpp's threads wait for each other: they look for some 15 µs, then sleep. Those that
sleep at once make a decode a tenth longer on an idle machine; beside one busy neighbour, those that
look ten times as long make it six times as long again, and those that never sleep, for ever."""


class Watch:
    """Measures how many cores programs other than ours use.

    Args:
        pids: our processes beside this one; their time, and that of their children, is not that
            of others.
    """

    def __init__(self, pids: Iterable[int] = ()) -> None:
        self._pids = {os.getpid(), *pids}
        self._clock = monotonic()
        self._ours = self._our_seconds()
        self._all = _busy_seconds()

    def others(self) -> float | None:
        """Cores in use by others since the start, on average; None where that is not told."""
        all_s, ours_s = _busy_seconds() - self._all, self._our_seconds() - self._ours
        seconds = monotonic() - self._clock
        if seconds <= 0 or all_s < ours_s / 2:  # a system that does not count, or not for us
            return None
        return max(0.0, all_s - ours_s) / seconds

    def _our_seconds(self) -> float:
        seconds: dict[int, float] = {}  # by process: a child of one given may be given as well
        for pid in self._pids:
            with contextlib.suppress(psutil.Error):  # it has ended
                process = psutil.Process(pid)
                # Only of those given: our own children are among them, or have ended.
                for member in [process, *(process.children() if pid != os.getpid() else ())]:
                    times = member.cpu_times()
                    seconds[member.pid] = times.user + times.system
        return sum(seconds.values())


def are_busy(others: float | None, cores: int) -> bool:
    """Whether so many cores in use by others disturb a measurement."""
    return others is not None and others > BUSY_SHARE * cores


def _busy_seconds() -> float:
    """Processor time that went into work, all cores together, since the system started."""
    times = psutil.cpu_times()
    # Time of guests is part of the user time already.
    return sum(getattr(times, name, 0.0) for name in ("user", "nice", "system", "irq", "softirq"))
