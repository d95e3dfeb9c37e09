"""What to try after the engine died: the draft left out, then less context, then fewer layers."""

from typing import NamedTuple

from msgspec.structs import replace

from specchat.engine.protocol import Load, Pair
from specchat.pairing.memory import SHORTEST_N_CTX, USUAL_N_CTX, MemoryPlan


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
