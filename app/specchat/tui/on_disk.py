"""What this disk has beside the catalog: pairs with verdicts, single models, and their plans."""

from typing import NamedTuple

from specchat.choosing.disk import shelves_here
from specchat.errors import SpecchatError
from specchat.hub.inventory import FoundModel, Inventory, take_inventory
from specchat.hub.made_pairs import MadePair, made_pairs
from specchat.pairing.machine import Machine
from specchat.pairing.memory import MemoryPlan, Wishes, plan_memory
from specchat.pairing.shape_header import shape_from_header


class OnDisk(NamedTuple):
    """Models of any program on this machine."""

    models: tuple[FoundModel, ...]
    """Those that can answer; the built-in one is not among them."""
    pairs: tuple[MadePair, ...]
    """With their verdicts, those that suit first."""
    plans: dict[tuple[str, str | None], MemoryPlan]
    """By the paths of target and draft."""


def look_at_disk(machine: Machine) -> OnDisk:
    """Read the headers of all models, and plan for those that can be loaded."""
    inventory = take_inventory(shelves_here())
    models = tuple(
        model for model in inventory.models if model.kind == "model" and model.owner != "built_in"
    )
    pairs = made_pairs(inventory)
    loadable: list[tuple[str, str | None]] = [(model.path, None) for model in models]
    loadable += [(pair.target_path, pair.draft_path) for pair in pairs if pair.verdict.usable]
    plans = {files: _plan(machine, inventory, *files) for files in loadable}
    return OnDisk(models, pairs, {files: plan for files, plan in plans.items() if plan})


def _plan(
    machine: Machine, inventory: Inventory, target: str, draft: str | None
) -> MemoryPlan | None:
    """None: the header does not say enough."""
    try:
        shapes = [shape_from_header(inventory.headers[path]) for path in (target, draft) if path]
    except (SpecchatError, KeyError):
        return None
    return plan_memory(machine, shapes[0], shapes[1] if draft else None, Wishes())
