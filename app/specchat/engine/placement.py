"""Whether a model fits where it is to go, by what is free right before it is loaded.

llama.cpp answers in words where a device refuses a buffer while it loads. It ends the process where
a driver runs out of memory later, and the system does where main memory does. So what cannot fit is
refused here. The plan that was made before (pairing/memory.py) leaves a margin besides.
"""

from collections.abc import Sequence
from pathlib import Path

import psutil

from specchat.engine.protocol import Notice
from specchat.errors import ContextTooLarge, OutOfMemory
from specchat.llama.devices import ComputeDevice, memory_of
from specchat.llama.library import Library
from specchat.pairing.gguf_file import header_of
from specchat.pairing.head_shape import shape_of_draft
from specchat.pairing.machine import Device
from specchat.pairing.memory import size_text
from specchat.pairing.memory_estimate import ContextSizes
from specchat.pairing.placement import PlacedModel, Use
from specchat.pairing.shape import ModelShape

MEMORY_KEPT_FREE = 0.05
"""Share of the free main memory that a context leaves alone."""


def read_shape(path: str) -> ModelShape | None:
    """What a file's memory depends on; None where it is for llama.cpp to say what is wrong."""
    file = header_of(path)
    return None if file is None else shape_of_draft(file)


def with_memory(library: Library, devices: Sequence[ComputeDevice]) -> tuple[Device, ...]:
    """These devices and what is free on them now."""
    found = []
    for device in devices:
        total, free = memory_of(library, device)
        found.append(
            Device(
                name=device.name,
                description=device.description,
                kind=device.kind,
                total_bytes=total,
                free_bytes=free,
            )
        )
    return tuple(found)


def require_room(
    path: str,
    shape: ModelShape,
    fast: Sequence[Device],
    n_gpu_layers: int,
    sizes: ContextSizes,
    *,
    experts_in_ram: bool = False,
) -> tuple[Notice, ...]:
    """A warning where main memory is short, else nothing.

    Args:
        fast: the devices beside the CPU that it goes to, and what is free on them.
        n_gpu_layers: layers on them; -1 for all.

    Raises:
        OutOfMemory: a device has less than its layers take.
        ContextTooLarge: main memory has less than the context takes.
    """
    placed = PlacedModel(shape, fast, sizes, experts_in_ram=experts_in_ram and bool(fast))
    layers = placed.n_places if n_gpu_layers < 0 else n_gpu_layers
    free = [device.free_bytes for device in fast]
    *shares, in_ram = placed.spread(sizes.n_ctx, layers if fast else 0, free)
    name = Path(path).name
    for device, share in zip(fast, shares, strict=True):
        # Of a device that does not say how much it has nothing is known.
        if device.total_bytes and sum(share) > device.free_bytes:
            raise _device_full(name, device, share, sizes.n_ctx)
    return _in_ram(name, psutil.virtual_memory().available, in_ram, sizes.n_ctx)


def _in_ram(name: str, free: int, use: Use, n_ctx: int) -> tuple[Notice, ...]:
    """Weights are mapped from the file: they may be more than there is room for."""
    context = use.kv + use.compute
    if context > free * (1 - MEMORY_KEPT_FREE):
        raise ContextTooLarge(
            f"Tried to make a context of {n_ctx:,} tokens for {name}.",
            f"It takes about {size_text(context)}; {size_text(free)} of memory are free.",
            "Ask for a smaller one with --ctx.",
        )
    if sum(use) <= free:
        return ()
    return (
        Notice(
            kind="memory_short",
            title="Main memory is short",
            message=f"{name} takes about {size_text(sum(use))} of it; {size_text(free)} are free. "
            "What has no room is read from the disk again for every token.",
            help="Choose a smaller model or quantisation, or close other programs.",
        ),
    )


def _device_full(name: str, device: Device, use: Use, n_ctx: int) -> OutOfMemory:
    return OutOfMemory(
        f"Tried to put {name} on {device.name}.",
        f"It takes about {size_text(sum(use))} there with a context of {n_ctx:,} tokens; "
        f"{size_text(device.free_bytes)} are free.",
        "Ask for a smaller context with --ctx, put fewer layers there with --gpu-layers, or end "
        "other programs that use it.",
    )
