"""What a person reads about the place of a pair in memory."""

from collections.abc import Iterable

from specchat.engine.protocol import Notice
from specchat.errors import OutOfMemory
from specchat.pairing.catalog import CatalogPair
from specchat.pairing.drafter_type import (
    DRAFTER_NAMES,
    drafter_kind,
    mtp_heads,
    promised_mtp_heads,
)
from specchat.pairing.gguf_file import GgufFile
from specchat.pairing.memory import DeviceShare, MemoryPlan, Part, size_text
from specchat.pairing.verdict import short_name

MAIN_MEMORY = "main memory"
KEPT_FREE = 0.05
"""Of free main memory: what the engine leaves alone."""
CLOSE_PROGRAMS = "Close other programs, or choose a smaller model: specchat pairs"

FORCED = (
    ". With --gpu-layers 0 it is loaded all the same, and what has no room is read from the disk "
    "again for every token."
)


def gave_way(plan: MemoryPlan) -> tuple[Notice, ...]:
    """A notice for each thing that had to give; where a plan was forced, that it does not fit."""
    steps = plan.steps if plan.fits else plan.steps[-1:]
    title = "Fitted to memory" if plan.fits else "Loaded all the same"
    last = len(steps) - 1
    return tuple(
        Notice("memory", title, step, CLOSE_PROGRAMS if plan.fits and number == last else "")
        for number, step in enumerate(steps)
    )


def drafted_otherwise(reasons: Iterable[str], what: str = "the draft") -> tuple[Notice, ...]:
    """Why a pair's own draft, or its heads, are left out."""
    return tuple(
        Notice(
            kind="draft_would_lose",
            title=f"Going on without {what}",
            message=reason,
            help="To try it all the same, use --drafter model.",
        )
        for reason in reasons
    )


def found_beside(target: GgufFile, head: GgufFile) -> Notice:
    """A head that nobody named drafts."""
    what = DRAFTER_NAMES[drafter_kind(head)]
    return Notice(
        kind="draft_found",
        title="A draft was found",
        message=f"{short_name(head)}, {what}, lies beside {short_name(target)} and drafts for it.",
        help="To leave it out use --drafter ngram.",
    )


def heads_missing(target: GgufFile, pair: CatalogPair | None) -> tuple[Notice, ...]:
    """Heads that a header or the catalog promises, where the file has none."""
    by_catalog = pair is not None and pair.draft.type == "mtp" and pair.draft.file is None
    if mtp_heads(target) or not (promised_mtp_heads(target) or by_catalog):
        return ()
    return (
        Notice(
            kind="heads_missing",
            title="Its MTP heads are missing",
            message=f"{short_name(target)} should have some, and has none: n-grams guess instead.",
            help="Publishers keep files with and without heads under one name: look for another "
            "repository.",
        ),
    )


def not_enough(target: GgufFile, plan: MemoryPlan, asked_n_ctx: int | None) -> OutOfMemory:
    """A pair that does not fit, with the figures of every device that is too small."""
    short = [share for share in plan.shares if share.used_bytes > share.free_bytes]
    needs = ", and ".join(_need(share) for share in short or plan.shares)
    shorter = f"Use a shorter context than --ctx {asked_n_ctx}. " if asked_n_ctx else ""
    return OutOfMemory(
        f"Tried to make room for {short_name(target)}, with a context of {plan.n_ctx:,} tokens.",
        f"It needs {needs}.",
        f"{shorter}{CLOSE_PROGRAMS}{FORCED if _can_be_forced(plan) else ''}",
    )


def not_enough_for_draft(target: GgufFile, draft: GgufFile, plan: MemoryPlan) -> OutOfMemory:
    """A draft for which there is no memory, where it is what was asked for."""
    return OutOfMemory(
        f"Tried to make room for {short_name(draft)} beside {short_name(target)}.",
        plan.steps[0],
        "Use a shorter context (--ctx), close other programs, or leave the draft out.",
    )


def _can_be_forced(plan: MemoryPlan) -> bool:
    """Weights need no room in main memory: they are mapped from the file. A context does."""
    context: tuple[Part, ...] = ("target_kv", "draft_kv", "compute")
    held = sum(share.parts.get(part, 0) for share in plan.shares for part in context)
    return held < plan.shares[-1].free_bytes * (1 - KEPT_FREE)


def _need(share: DeviceShare) -> str:
    name = MAIN_MEMORY if share.device == "CPU" else share.device
    return f"{size_text(share.used_bytes)} of {name}, of which {_free(share)}"


def _free(share: DeviceShare) -> str:
    return f"{size_text(share.free_bytes)} are free" if share.free_bytes > 0 else "nothing is free"
