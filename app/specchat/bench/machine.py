"""The machine: what it is, and whether it does anything else while we measure."""

import os
import platform
from collections.abc import Iterable
from time import monotonic, sleep

import psutil

from specchat.bench.record import MachineFacts, Quietness
from specchat.host import processor

BUSY_LOAD = 0.5
"""Load average for each core above which the machine may be busy."""
BUSY_SHARE = 0.15
"""Share of all cores that other programs may use."""
BUSY_DRIFT = 0.10
SAMPLE_S = 1.0


def machine_facts() -> MachineFacts:
    """What the figures depend on."""
    return MachineFacts(
        processor=processor(),
        physical_cores=psutil.cpu_count(logical=False),
        logical_cores=psutil.cpu_count(),
        memory_bytes=psutil.virtual_memory().total,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
    )


class Watch:
    """Measures how many cores programs other than ours use.

    Args:
        pids: our processes; their time and that of their children is not that of others.
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
        total = 0.0
        for pid in self._pids:
            try:
                process = psutil.Process(pid)
                # Only of those given: our own children are among them, or have ended.
                family = [process, *(process.children() if pid != os.getpid() else ())]
                times = [member.cpu_times() for member in family]
            except psutil.Error:  # it has ended
                continue
            total += sum(each.user + each.system for each in times)
        return total


class Before:
    """The machine just before a run, while nothing of ours works."""

    def __init__(self, sample_s: float = SAMPLE_S) -> None:
        self.cores = psutil.cpu_count() or 1
        self.load_average = _load_average()
        watch = Watch()
        sleep(sample_s)
        self.others = watch.others()

    @property
    def busy(self) -> tuple[str, ...]:
        """Why the machine counts as busy.

        The load average alone would count what ended within the last minute, such as a run
        before this one.
        """
        load, others = self.load_average, self.others
        if load is None or load <= BUSY_LOAD * self.cores:
            return ()
        if others is not None and others <= BUSY_SHARE * self.cores:
            return ()
        words = "" if others is None else f", and other programs used {others:.1f} of them"
        return (f"Before the run the load average was {load:.1f} on {_cores(self.cores)}{words}.",)


def quietness(before: Before, others_during: float | None, drift: float | None) -> Quietness:
    """What is known about other work, and what of it is too much."""
    busy = list(before.busy)
    if others_during is not None and others_during > BUSY_SHARE * before.cores:
        busy.append(
            f"During the run other programs used {others_during:.1f} of {_cores(before.cores)}."
        )
    if drift is not None and abs(drift) > BUSY_DRIFT:
        word = "faster" if drift > 0 else "slower"
        busy.append(
            f"Plain decoding was {abs(drift):.0%} {word} in the last third of the run than in "
            f"the first."
        )
    return Quietness(
        cores=before.cores,
        load_average=before.load_average,
        others_before=before.others,
        others_during=others_during,
        drift=drift,
        busy=tuple(busy),
    )


def _cores(count: int) -> str:
    return f"{count} core" if count == 1 else f"{count} cores"


def _load_average() -> float | None:
    try:
        return psutil.getloadavg()[0]
    except OSError:
        return None


def _busy_seconds() -> float:
    """Processor time that went into work, all cores together, since the system started."""
    times = psutil.cpu_times()
    # Time of guests is part of the user time already.
    return sum(getattr(times, name, 0.0) for name in ("user", "nice", "system", "irq", "softirq"))
