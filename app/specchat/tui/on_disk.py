"""What this disk has beside the catalog: pairs with verdicts, single models, and their plans."""

from collections.abc import Mapping
from typing import NamedTuple

from specchat.choosing.disk import shelves_here
from specchat.choosing.heads import heads_of
from specchat.choosing.sidecars import sidecar_of
from specchat.hub.inventory import FoundModel, take_inventory
from specchat.hub.made_pairs import MadePair, made_pairs
from specchat.pairing.drafter_type import DraftKind
from specchat.pairing.drafting import TargetFacts, losing
from specchat.pairing.gguf_file import GgufFile
from specchat.pairing.head_shape import shape_of_draft
from specchat.pairing.machine import Machine
from specchat.pairing.memory import MemoryPlan, Wishes, plan_memory
from specchat.pairing.shape_header import shape_from_header

Headers = Mapping[str, GgufFile]
"""By path."""


class Alone(NamedTuple):
    """A model for which no draft is named: what drafts for it, as when it is loaded."""

    plan: MemoryPlan
    heads: DraftKind | None = None
    """Of what kind the heads are that draft; None: n-grams do."""
    beside: str | None = None
    """The file that the heads are in; None: the target's own."""
    reasons: tuple[str, ...] = ()
    """Why heads that are here are left out."""


class OnDisk(NamedTuple):
    """Models of any program on this machine."""

    models: tuple[FoundModel, ...]
    """Those that can answer; the built-in one is not among them."""
    pairs: tuple[MadePair, ...]
    """With their verdicts, those that suit first."""
    alone: dict[str, Alone]
    """The models by themselves, by path."""
    plans: dict[tuple[str, str], MemoryPlan]
    """Of pairs that can be loaded, by the paths of target and draft."""


def look_at_disk(machine: Machine) -> OnDisk:
    """Read the headers of all models, and plan for those that can be loaded."""
    inventory = take_inventory(shelves_here())
    models = tuple(
        model for model in inventory.models if model.kind == "model" and model.owner != "built_in"
    )
    pairs, headers = made_pairs(inventory), inventory.headers
    return OnDisk(
        models,
        pairs,
        {model.path: _alone(machine, headers[model.path]) for model in models},
        {
            (pair.target_path, pair.draft_path): _together(machine, pair, headers)
            for pair in pairs
            if pair.verdict.usable
        },
    )


def _together(machine: Machine, pair: MadePair, headers: Headers) -> MemoryPlan:
    target = shape_from_header(headers[pair.target_path])
    return plan_memory(machine, target, shape_of_draft(headers[pair.draft_path]), Wishes())


def _alone(machine: Machine, target: GgufFile) -> Alone:
    """What is loaded where only the target is named (choosing/placing.py)."""
    heads = heads_of(target, lambda: sidecar_of(target))
    reasons: tuple[str, ...] = ()
    if heads is not None:
        reasons = tuple(losing(heads.kind, TargetFacts.of_file(target), machine))[:1]
    drafts = None if heads is None or reasons else heads
    shape = None if drafts is None else drafts.shape
    return Alone(
        plan_memory(machine, shape_from_header(target), shape, Wishes()),
        None if drafts is None else drafts.kind,
        None if drafts is None or drafts.file is None else drafts.file.path,
        reasons,
    )
