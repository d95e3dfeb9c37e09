"""What decode calls cost on this machine: measured once for a pair, then remembered."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import msgspec
import psutil

from specchat.engine.snapshot_price import MakeContext, snapshots_ms
from specchat.engine.stored_costs import MeasuredCosts, costs_folder
from specchat.llama.context import Context, Outputs
from specchat.llama.head import ChainedHeadContext
from specchat.neighbours import Watch, are_busy
from specchat.paths import write_whole
from specchat.speculation.adaptive import AdaptiveLength
from specchat.speculation.controller import Reach
from specchat.speculation.costs import CostTable

BUDGET_S = 2.0
"""The most that measuring may take at a start."""
DRAFT_SHARE = 0.25
"""The part of it that goes to the draft model, or to heads."""
SNAPSHOT_SHARE = 0.35
"""The part of it that goes to the price of snapshots, where the target keeps some."""
VERIFY_SIZES = (1, 2, 4, 3, 5, 8, 6, 12, 17, 10)
"""Calls of the target that are measured, the most telling first."""
DRAFT_SIZES = (1, 2)
PASSES = 4


def known_costs(
    target: Context,
    draft: Context | None,
    longest: int,
    progress: Callable[[float], None],
    watch: Callable[[], Watch] = Watch,
    without_snapshots: MakeContext | None = None,
) -> MeasuredCosts:
    """The costs of this pair on this machine, from an earlier start or measured now.

    What was measured beside busy programs is used, but not kept for later.

    Args:
        longest: most tokens that a round may draft.
        progress: told the measured fraction, 0 to 1.
        watch: begins to measure what other programs take.
        without_snapshots: makes a context to hold the target's against, where it keeps snapshots
            and there is room for one more.
    """
    prices = without_snapshots is not None
    file = costs_folder() / f"{_key(target, draft, longest, prices=prices)}.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=MeasuredCosts)
    except (FileNotFoundError, msgspec.DecodeError):
        pass
    neighbours = watch()
    sizes = [size for size in VERIFY_SIZES if size <= longest + 1]
    shares = (DRAFT_SHARE if draft is not None else 0.0) + (SNAPSHOT_SHARE if prices else 0.0)
    budget = BUDGET_S * (1 - shares)
    verify = measure(target, sizes, Outputs.ALL, budget, lambda done: progress(done * 0.75))
    drafting, rereading = ({}, {}) if draft is None else _measure_draft(draft)
    price = None
    if without_snapshots is not None:
        price = snapshots_ms(target, without_snapshots, BUDGET_S * SNAPSHOT_SHARE)
    progress(1.0)
    costs = MeasuredCosts(
        verify,
        drafting,
        target=target.model.path.name,
        draft_model=None if draft is None else draft.model.path.name,
        rereading=rereading,
        snapshots_ms=price,
    )
    if are_busy(neighbours.others(), psutil.cpu_count() or 1):
        return costs
    file.parent.mkdir(exist_ok=True)
    write_whole(file, msgspec.json.encode(costs))
    return costs


def quick_costs(target: Context) -> MeasuredCosts:
    """One call of one token: enough to begin with where nothing is to be drafted."""
    return MeasuredCosts(measure(target, [1], Outputs.ALL, 0.0, lambda _: None), {})


def measure(
    context: Context,
    sizes: Sequence[int],
    outputs: Outputs,
    budget_s: float,
    progress: Callable[[float], None],
) -> dict[int, float]:
    """Milliseconds of decode calls by number of tokens, the best of a few; the cache is empty
    afterwards.

    At least one call is made, and no further one is begun beyond the budget. The first call of a
    size builds its graph, so every size comes round again while there is time.
    """
    return _best_of(
        context, sizes, lambda size: context.rehearse(size, outputs), budget_s, progress
    )


def _measure_draft(draft: Context) -> tuple[dict[int, float], dict[int, float]]:
    """Of the call of a first guess, by the tokens that it reads, and of later ones, by number,
    where they take in the draft before them once more."""
    budget, ignored = BUDGET_S * DRAFT_SHARE, lambda _: None
    if not isinstance(draft, ChainedHeadContext):
        return measure(draft, DRAFT_SIZES, Outputs.LAST, budget, ignored), {}
    guesses = range(2, draft.model.n_mtp_heads + 1)
    return (
        measure(draft, DRAFT_SIZES, Outputs.LAST, budget / 2, ignored),
        _best_of(draft, guesses, draft.rehearse_guess, budget / 2, ignored),
    )


def _best_of(
    context: Context,
    sizes: Sequence[int],
    call: Callable[[int], None],
    budget_s: float,
    progress: Callable[[float], None],
) -> dict[int, float]:
    started = perf_counter()
    best: dict[int, float] = {}
    calls = [*sizes] * PASSES
    for number, size in enumerate(calls, 1):
        context.rollback(0)
        before = perf_counter()
        call(size)
        after = perf_counter()
        milliseconds = (after - before) * 1e3
        best[size] = min(milliseconds, best.get(size, milliseconds))
        if after - started >= budget_s:
            break
        progress(max((after - started) / budget_s, number / len(calls)))
    context.rollback(0)
    return best


def adaptive(
    costs: MeasuredCosts, longest: int, *, replays: bool = False, reach: Reach | None = None
) -> AdaptiveLength:
    """A controller that starts from these costs and goes on learning.

    Args:
        replays: the target decodes kept tokens again after a refusal.
        reach: what drafts can be, where not n-grams make them.
    """
    verify = CostTable()
    for n_tokens, milliseconds in costs.verify.items():
        verify.add(n_tokens, milliseconds)
    controller = AdaptiveLength(
        longest, verify, replays=replays, reach=reach, snapshots_ms=costs.snapshots_ms or 0.0
    )
    for n_tokens, milliseconds in costs.draft.items():
        controller.spent("model", n_tokens, milliseconds)
    for guess, milliseconds in costs.rereading.items():
        controller.spent("model", 1, milliseconds, guess=guess)
    return controller


def _key(target: Context, draft: Context | None, longest: int, *, prices: bool) -> str:
    """Changes with anything that changes what a call costs, and with what is measured."""
    parts = [target.model.library.version, str(longest), str(prices)]
    for context in (target, draft):
        if context is not None:
            path = Path(context.model.path).resolve()
            facts = path.stat()
            parts += [type(context).__name__, str(path), str(facts.st_size), str(facts.st_mtime_ns)]
            parts += [str(context.n_threads), str(context.n_ctx)]
            parts += [context.memory.kind, str(context.memory.n_snapshots), context.cache_type]
            parts += [str(context.model.n_gpu_layers), str(context.model.experts_in_ram)]
            parts += [f"{device.name} {device.description}" for device in context.model.devices]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
