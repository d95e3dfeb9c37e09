"""What a target's snapshots of its state take of a call, measured against a context without any.

llama.cpp keeps them in every decode call, whether anything is drafted or not: docs/hybrid.md has
where the time goes. Plain rounds of a context with snapshots are dearer for it than plain decoding.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter

import psutil

from specchat.engine.placement import read_shape, with_memory
from specchat.errors import ContextTooLarge, DecodeFailed
from specchat.llama.context import CELL_STEP, CPU_BATCH, GPU_BATCH, Context, Outputs
from specchat.llama.library import AbortFlag
from specchat.pairing.memory import margin_bytes
from specchat.pairing.memory_estimate import CacheType, ContextSizes
from specchat.pairing.placement import PlacedModel

FEWEST_CALLS = 2
"""Of each context, for a price that more than chance has made."""
MOST_CALLS = 16

MakeContext = Callable[[], Context]


def without_snapshots(
    target: Context, cache_type: CacheType, abort: AbortFlag
) -> MakeContext | None:
    """Makes the smallest context of the same model that keeps none.

    None where the target's keeps none either, where memory is too short for a second one, and where
    a device does not say how much it has.
    """
    if target.memory.kind != "snapshots" or not _has_room(target, cache_type):
        return None
    return partial(
        Context,
        target.model,
        n_ctx=CELL_STEP,
        n_outputs=1,
        abort=abort,
        n_threads=target.n_threads,
        cache_type=cache_type,
    )


def snapshots_ms(target: Context, make_context: MakeContext, budget_s: float) -> float | None:
    """Milliseconds that a call of one token takes more for the target's snapshots.

    The best calls of both contexts, made by turns, so that both have the same neighbours. The
    target's cache has to be empty, and is so afterwards.

    Args:
        make_context: makes the other context, which is freed again.
        budget_s: no further call is begun beyond it; making the context counts.

    Returns:
        None where there is no memory for the other context, or no time to tell the two apart.

    Raises:
        Aborted: the abort flag was set.
    """
    started = perf_counter()
    try:
        other = make_context()
    except ContextTooLarge:
        return None
    having: list[float] = []
    without: list[float] = []
    try:
        while len(without) <= MOST_CALLS and perf_counter() - started < budget_s:
            having.append(_call_s(target))
            without.append(_call_s(other))
    except DecodeFailed:
        return None
    finally:
        other.close()
        target.rollback(0)
    if len(without) <= FEWEST_CALLS:
        return None
    # The first calls have built the graphs.
    return max(0.0, min(having[1:]) - min(without[1:])) * 1e3


def _call_s(context: Context) -> float:
    started = perf_counter()
    context.rehearse(1, Outputs.LAST)
    return perf_counter() - started


def _has_room(target: Context, cache_type: CacheType) -> bool:
    """Whether any of the places could hold all of it and the margin that a plan leaves there."""
    model = target.model
    shape = read_shape(str(model.path))
    if shape is None:
        return False
    n_batch, n_ubatch = GPU_BATCH if model.devices else CPU_BATCH
    sizes = ContextSizes(
        n_ctx=CELL_STEP, n_batch=n_batch, n_ubatch=n_ubatch, n_outputs=1, cache_type=cache_type
    )
    fast = with_memory(model.library, model.devices)
    free = [device.free_bytes for device in fast]
    placed = PlacedModel(shape, fast, sizes, experts_in_ram=model.experts_in_ram and bool(fast))
    layers = placed.n_places if model.n_gpu_layers < 0 else model.n_gpu_layers
    uses = placed.spread(sizes.n_ctx, layers if fast else 0, free)
    needed = sum(use.kv + use.compute for use in uses)
    ram = psutil.virtual_memory()
    places = [(device.free_bytes, device.total_bytes) for device in fast]
    return all(
        total > 0 and needed + margin_bytes(total) <= free
        for free, total in (*places, (ram.available, ram.total))
    )
