"""What the system tells of this machine, without llama.cpp."""

import platform
import sys
from pathlib import Path

import psutil

from specchat.pairing.machine import Device, Machine


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


def processor() -> str:
    """The processor's name, as the system tells it."""
    if sys.platform == "linux":
        try:
            lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        for line in lines:
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Hardware") and value.strip():
                return value.strip()
    return platform.processor() or platform.machine() or "unknown"
