"""Machines for the planner's tests: by what a person would type."""

from collections.abc import Sequence

from specchat.pairing.catalog import Backend
from specchat.pairing.machine import Machine
from specchat.pairing.what_if import described_machine

NOWHERE = Machine(devices=(), ram_bytes=0, free_ram_bytes=0)


def what_if(
    device: Backend, ram: str, vram: Sequence[str] = (), physical_cores: int | None = None
) -> Machine:
    """The machine of these options."""
    from msgspec.structs import replace

    machine = described_machine(NOWHERE, vram, ram, device)
    return machine if physical_cores is None else replace(machine, physical_cores=physical_cores)


CARD_8 = what_if("cuda", "32GiB", ["8GiB"])
CARD_24 = what_if("cuda", "64GiB", ["24GiB"])
LAPTOP = what_if("cpu", "32GiB")
MAC = what_if("metal", "64GiB")
