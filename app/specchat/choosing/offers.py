"""What a first run offers: the machine, and the pairs that would suit it."""

import msgspec

from specchat.hub.inventory import FoundModel
from specchat.pairing.machine import Machine
from specchat.pairing.planned import PlannedPair


class Offers(msgspec.Struct, frozen=True, kw_only=True):
    """What a person can choose from."""

    machine: Machine
    best: tuple[PlannedPair, ...]
    """The best pairs that fit, of different models, with their plans."""
    built_in: PlannedPair | None
    """The model that is here already."""
    here: tuple[FoundModel, ...]
    """Other models on this disk that can answer, those of other programs among them."""


def find_offers(count: int = 3) -> Offers:
    """Look at the machine and the disk; takes a second, so a screen calls it in a thread.

    Raises:
        LibraryProblem, EngineCrashed: llama.cpp cannot be asked for devices.
        InvalidCatalog: the person's own catalog does not read.
    """
    raise NotImplementedError
