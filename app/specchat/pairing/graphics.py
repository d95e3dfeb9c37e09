"""The GPUs that a machine has, seen by the system's own means, whatever llama.cpp can use."""

import os
import re
import shlex
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

Maker = Literal["nvidia", "amd", "apple", "intel"]

PCI_MAKERS: dict[str, Maker] = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
PCI_DISPLAY = "0x03"
"""The class of display controllers."""
MAKER_NAMES: dict[Maker, str] = {
    "nvidia": "NVIDIA",
    "amd": "AMD",
    "apple": "Apple",
    "intel": "Intel",
}
INTEGRATED_BYTES = 2 * 2**30
"""An AMD GPU with less memory of its own is part of a processor."""
COMMAND_LIMIT_S = 10.0
"""How long a tool may take; nvidia-smi wakes the card first."""


class Graphics(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU."""

    maker: Maker
    name: str
    memory_bytes: int | None = None
    """Of its own; None where it has none or nobody tells."""
    integrated: bool = False
    """Part of the processor, with the machine's memory."""
    driver: str | None = None
    """Version of NVIDIA's driver; None where it does not answer."""
    cuda: tuple[int, int] | None = None
    """The newest CUDA that the driver runs."""
    compute_capability: tuple[int, int] | None = None


def find_graphics(root: Path = Path("/")) -> tuple[Graphics, ...]:
    """The GPUs of this machine, the most promising first.

    Args:
        root: the folder that holds `sys`. Tools are looked for on PATH.
    """
    nvidia, others = _by_nvidia_smi(), _by_sysfs(root)
    if nvidia:
        others = [graphics for graphics in others if graphics.maker != "nvidia"]
    order = list(MAKER_NAMES)
    return tuple(
        sorted(
            [*nvidia, *others, *_by_system_profiler()],
            key=lambda graphics: (graphics.integrated, order.index(graphics.maker)),
        )
    )


def _by_nvidia_smi() -> list[Graphics]:
    """NVIDIA's GPUs, when their driver runs."""
    heading = _output("nvidia-smi")
    if heading is None:
        return []
    version = re.search(r"CUDA(?: \w+)? Version *: *(\d+)\.(\d+)", heading)
    fields = ["name", "memory.total", "driver_version", "compute_cap"]
    table = None
    while table is None and len(fields) > 2:  # an old driver does not know the last one
        table = _output(
            "nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"
        )
        fields.pop()
    found = []
    for line in (table or "").splitlines():
        name, memory, driver, capability, *_ = [*map(str.strip, line.split(",")), "", "", ""]
        found.append(
            Graphics(
                maker="nvidia",
                name=name,
                memory_bytes=int(memory) * 2**20 if memory.isdecimal() else None,
                driver=driver or None,
                cuda=(int(version[1]), int(version[2])) if version else None,
                compute_capability=_two_numbers(capability),
            )
        )
    return found


def _by_sysfs(root: Path) -> list[Graphics]:
    """What hangs on the PCI bus, on Linux; named by lspci where that is installed."""
    names = _lspci_names()
    found = []
    for device in sorted((root / "sys/bus/pci/devices").glob("*")):
        maker = PCI_MAKERS.get(_first_line(device / "vendor"))
        if maker is None or not _first_line(device / "class").startswith(PCI_DISPLAY):
            continue
        number = _first_line(device / "device").removeprefix("0x")
        memory = _first_line(device / "mem_info_vram_total")
        memory_bytes = int(memory) if memory.isdecimal() else None
        found.append(
            Graphics(
                maker=maker,
                name=f"{MAKER_NAMES[maker]} {names.get(device.name, f'GPU {number}')}",
                memory_bytes=memory_bytes,
                integrated=_is_integrated(maker, device.name, memory_bytes),
            )
        )
    return found


def _is_integrated(maker: Maker, slot: str, memory_bytes: int | None) -> bool:
    if maker == "intel":  # always on this place of the first bus
        return slot.endswith("00:02.0")
    return maker == "amd" and memory_bytes is not None and memory_bytes < INTEGRATED_BYTES


def _lspci_names() -> dict[str, str]:
    """Names by slot, in lspci's brackets when there are some: the card's rather than the chip's."""
    names = {}
    for line in (_output("lspci", "-D", "-mm") or "").splitlines():
        with suppress(ValueError):  # a quote in a name
            slot, _class, _maker, name, *_ = [*shlex.split(line), "", "", ""]
            bracketed = re.search(r"\[(.+)\]", name)
            names[slot] = bracketed[1] if bracketed else name
    return names


class _AppleCard(msgspec.Struct):
    sppci_model: str = ""


class _AppleDisplays(msgspec.Struct, rename={"cards": "SPDisplaysDataType"}):
    cards: list[_AppleCard] = []


def _by_system_profiler() -> list[Graphics]:
    """Apple's GPUs."""
    output = _output("system_profiler", "SPDisplaysDataType", "-json")
    try:
        shown = msgspec.json.decode(output or "{}", type=_AppleDisplays)
    except msgspec.DecodeError:
        return []
    return [
        Graphics(maker="apple", name=card.sppci_model, integrated=True)
        for card in shown.cards
        if card.sppci_model.startswith("Apple")
    ]


def _output(name: str, *arguments: str) -> str | None:
    """What a tool prints; None where it is missing, fails or takes too long."""
    path = shutil.which(name)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_LIMIT_S,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def _first_line(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _two_numbers(text: str) -> tuple[int, int] | None:
    """`8.9` as (8, 9)."""
    match = re.fullmatch(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None
