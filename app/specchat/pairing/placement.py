"""Which bytes of a model lie on which device, with so many layers on the fast ones."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from specchat.pairing.machine import Device, Machine
from specchat.pairing.memory_estimate import (
    ContextSizes,
    LayerSums,
    hidden_state_bytes,
    input_compute_bytes,
    layer_compute_bytes,
    mask_bytes,
    output_compute_bytes,
    pipeline_bytes,
    sizes_of_head,
)
from specchat.pairing.shape import ModelShape


class Use(NamedTuple):
    """Bytes of a model on one device."""

    weights: int = 0
    kv: int = 0
    compute: int = 0


class PlacedModel:
    """A model that is to be spread over devices, at any context length.

    Args:
        fast: the devices that llama.cpp offloads to, in its order; main memory is not among them.
        sizes: of its context; the length in it is replaced by the one that is asked for.
    """

    def __init__(
        self,
        shape: ModelShape,
        fast: Sequence[Device],
        sizes: ContextSizes,
        *,
        experts_in_ram: bool = False,
    ) -> None:
        if shape.head is not None:
            sizes = sizes_of_head(shape.head, sizes)
        self.shape = shape
        self.n_places = len(shape.layers) + 1
        """Layers, and the output as one more, as llama.cpp counts them."""
        self._sums = LayerSums(shape, sizes.cache_type, sizes.n_snapshots)
        self._fast = fast
        self._sizes = sizes
        self.experts_in_ram = experts_in_ram and self._sums.experts[-1] > 0
        """Whether there are experts, and they are to stay in main memory."""
        self._layer_compute = layer_compute_bytes(shape, sizes)
        self._output_compute = output_compute_bytes(shape, sizes)
        self._largest = max((layer.largest_bytes for layer in shape.layers), default=0)
        self._kept_states = hidden_state_bytes(shape.head, sizes) if shape.head is not None else 0

    def spread(self, n_ctx: int, n_gpu_layers: int, free: Sequence[int]) -> list[Use]:
        """What each fast device holds, and main memory as the last.

        Args:
            free: bytes of each fast device; llama.cpp shares the layers out in proportion.
        """
        sizes = msgspec.structs.replace(self._sizes, n_ctx=n_ctx)
        mask = mask_bytes(self.shape, self._sums, sizes)
        start = self.n_places - min(n_gpu_layers, self.n_places)
        in_ram = start > 0 or self.experts_in_ram
        pipelined = len(self._fast) > 1 and not in_ram
        further = pipeline_bytes(self.shape, self._sums, sizes) if pipelined else 0
        uses = []
        ranges = place_ranges(self.n_places, n_gpu_layers, free)
        for device, (first, end) in zip(self._fast, ranges, strict=True):
            if first == end:
                uses.append(Use())
                continue
            # A card computes a long prompt with weights copied in from main memory one by one.
            copied = self._largest if in_ram and device.kind != "rpc" else 0
            uses.append(self._on_device(first, end, sizes, mask, further + copied))
        uses.append(self._in_ram(start, sizes, mask, pipelined=pipelined))
        return uses

    def _on_device(self, first: int, end: int, sizes: ContextSizes, mask: int, more: int) -> Use:
        n_layers = self.n_places - 1
        last = min(end, n_layers)
        weights = self._weights(first, last)
        compute = mask + self._layer_compute if first < last else 0
        if end > n_layers:
            weights += self.shape.output_bytes
            compute = max(compute, self._output_compute)
        return Use(weights, self._kv(first, last, sizes), compute + more)

    def _in_ram(self, start: int, sizes: ContextSizes, mask: int, *, pipelined: bool) -> Use:
        """The first layers, the embeddings, and the experts where they are to stay here."""
        shape = self.shape
        last = min(start, self.n_places - 1)
        weights = shape.input_bytes + self._weights(0, last)
        compute = input_compute_bytes(shape, self._sums, sizes, pipelined=pipelined)
        if last > 0:
            compute = max(compute, mask + self._layer_compute)
        if start == self.n_places:
            weights += shape.output_bytes - shape.shared_bytes
            compute = max(compute, self._output_compute)
        if self.experts_in_ram:
            weights += self._sums.experts[-1]
            compute = max(compute, self._layer_compute)
        return Use(weights, self._kv(0, last, sizes), compute + self._kept_states)

    def _weights(self, first: int, end: int) -> int:
        weights = self._sums.weights[end] - self._sums.weights[first]
        if self.experts_in_ram:
            weights -= self._sums.experts[end] - self._sums.experts[first]
        return weights

    def _kv(self, first: int, end: int, sizes: ContextSizes) -> int:
        return self._sums.kv_bytes(first, end, sizes, self.shape.window)


def place_ranges(n_places: int, n_gpu_layers: int, free: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the end of the places on each fast device (`load_tensors`, llama-model.cpp).

    The last layers go to the fast devices, in order, in proportion to their free memory.
    """
    moved = min(n_gpu_layers, n_places)
    start = n_places - moved
    total = max(1, sum(free))
    ranges = []
    first, passed = start, 0
    for number, size in enumerate(free, 1):
        passed += size
        end = n_places if number == len(free) else start + -(-passed * moved // total)
        ranges.append((first, max(first, end)))
        first = ranges[-1][1]
    return ranges


def fast_devices(machine: Machine) -> tuple[Device, ...]:
    """What llama.cpp offloads to, in its order: RPC servers, then GPUs; integrated ones only where
    there is no other GPU (src/llama.cpp)."""
    remote, cards, integrated = (
        [device for device in machine.devices if device.kind == kind]
        for kind in ("rpc", "gpu", "integrated")
    )
    return (*remote, *(cards or integrated))


def by_speed(devices: Sequence[Device]) -> list[int]:
    """Their places, the fastest first: this machine's before those behind a network, and of one
    kind the one with the most free memory, which is the largest and so most often the quickest."""
    return sorted(
        range(len(devices)),
        key=lambda place: (devices[place].kind == "rpc", -devices[place].free_bytes),
    )


def shares_ram(machine: Machine, device: Device) -> bool:
    """Whether a device's memory is part of the main memory."""
    return device.kind == "integrated" or (machine.unified_memory and device.kind == "gpu")
