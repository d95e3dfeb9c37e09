"""What the system tells of this machine, without llama.cpp."""

import platform
import sys
from pathlib import Path

import psutil

from specchat.pairing.machine import Conditions, Device, Machine

COMPUTING = (
    "coretemp", "k10temp", "zenpower", "x86_pkg_temp", "cpu", "soc",
    "amdgpu", "radeon", "nouveau", "i915", "xe", "gpu",
)  # fmt: skip
"""How the sensors of processors and graphics are called by Linux; the others are those of disks,
radio and batteries."""
BOARD = ("acpitz",)
"""Where there are none of them."""
POSSIBLE_C = (1.0, 150.0)
"""Sensors that are not connected tell zero, or what no chip survives."""


def machine_with(devices: tuple[Device, ...]) -> Machine:
    """This machine, now, with these devices to compute on."""
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    logical = psutil.cpu_count() or 1
    return Machine(
        devices=devices,
        ram_bytes=memory.total,
        free_ram_bytes=memory.available,
        swap_bytes=swap.total,
        used_swap_bytes=swap.used,
        unified_memory=sys.platform == "darwin" and platform.machine() == "arm64",
        processor=processor(),
        physical_cores=psutil.cpu_count(logical=False) or logical,
        logical_cores=logical,
        on_battery=on_battery(),
    )


def on_battery() -> bool | None:
    """Whether the machine lives on its battery; None where there is none, or nobody knows."""
    sensors = getattr(psutil, "sensors_battery", None)  # not on every system
    battery = sensors() if sensors is not None else None
    if battery is None or battery.power_plugged is None:
        return None
    return not battery.power_plugged


def conditions() -> Conditions:
    """What the system tells of temperature and power. It may take a moment."""
    return Conditions(temperature_c=temperature_c(), on_battery=on_battery())


def temperature_c() -> float | None:
    """The hottest sensor of processor and graphics, in degrees Celsius; None where nobody tells."""
    sensors = getattr(psutil, "sensors_temperatures", None)  # not on every system
    try:
        chips = sensors() if sensors is not None else {}
    except OSError:
        return None
    low, high = POSSIBLE_C
    for names in (COMPUTING, BOARD):
        told = [
            reading.current
            for chip, readings in chips.items()
            if chip.lower().startswith(names)
            for reading in readings
            if reading.current is not None and low <= reading.current <= high
        ]
        if told:
            return float(max(told))
    return None


def processor() -> str:
    """The processor's name, as the system tells it."""
    return (
        _cpuinfo("model name")
        or _cpuinfo("Hardware")
        or platform.processor()
        or platform.machine()
        or "unknown"
    )


def processor_flags() -> frozenset[str]:
    """The processor's abilities by Linux' names, such as `avx2`; empty where nobody tells."""
    return frozenset((_cpuinfo("flags") or _cpuinfo("Features")).split())


def _cpuinfo(name: str) -> str:
    """A field of the first processor that has it."""
    if sys.platform != "linux":
        return ""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == name and value.strip():
            return value.strip()
    return ""
