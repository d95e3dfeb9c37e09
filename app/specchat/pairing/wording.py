"""A planned pair and its machine in a few words, for the table and for the screen alike."""

from specchat.pairing.machine import Machine
from specchat.pairing.planned import PlannedPair
from specchat.pairing.sizes import gib
from specchat.pairing.speed import Speed


def machine_text(machine: Machine) -> str:
    """The memories and the cores: `NVIDIA L4, 20.9 of 22.0 GiB free; ...; 8 cores`."""
    parts = [
        f"{device.description}, {gib(device.free_bytes)} of {gib(device.total_bytes)} GiB free"
        for device in machine.devices
        if device.kind != "cpu"
    ]
    memory = f"{gib(machine.free_ram_bytes)} of {gib(machine.ram_bytes)} GiB of main memory free"
    cores = "1 core" if machine.physical_cores == 1 else f"{machine.physical_cores} cores"
    return "; ".join([*parts, memory, cores])


def context_text(n_ctx: int) -> str:
    """Tokens in thousands, such as `16k`."""
    return f"{round(n_ctx / 1024)}k"


def download_text(pair: PlannedPair) -> str:
    """What there is to download, or that it is here."""
    if pair.on_disk:
        return "here"
    files = [pair.target, *([pair.draft] if pair.draft else [])]
    size = pair.download_bytes / 1e9
    known = all(file.size_known for file in files)
    return f"{size:.1f} GB" if known else f"~{size:.0f} GB"


def speed_text(speed: Speed | None) -> str:
    """Tokens per second, as a span where reports differ."""
    if speed is None:
        return "-"
    low, high = f"{speed.lowest:.0f}", f"{speed.highest:.0f}"
    return low if low == high else f"{low}-{high}"


def speed_source(speed: Speed | None) -> str:
    """Where the speed is from."""
    if speed is None:
        return ""
    if speed.source == "measured":
        return "speed measured here"
    plain = "measured here" if speed.plain_source == "measured" else "estimated from bandwidth"
    if speed.source == "reported":
        return f"speed: plain {speed.plain:.0f} {plain}, times what others report"
    return f"speed {plain}"
