"""`specchat pairs`: the catalog's pairs as they would run on a machine, the best first."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specchat.pairing.catalog import Backend
    from specchat.pairing.machine import Machine
    from specchat.pairing.planned import PlannedPair
    from specchat.pairing.speed import Speed

SHOWN = 6
"""Pairs of the table; `--all` shows the rest."""
NARROWEST, WIDEST = 60, 120
DRAFT_NAMES = {"none": "none", "ngram": "n-grams", "mtp": "MTP head", "eagle3": "EAGLE-3"}
SOURCES = {"estimated": "estimate", "reported": "estimate, reports", "measured": "measured here"}


def pairs(
    vram: tuple[str, ...],
    ram: str | None,
    device: Backend | None,
    show_all: bool,
    as_json: bool,
) -> int:
    """Print the pairs for this machine, or for one described by the options.

    Returns:
        The exit code.

    Raises:
        InvalidSetting: the options describe no machine.
        InvalidCatalog: the person's own catalog does not read.
    """
    from specchat.pairing.catalog import read_all
    from specchat.pairing.planner import rank_pairs
    from specchat.pairing.what_if import described_machine

    machine = this_machine()
    if vram or ram or device:
        machine = described_machine(machine, vram, ram, device)
    ranked = rank_pairs(read_all(), machine)
    if as_json:
        print(_json(machine, [pair for pair in ranked if show_all or pair.fits]))
    else:
        for line in table(machine, ranked, show_all=show_all, width=_width()):
            print(line)
    return 0


def this_machine() -> Machine:
    """Main memory and cores; devices other than the CPU are the engine's to find."""
    import psutil

    from specchat.pairing.machine import Device, Machine

    memory = psutil.virtual_memory()
    return Machine(
        devices=(
            Device(
                name="CPU",
                description="CPU",
                kind="cpu",
                total_bytes=memory.total,
                free_bytes=memory.available,
            ),
        ),
        ram_bytes=memory.total,
        free_ram_bytes=memory.available,
        swap_bytes=psutil.swap_memory().total,
        physical_cores=psutil.cpu_count(logical=False) or 1,
    )


def table(
    machine: Machine, ranked: Sequence[PlannedPair], *, show_all: bool, width: int
) -> Iterator[str]:
    """The lines of the table: without `show_all`, the best pair of each of the best models."""
    from specchat.pairing.planner import best_of_each_model

    fitting = [pair for pair in ranked if pair.fits]
    shown = list(ranked) if show_all else list(best_of_each_model(fitting)[:SHOWN])
    yield from textwrap.wrap(machine_line(machine), width)
    yield ""
    if not shown:
        yield "No pair of the catalog fits. With --all you see what each of them lacks."
        return
    for number, pair in enumerate(shown, start=1):
        yield from _entry(number, pair, width)
        yield ""
    yield from textwrap.wrap(_rest(ranked, fitting, shown), width)


def machine_line(machine: Machine) -> str:
    """The machine in a sentence."""
    from specchat.pairing.sizes import gib

    parts = [
        f"{device.description} ({gib(device.free_bytes)} of {gib(device.total_bytes)} GiB free)"
        for device in machine.devices
        if device.kind != "cpu"
    ]
    cores = f"{machine.physical_cores} cores" if machine.physical_cores != 1 else "1 core"
    memory = f"{gib(machine.free_ram_bytes)} of {gib(machine.ram_bytes)} GiB of main memory free"
    return "This machine: " + ", ".join([*parts, cores, memory]) + "."


def _entry(number: int, pair: PlannedPair, width: int) -> Iterator[str]:
    """One pair: its figures in columns, its memory, and why it is here."""
