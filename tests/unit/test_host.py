"""What the system tells of the machine."""

from typing import NamedTuple

import psutil
import pytest

from specchat.host import (
    conditions,
    machine_with,
    on_battery,
    processor,
    processor_flags,
    temperature_c,
)
from specchat.pairing.machine import Conditions


class Battery(NamedTuple):
    """What psutil tells of one."""

    percent: float
    secsleft: int
    power_plugged: bool | None


class Reading(NamedTuple):
    """What psutil tells of one sensor."""

    current: float | None


Chips = dict[str, list[Reading]]


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


@pytest.mark.parametrize(
    ("chips", "expected"),
    [
        ({}, None),
        ({"coretemp": [Reading(61.0), Reading(74.0)], "nvme": [Reading(90.0)]}, 74.0),
        ({"k10temp": [Reading(55.0)], "amdgpu": [Reading(82.0)]}, 82.0),
        ({"cpu_thermal": [Reading(48.5)], "acpitz": [Reading(70.0)]}, 48.5),
        ({"acpitz": [Reading(40.0)], "iwlwifi_1": [Reading(66.0)]}, 40.0),
        ({"iwlwifi_1": [Reading(66.0)], "BAT0": [Reading(35.0)]}, None),
        ({"coretemp": [Reading(None), Reading(0.0), Reading(-273.0), Reading(255.0)]}, None),
    ],
)
def test_the_hottest_chip_that_computes_tells_the_temperature(
    chips: Chips, expected: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "sensors_temperatures", lambda: chips, raising=False)
    assert temperature_c() == expected


def test_sensors_that_cannot_be_read_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Chips:
        raise OSError("the device is gone")

    monkeypatch.setattr(psutil, "sensors_temperatures", broken, raising=False)
    assert temperature_c() is None


def test_a_system_without_these_questions_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(psutil, "sensors_temperatures", raising=False)
    monkeypatch.delattr(psutil, "sensors_battery", raising=False)
    assert conditions() == Conditions()
    assert not conditions().are_known


def test_the_machine_has_a_processor_memory_and_cores() -> None:
    machine = machine_with(())
    assert machine.processor == processor() != ""
    assert 0 < machine.free_ram_bytes <= machine.ram_bytes
    assert 0 <= machine.used_swap_bytes <= machine.swap_bytes
    assert 1 <= machine.physical_cores <= machine.logical_cores
    assert all(flag == flag.lower() for flag in processor_flags())
