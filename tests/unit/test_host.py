"""What the system tells of the machine."""

from typing import NamedTuple

import psutil
import pytest

from specchat.host import machine_with, on_battery, processor, processor_flags


class Battery(NamedTuple):
    """What psutil tells of one."""

    percent: float
    secsleft: int
    power_plugged: bool | None


@pytest.mark.parametrize(
    ("battery", "expected"),
    [
        (None, None),
        (Battery(80.0, 7200, power_plugged=False), True),
        (Battery(80.0, psutil.POWER_TIME_UNLIMITED, power_plugged=True), False),
        (Battery(80.0, psutil.POWER_TIME_UNKNOWN, power_plugged=None), None),
    ],
)
def test_the_battery_is_in_use_or_not_or_there_is_none(
    battery: Battery | None, expected: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    assert on_battery() is expected


def test_a_system_without_that_question_has_no_battery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(psutil, "sensors_battery", raising=False)
    assert on_battery() is None


def test_the_machine_has_a_processor_memory_and_cores() -> None:
    machine = machine_with(())
    assert machine.processor == processor() != ""
    assert 0 < machine.free_ram_bytes <= machine.ram_bytes
    assert 0 <= machine.used_swap_bytes <= machine.swap_bytes
    assert 1 <= machine.physical_cores <= machine.logical_cores
    assert all(flag == flag.lower() for flag in processor_flags())
