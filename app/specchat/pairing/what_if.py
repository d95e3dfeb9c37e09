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
PROGRAMS = 3 * GIB
"""What the system and a browser keep of main memory; at most half of it."""
METAL_SHARE = ((36, 2 / 3),)
METAL_LARGE = 3 / 4
"""Of unified memory, what macOS lets a GPU have: two thirds up to 36 GB, three quarters above."""
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
    free = ram_bytes - min(PROGRAMS, ram_bytes // 2)
    if ram is None:
        free = here.free_ram_bytes
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
    shares = [share for limit, share in METAL_SHARE if ram_bytes <= limit * GIB]
    limit = round(ram_bytes * (shares[0] if shares else METAL_LARGE))
    return Device(
        name="MTL0",
        description="Apple GPU",
        kind="gpu",
        total_bytes=limit,
        free_bytes=min(limit, ram_bytes - min(PROGRAMS, ram_bytes // 2)),
    )


def _cpu(total_bytes: int, free_bytes: int) -> Device:
    return Device(
        name="CPU",
        description="CPU",
        kind="cpu",
        total_bytes=total_bytes,
        free_bytes=free_bytes,
    )
