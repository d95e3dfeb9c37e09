"""Which pair suits a machine: the best model that fits and is quick enough to read along.

A pair's rank is the quality of its target (`quality`), in full down to `READING_SPEED` and less
in proportion below it, and in proportion again where the context had to shrink below `LEAST_CTX`.
What does not fit comes last, the least missing first.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from specchat.pairing.backends import backend_of
from specchat.pairing.catalog import Catalog, CatalogModel, CatalogPair
from specchat.pairing.drafting import Drafting, choose_drafting
from specchat.pairing.machine import Machine
from specchat.pairing.measured import Measured
from specchat.pairing.memory import MemoryPlan, Wishes, plan_memory
from specchat.pairing.planned import (
    OnDisk,
    PlannedPair,
    draft_file,
    file_bytes,
    target_file,
)
from specchat.pairing.quality import quality
from specchat.pairing.shape import ModelShape, shape_from_facts
from specchat.pairing.speed import calibration, expected_speed, plain_estimate

READING_SPEED = 10.0
"""Tokens per second: somewhat more than a person reads, for models that think first."""
LEAST_CTX = 8192
"""Tokens that a conversation of some length wants."""


class _Attempt(msgspec.Struct, frozen=True):
    """A pair in this machine's memory, with one choice of where experts go."""

    plan: MemoryPlan
    experts_in_ram: bool
    plain: float


def rank_pairs(
    catalog: Catalog,
    machine: Machine,
    measured: Iterable[Measured] = (),
    on_disk: OnDisk = frozenset(),
) -> tuple[PlannedPair, ...]:
    """All pairs of the catalog as they would run on this machine, the best first.

    Args:
        measured: what this machine has shown; it outranks the catalog.
        on_disk: files that need no download.
    """
    shown = {each.pair: each for each in measured}
    draftings = {
        pair.name: choose_drafting(pair, catalog.target(pair), machine, shown.get(pair.name))
        for pair in catalog.pairs.values()
    }
    attempts = {
        pair.name: _best_attempt(catalog, pair, draftings[pair.name], machine)
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
    patience = min(1.0, pair.speed.lowest / READING_SPEED)
    return pair.quality * patience * min(1.0, pair.plan.n_ctx / LEAST_CTX)


def _order(pair: PlannedPair) -> tuple[int, float, float, str]:
    speed = 0.0 if pair.speed is None else pair.speed.lowest
    return pair.missing_bytes, -rank(pair), -speed, pair.name


def _best_attempt(
    catalog: Catalog, pair: CatalogPair, drafting: Drafting, machine: Machine
) -> _Attempt:
    """The quicker plan that fits: experts of a mixture where they fall, or all in main memory."""
    model, draft_model = catalog.target(pair), catalog.draft(pair)
    target = _shape(model, file_bytes(pair.target.size_gb, pair.target.quant, model))
    draft = None
    if drafting.drafter == "model" and draft_model is not None:
        quant = pair.draft.quant or pair.target.quant
        draft = _shape(draft_model, file_bytes(pair.draft.size_gb, quant, draft_model))

    def attempt(experts_in_ram: bool) -> _Attempt:
        # Metal is slow with a quantised cache (catalog, qwen3.6-35b-a3b-ngram).
        metal = backend_of(machine) == "metal"
        wishes = Wishes(
            n_ctx=pair.n_ctx,
            cache_type="f16" if metal else pair.cache_type,
            experts_in_ram=experts_in_ram,
        )
        plan = plan_memory(machine, target, draft, wishes)
        plain = plain_estimate(plan, target, model, machine, experts_in_ram=experts_in_ram)
        return _Attempt(plan, experts_in_ram, plain)

    whole = attempt(experts_in_ram=False)
    on_gpu = whole.plan.fits and whole.plan.n_gpu_layers > len(target.layers)
    if not model.mixture or backend_of(machine) == "cpu" or on_gpu:
        return whole
    return max(whole, attempt(experts_in_ram=True), key=lambda each: (each.plan.fits, each.plain))


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
    attempt: _Attempt,
    machine: Machine,
    measured: Measured | None,
    on_disk: OnDisk,
) -> PlannedPair:
    plan = attempt.plan
    model, draft_model = catalog.target(pair), catalog.draft(pair)
    if drafting.drafter == "model" and not plan.with_draft:
        drafting = Drafting(drafter="ngram", reasons=("n-grams guess instead.",))
    uses_file = drafting.drafter not in ("ngram", "none")
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
        fits=plan.fits,
        missing_bytes=0 if plan.fits else missing(plan),
        experts_in_ram=attempt.experts_in_ram,
        plan=plan,
        quality=quality(model, pair.target.quant),
        speed=expected_speed(pair, drafting, machine, attempt.plain, measured)
        if plan.fits
        else None,
        why="",
        verdict=(*plan.steps, *drafting.reasons),
    )


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
    if pair.speed is None:
        return "It does not fit."
    for_code = "For code. " if pair.use == ("code",) else ""
    if pair is best or best.speed is None:
        return f"{for_code}The best answers that fit here at a speed to read along."
    if pair.speed.lowest < READING_SPEED:
        return f"{for_code}Slower than one reads."
    if pair.target.title == best.target.title:
        return f"{for_code}The same model as the first, in another file."
    ratio = pair.speed.lowest / best.speed.lowest
    if ratio >= 1.5:
        return f"{for_code}{ratio:.1f} times as fast as the first, with simpler answers."
    return f"{for_code}Simpler answers than the first."
