"""How much memory a pair takes, and where its parts go."""

from typing import Literal

import msgspec

from specchat.pairing.machine import Machine
from specchat.pairing.shape import ModelShape

Part = Literal["target", "draft", "target_kv", "draft_kv", "compute", "margin"]
CacheType = Literal["f16", "q8_0", "q4_0"]


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asked for; None leaves the choice to the plan."""

    n_ctx: int | None = None
    n_gpu_layers: int | None = None
    cache_type: CacheType = "f16"
    experts_in_ram: bool = False
    max_draft_length: int = 16


class DeviceShare(msgspec.Struct, frozen=True):
    """What one device holds."""

    device: str
    free_bytes: int
    parts: dict[Part, int]
    """Bytes of each part that is not empty."""

    @property
    def used_bytes(self) -> int:
        """All parts together."""
        return sum(self.parts.values())


class MemoryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pair goes, and what had to give for it to fit."""

    shares: tuple[DeviceShare, ...]
    n_ctx: int
    n_gpu_layers: int
    """Of the target, counted as llama.cpp does: the output layer is one more."""
    with_draft: bool
    steps: tuple[str, ...] = ()
    """What had to give, one sentence each, in the order in which it was done."""
    fits: bool = True


def plan_memory(
    machine: Machine, target: ModelShape, draft: ModelShape | None, wishes: Wishes
) -> MemoryPlan:
    """The best way to hold this pair in this machine's free memory."""
    raise NotImplementedError
