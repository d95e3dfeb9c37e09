"""Which pair suits a machine: the best model that fits and is quick enough to read along.

A pair's rank is the quality of its target (`quality`). Below `READING_SPEED` it falls quickly:
half that speed leaves a sixth. Above, and for a context that had to be shortened, it is only
touched: twice the speed or the context is worth 7 % more. `SPREAD` and `UNSURE` say what else.
What does not fit comes last, the least missing first.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from specchat.architectures import SHARES_CELLS
from specchat.pairing.abilities import THIS_VERSION, Abilities
from specchat.pairing.backends import backend_of
from specchat.pairing.catalog import Catalog, CatalogModel, CatalogPair
from specchat.pairing.drafting import HEADS, Drafting, choose_drafting
from specchat.pairing.head_shape import typical_head
from specchat.pairing.machine import Machine
from specchat.pairing.measured import Measured
from specchat.pairing.memory import MemoryPlan, Wishes, plan_memory
from specchat.pairing.planned import (
    OnDisk,
    PlannedPair,
    draft_bytes,
    draft_file,
    file_bytes,
    target_file,
)
from specchat.pairing.quality import quality
from specchat.pairing.shape import ModelShape, shape_from_facts
from specchat.pairing.speed import calibration, expected_speed, plain_estimate

READING_SPEED = 13.0
"""Tokens per second: twice what a person reads, because many models think first."""
LEAST_CTX = 8192
"""To which a context may be shortened: a conversation of some length wants it."""
IMPATIENCE = 2.5
"""The power by which speed below reading counts."""
UNSURE = 0.95
"""What is left of the rank of a pair whose files nobody has seen, or not their size."""
SPREAD = 0.9
"""What is left where layers beside a card are in main memory: prompts become slow, too."""
TOUCH = 0.1
"""The power by which speed above reading, and the context, count."""


class Attempt(msgspec.Struct, frozen=True):
    """A pair in this machine's memory, with one choice of where experts go."""

    plan: MemoryPlan
    experts_in_ram: bool
    plain: float
    on_fast_devices: bool
    """All layers, that is."""


def rank_pairs(
    catalog: Catalog,
    machine: Machine,
    measured: Iterable[Measured] = (),
    on_disk: OnDisk = frozenset(),
    abilities: Abilities = THIS_VERSION,
) -> tuple[PlannedPair, ...]:
    """All pairs of the catalog as they would run on this machine, the best first.

    Args:
        measured: what this machine has shown; it outranks the catalog.
        on_disk: files that need no download.
    """
    shown = {each.pair: each for each in measured}
    draftings = {
        pair.name: choose_drafting(
            pair, catalog.target(pair), machine, shown.get(pair.name), abilities
        )
        for pair in catalog.pairs.values()
    }
    attempts = {
        pair.name: _best_attempt(catalog, pair, draftings[pair.name], machine, abilities)
        for pair in catalog.pairs.values()
    }
    faster = calibration(shown.values(), {name: each.plain for name, each in attempts.items()})
    planned = [
        _planned(
            catalog,
            pair,
            draftings[pair.name],
            replace(attempts[pair.name], plain=attempts[pair.name].plain * faster),
            machine,
            shown.get(pair.name),
            on_disk,
        )
        for pair in catalog.pairs.values()
    ]
    planned.sort(key=_order)
    return tuple(replace(pair, why=_why(pair, planned)) for pair in planned)


def best_of_each_model(pairs: Iterable[PlannedPair]) -> tuple[PlannedPair, ...]:
    """The first pair of every target model: its best quantisation and draft here."""
    best: dict[str, PlannedPair] = {}
    for pair in pairs:
        best.setdefault(pair.target.title, pair)
    return tuple(best.values())


def rank(pair: PlannedPair) -> float:
    """The number by which pairs are ordered; see the head of this module."""
    if pair.speed is None:
        return 0.0
    value = pair.quality * _comfort(pair.speed.lowest, pair.plan.n_ctx / pair.n_ctx_wished)
    if pair.confidence == "unverified" or not pair.target.size_known:
        value *= UNSURE
    if pair.layers_moved:
        value *= SPREAD
    return value


def _comfort(speed: float, context: float) -> float:
    """What speed and context leave of a rank.

    Args:
        speed: tokens per second.
        context: as a share of what was wished for.
    """
    pace = speed / READING_SPEED
    return float(pace ** (IMPATIENCE if pace < 1 else TOUCH) * min(1.0, context) ** TOUCH)


def _order(pair: PlannedPair) -> tuple[int, float, str]:
    return pair.missing_bytes, -rank(pair), pair.name


def _best_attempt(
    catalog: Catalog,
    pair: CatalogPair,
    drafting: Drafting,
    machine: Machine,
    abilities: Abilities,
) -> Attempt:
    """The pair by the catalog's facts."""
    model, draft_model = catalog.target(pair), catalog.draft(pair)
    target = _shape(model, file_bytes(pair.target.size_gb, pair.target.quant, model))
    draft = None
    if drafting.drafter == "model" and draft_model is not None:
        draft = _shape(draft_model, draft_bytes(catalog, pair))
    elif drafting.drafter in HEADS:
        shares = pair.draft.type == "mtp" and model.architecture in SHARES_CELLS.values()
        draft = typical_head(target, pair.draft.type, draft_bytes(catalog, pair), caches=not shares)
    wishes = pair_wishes(pair, machine, abilities)
    return quicker_attempt(machine, model, (target, draft), wishes, abilities)


def pair_wishes(pair: CatalogPair, machine: Machine, abilities: Abilities = THIS_VERSION) -> Wishes:
    """What the catalog suggests for a pair, as far as it can be had here."""
    # Metal is slow with a quantised cache.
    quantised = backend_of(machine) != "metal" and pair.cache_type in abilities.cache_types
    return Wishes(
        n_ctx=pair.n_ctx,
        shortest_n_ctx=min(pair.n_ctx, LEAST_CTX),
        cache_type=pair.cache_type if quantised else "f16",
    )


def quicker_attempt(
    machine: Machine,
    model: CatalogModel,
    shapes: tuple[ModelShape, ModelShape | None],
    wishes: Wishes,
    abilities: Abilities = THIS_VERSION,
) -> Attempt:
    """The quicker plan that fits: experts of a mixture where they fall, or all in main memory.

    Args:
        model: the target's facts.
        shapes: of the target and of its draft.
    """
    target, draft = shapes

    def attempt(experts_in_ram: bool) -> Attempt:
        plan = plan_memory(machine, target, draft, replace(wishes, experts_in_ram=experts_in_ram))
        plain = plain_estimate(plan, target, model, machine, experts_in_ram=experts_in_ram)
        everything = plan.n_gpu_layers > len(target.layers) and not experts_in_ram
        return Attempt(plan, experts_in_ram, plain, everything)

    if wishes.experts_in_ram:
        return attempt(experts_in_ram=True)
    whole = attempt(experts_in_ram=False)
    card = backend_of(machine) not in ("cpu", "metal")
    if whole.on_fast_devices or not (card and model.mixture and abilities.experts_in_ram):
        return whole
    wished = wishes.n_ctx or whole.plan.n_ctx
    return max(
        whole,
        attempt(experts_in_ram=True),
        key=lambda each: (each.plan.fits, _comfort(each.plain, each.plan.n_ctx / wished)),
    )


def _shape(model: CatalogModel, size_bytes: int) -> ModelShape:
    return shape_from_facts(
        name=model.title,
        architecture=model.architecture,
        size_bytes=size_bytes,
        n_layer=model.n_layer or 0,
        n_head_kv=model.n_head_kv or 0,
        head_dim=model.head_dim or 0,
        n_embd=model.n_embd,
        n_vocab=model.n_vocab or 0,
        n_ctx_train=model.n_ctx_train or 0,
        kv_bytes_per_1024=model.kv_bytes_per_1024,
        params_b=model.params_b,
        active_b=model.active_b if model.mixture else None,
    )


def _planned(
    catalog: Catalog,
    pair: CatalogPair,
    drafting: Drafting,
    attempt: Attempt,
    machine: Machine,
    measured: Measured | None,
    on_disk: OnDisk,
) -> PlannedPair:
    plan = attempt.plan
    spills = backend_of(machine) != "cpu" and not attempt.on_fast_devices
    model, draft_model = catalog.target(pair), catalog.draft(pair)
    uses_file = drafting.drafter not in ("ngram", "none")
    if uses_file and not plan.with_draft:
        drafting, uses_file = Drafting(drafter="ngram", reasons=("n-grams guess instead.",)), False
    return PlannedPair(
        name=pair.name,
        title=catalog.title(pair),
        licence=_licence(model, draft_model if uses_file else None),
        use=pair.use,
        target=target_file(catalog, pair, on_disk),
        draft=draft_file(catalog, pair, on_disk) if uses_file else None,
        drafter=drafting.drafter,
        catalog_drafter=pair.draft.type,
        draft_length=drafting.length,
        confidence=pair.confidence,
        n_ctx_wished=pair.n_ctx,
        layers_moved=spills,
        fits=plan.fits,
        missing_bytes=0 if plan.fits else missing(plan),
        experts_in_ram=attempt.experts_in_ram,
        plan=plan,
        quality=quality(model, pair.target.quant),
        speed=expected_speed(
            _with_all_evidence(catalog, pair),
            drafting,
            machine,
            attempt.plain,
            measured,
            spills=spills,
        )
        if plan.fits
        else None,
        why="",
        verdict=(*plan.steps, *_savings(plan), *drafting.reasons) if plan.fits else plan.steps[-1:],
    )


def _with_all_evidence(catalog: Catalog, pair: CatalogPair) -> CatalogPair:
    """What is reported of a model and a kind of draft holds for other files of the model too."""
    alike = [
        each
        for each in catalog.pairs.values()
        if (each.target.model, each.draft.type) == (pair.target.model, pair.draft.type)
    ]
    return replace(pair, evidence=tuple(found for each in alike for found in each.evidence))


def _savings(plan: MemoryPlan) -> tuple[str, ...]:
    """What is kept in another way than usual, for its size."""
    experts = "Its experts stay in main memory; the rest is on the card."
    cache = f"Its KV cache is quantised: {plan.cache_type}."
    kept = ((plan.experts_in_ram, experts), (plan.cache_type != "f16", cache))
    return tuple(words for holds, words in kept if holds)


def missing(plan: MemoryPlan) -> int:
    """Bytes that a plan lacks, at least one if it does not fit."""
    over = sum(max(0, share.used_bytes - share.free_bytes) for share in plan.shares)
    return max(1, over)


def _licence(target: CatalogModel, draft: CatalogModel | None) -> str:
    if draft is None or draft.licence == target.licence:
        return target.licence
    return f"{target.licence}; draft: {draft.licence}"


def _why(pair: PlannedPair, ranked: Sequence[PlannedPair]) -> str:
    """One line: what a pair is chosen for, beside the first of the list."""
    best = ranked[0]
    code = "For code. " if pair.use == ("code",) else ""
    if pair.speed is None or best.speed is None:
        return f"{code}It does not fit."
    pace = pair.speed.lowest / READING_SPEED
    if pair is best:
        words = "The best answers that fit" if pace >= 1 else "The best balance of answer and speed"
        return f"{code}{words} here."
    if pair.target.title == best.target.title:
        return f"{code}The same model as the first, from other files."
    if pace < 0.5:
        return f"{code}Slower than one reads."
    ratio = pair.speed.lowest / best.speed.lowest
    better = pair.quality > best.quality
    if ratio >= 1.5:
        return f"{code}{ratio:.1f} times as fast as the first; its answers are simpler."
    return f"{code}Its answers are {'better, and come slower' if better else 'simpler'}."
