"""When a machine counts as busy, and what is told of it."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from specchat import neighbours
from specchat.bench.machine import Before, machine_facts, quietness
from specchat.neighbours import Watch
from support.processes import Process


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> Before:
    """A moment on a machine of 4 cores that does nothing."""
    before = Before(sample_s=0)
    before.cores, before.load_average, before.others = 4, 0.2, 0.0
    return before


def test_a_quiet_machine_is_quiet(quiet: Before) -> None:
    found = quietness(quiet, 0.3, 0.08)

    assert found.busy == ()
    assert (found.cores, found.load_average, found.drift) == (4, 0.2, 0.08)


def test_a_load_that_somebody_is_at_counts(quiet: Before) -> None:
    quiet.load_average, quiet.others = 2.5, 1.5

    assert quiet.busy == (
        "Before the run the load average was 2.5 on 4 cores, and other programs used 1.5 of them.",
    )
    assert quietness(quiet, None, None).busy == quiet.busy


def test_a_load_that_has_just_ended_does_not_count(quiet: Before) -> None:
    quiet.load_average, quiet.others = 3.9, 0.1

    assert quiet.busy == ()


def test_a_load_counts_where_nothing_is_known_about_processes(quiet: Before) -> None:
    quiet.load_average, quiet.others = 3.9, None

    assert quiet.busy == ("Before the run the load average was 3.9 on 4 cores.",)


def test_work_of_others_during_the_run_counts(quiet: Before) -> None:
    quiet.cores = 1

    assert quietness(quiet, 0.5, None).busy == (
        "During the run other programs used 0.5 of 1 core.",
    )


@pytest.mark.parametrize(
    ("drift", "words"), [(0.12, "12% faster"), (-0.25, "25% slower"), (-0.1, None), (None, None)]
)
def test_a_plain_rate_that_drifts_over_ten_per_cent_counts(
    quiet: Before, drift: float | None, words: str | None
) -> None:
    busy = quietness(quiet, 0.0, drift).busy

    assert len(busy) == (words is not None)
    if words is not None:
        assert words in busy[0]


@pytest.fixture
def worker() -> Iterator[int]:
    """Another process that works without a pause."""
    with Process([sys.executable, "-c", "while True: pass"]) as process:
        yield process.pid


def test_the_time_of_our_own_processes_is_not_that_of_others(
    worker: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's clock stands for this test: it counts the worker and nothing else."""

    def busy_seconds() -> float:
        processes = [psutil.Process(pid).cpu_times() for pid in (worker, os.getpid())]
        return sum(times.user + times.system for times in processes)

    monkeypatch.setattr(neighbours, "_busy_seconds", busy_seconds)
    without, including = Watch(), Watch([worker])
    deadline = time.monotonic() + 10
    while (others := without.others() or 0.0) < 0.2 and time.monotonic() < deadline:
        time.sleep(0.05)

    assert others >= 0.2
    assert including.others() == pytest.approx(0.0, abs=0.1)


def test_a_system_that_counts_nothing_is_not_taken_for_a_quiet_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(neighbours, "_busy_seconds", lambda: 0.0)
    watch = Watch()
    monkeypatch.setattr(watch, "_our_seconds", lambda: 1e9)

    assert watch.others() is None


def test_the_facts_name_the_processor_and_nobody() -> None:
    facts = machine_facts()
    told = msgspec.json.encode(facts).decode()

    assert facts.processor
    assert facts.memory_bytes > 2**20
    for private in (os.uname().nodename, str(Path.home())):
        assert private not in told
