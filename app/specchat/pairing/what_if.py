"""A machine that a person asks about: sizes in, the same data out as for one that is here."""

from collections.abc import Sequence

from specchat.errors import InvalidSetting
from specchat.pairing.catalog import Backend
from specchat.pairing.machine import Device, Machine
from specchat.pairing.sizes import GIB, parse_size

NAMES: dict[Backend, tuple[str, str]] = {
    "cuda": ("CUDA", "NVIDIA card"),
    "rocm": ("ROCm", "AMD card"),
    "vulkan": ("Vulkan", "card"),
}
DESKTOP = GIB // 2
"""What a desktop keeps of a card."""
PROGRAMS_SHARE, LEAST_PROGRAMS, MOST_PROGRAMS = 0.4, 2 * GIB, 6 * GIB
"""What the system and a browser keep of main memory, at most half of it."""
METAL_SMALL, METAL_LARGE, SMALL = 2 / 3, 3 / 4, 36 * GIB
"""The part of unified memory that macOS lets a GPU have: the smaller one up to 36 GB."""
CORES = 8


def described_machine(
    here: Machine, vram: Sequence[str], ram: str | None, device: Backend | None
) -> Machine:
    """The machine of `--vram`, `--ram` and `--device`; what they do not say is taken from here.

    Raises:
        InvalidSetting: a size that is none, or options that do not go together.
    """
    cards = [parse_size(size, "--vram") for size in vram]
    ram_bytes = here.ram_bytes if ram is None else parse_size(ram, "--ram")
    if device in ("cpu", "metal") and cards:
        raise InvalidSetting(
            f"Tried to describe a machine with --device {device} and --vram.",
            "It has no memory of its own: it shares main memory.",
            "Leave out --vram and give --ram.",
        )
    if device in NAMES and not cards:
        raise InvalidSetting(
            f"Tried to describe a machine with --device {device}.",
            "It has a graphics card of unknown memory.",
            "Say how much with --vram 8GiB.",
        )
    free = here.free_ram_bytes if ram is None else _free_ram(ram_bytes)
    return Machine(
        devices=(*_devices(here, cards, device, ram_bytes), _cpu(ram_bytes, free)),
        ram_bytes=ram_bytes,
        free_ram_bytes=free,
        swap_bytes=0,
        unified_memory=device == "metal" or (device is None and here.unified_memory),
        physical_cores=here.physical_cores if device is None and not cards else CORES,
    )


def _devices(
    here: Machine, cards: Sequence[int], device: Backend | None, ram_bytes: int
) -> tuple[Device, ...]:
    if device == "metal":
        return (_metal(ram_bytes),)
    if cards:
        name, words = NAMES[device or "cuda"]
        return tuple(
            Device(
                name=f"{name}{number}",
                description=f"{words} of {size / GIB:g} GiB",
                kind="gpu",
                total_bytes=size,
                free_bytes=size - min(DESKTOP, size // 2),
            )
            for number, size in enumerate(cards)
        )
    if device == "cpu":
        return ()
    return tuple(device for device in here.devices if device.kind != "cpu")


def _metal(ram_bytes: int) -> Device:
    limit = round(ram_bytes * (METAL_SMALL if ram_bytes <= SMALL else METAL_LARGE))
    return Device(
        name="MTL0",
        description="Apple GPU",
        kind="gpu",
        total_bytes=limit,
        free_bytes=min(limit, _free_ram(ram_bytes)),
    )


def _cpu(total_bytes: int, free_bytes: int) -> Device:
    return Device(
        name="CPU",
        description="CPU",
        kind="cpu",
        total_bytes=total_bytes,
        free_bytes=free_bytes,
    )


def _free_ram(ram_bytes: int) -> int:
    programs = min(MOST_PROGRAMS, max(LEAST_PROGRAMS, round(ram_bytes * PROGRAMS_SHARE)))
    return ram_bytes - min(programs, ram_bytes // 2)
