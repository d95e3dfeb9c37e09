"""What to try after the engine died: the draft left out, then less context, then fewer layers."""

from typing import NamedTuple

from msgspec.structs import replace

from specchat.engine.protocol import Load, Pair
from specchat.pairing.gguf_file import header_of
from specchat.pairing.machine import Machine
from specchat.pairing.memory import SHORTEST_N_CTX, USUAL_N_CTX, MemoryPlan, Wishes, plan_memory
from specchat.pairing.shape_header import shape_from_header


class Less(NamedTuple):
    """A load that takes less memory."""

    load: Load
    sentence: str
    """What is less, such as `Without the draft.`"""


def with_less(load: Load, plan: MemoryPlan | None = None) -> Less | None:
    """The next smaller load, or None where there is nothing left to give.

    Args:
        load: what was loaded when the engine died; the result is to be sent as it is, not placed
            again.
        plan: its memory plan, which knows how many layers there are.
    """
    heads = load.plan.built_in_heads and plan is not None and plan.with_draft
    if load.pair.draft is not None or heads:
        what = "the draft" if load.pair.draft is not None else "its MTP heads"
        alone = Load(Pair(load.pair.target), replace(load.plan, built_in_heads=False))
        return Less(alone, f"Without {what}.")
    n_ctx = load.plan.n_ctx or (plan.n_ctx if plan is not None else USUAL_N_CTX)
    if n_ctx > SHORTEST_N_CTX:
        shorter = max(SHORTEST_N_CTX, n_ctx // 2)
        return Less(
            Load(load.pair, replace(load.plan, n_ctx=shorter)),
            f"With a context of {shorter:,} tokens instead of {n_ctx:,}.",
        )
    layers = load.plan.n_gpu_layers
    if layers < 0:
        layers = plan.n_gpu_layers if plan is not None else layers
    if layers == 0:
        return None
    fewer = layers // 2 if layers > 0 else 0
    what = f"With {fewer} layer{'s' if fewer > 1 else ''} on the GPU instead of {layers}."
    words = what if fewer else "Without the GPU."
    return Less(Load(load.pair, replace(load.plan, n_gpu_layers=fewer)), words)


def memory_of(load: Load, machine: Machine) -> MemoryPlan | None:
    """What a load takes as it is, where nothing drafts but n-grams; nothing of it gives way.

    Returns:
        None where the target's header cannot be read.
    """
    header = header_of(load.pair.target)
    if header is None:
        return None
    shape, plan = shape_from_header(header), load.plan
    everything = len(shape.layers) + 1
    wishes = Wishes(
        n_ctx=plan.n_ctx or min(USUAL_N_CTX, shape.n_ctx_train or USUAL_N_CTX),
        n_gpu_layers=everything if plan.n_gpu_layers < 0 else plan.n_gpu_layers,
        cache_type=plan.cache_type,
        experts_in_ram=plan.experts_in_ram,
        max_draft_length=plan.max_draft_length,
        whole_window_cache=plan.whole_window_cache,
        n_snapshots=plan.n_snapshots,
    )
    return plan_memory(machine, shape, None, wishes)
