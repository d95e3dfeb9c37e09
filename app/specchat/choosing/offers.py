"""What a first run offers: the machine, and the pairs that would suit it."""

import msgspec

from specchat.choosing.disk import files_here
from specchat.choosing.machine_now import machine_now
from specchat.choosing.shown import measured_here
from specchat.hub.builtin import BUILT_IN
from specchat.pairing.catalog import read_all
from specchat.pairing.machine import Machine
from specchat.pairing.planned import PlannedPair
from specchat.pairing.planner import best_of_each_model, rank_pairs


class Offers(msgspec.Struct, frozen=True, kw_only=True):
    """What a person can choose from."""

    machine: Machine
    best: tuple[PlannedPair, ...]
    """The best pairs that fit, of different models, with their plans."""
    built_in: PlannedPair | None
    """The model that is here already."""
    catalog: tuple[PlannedPair, ...]
    """All other pairs, the best first; those that do not fit are at the end."""


def find_offers(
    count: int = 3, rpc: tuple[str, ...] = (), machine: Machine | None = None
) -> Offers:
    """Look at the machine and the disk; takes a second, so a screen calls it in a thread.

    Args:
        machine: as it was before anything of ours was loaded; None: the one that it runs on, now.

    Raises:
        LibraryProblem, RpcServerProblem, EngineCrashed: llama.cpp cannot be asked for devices.
        InvalidCatalog: the person's own catalog does not read.
    """
    machine, catalog = machine or machine_now(rpc), read_all()
    ranked = rank_pairs(
        catalog, machine, measured=measured_here(catalog), on_disk=files_here(catalog).keys()
    )
    others = tuple(pair for pair in ranked if pair.name != BUILT_IN)
    fitting = [pair for pair in others if pair.fits]
    return Offers(
        machine=machine,
        best=best_of_each_model(fitting)[:count],
        built_in=next((pair for pair in ranked if pair.name == BUILT_IN), None),
        catalog=others,
    )
