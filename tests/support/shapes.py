"""Shapes and machines for tests of the memory plan."""

import msgspec

from specchat.pairing.machine import Device, DeviceKind, Machine
from specchat.pairing.shape import LayerShape, ModelShape

GIB = 2**30
MIB = 2**20


def model(
    *,
    n_layer: int = 28,
    layer_bytes: int = 140 * MIB,
    expert_bytes: int = 0,
    embedding_bytes: int = 300 * MIB,
    kv_width: int = 512,
    n_embd: int = 3584,
    n_vocab: int = 150_000,
    n_ctx_train: int = 32768,
    state_bytes: int = 0,
) -> ModelShape:
    """A dense model of about 4.4 GiB unless told otherwise; with states, every other layer has one
    in place of a KV cache."""
    layer = LayerShape(
        weight_bytes=layer_bytes,
        expert_bytes=expert_bytes,
        key_width=kv_width,
        value_width=kv_width,
        largest_bytes=layer_bytes // 4,
    )
    recurrent = msgspec.structs.replace(
        layer, memory="recurrent", key_width=0, value_width=0, state_bytes=state_bytes
    )
    others = (recurrent, layer) if state_bytes else (layer, layer)
    return ModelShape(
        name="model",
        architecture="qwen35" if state_bytes else "llama",
        layers=tuple(others[place % 2] for place in range(n_layer)),
        input_bytes=embedding_bytes,
        output_bytes=embedding_bytes,
        n_embd=n_embd,
        n_vocab=n_vocab,
        n_head=28,
        n_ff=n_embd * 5,
        n_ctx_train=n_ctx_train,
        n_expert=8 if expert_bytes else 0,
        n_expert_used=2 if expert_bytes else 0,
        n_ff_expert=1024 if expert_bytes else 0,
        attention_width=n_embd,
    )


def small_model() -> ModelShape:
    """Its draft, of about half a gibibyte."""
    return model(
        n_layer=24, layer_bytes=14 * MIB, embedding_bytes=100 * MIB, kv_width=128, n_embd=896
    )


def card(
    free_bytes: int,
    *,
    name: str = "CUDA0",
    kind: DeviceKind = "gpu",
    total_bytes: int | None = None,
) -> Device:
    """A graphics card, by default with nothing on it."""
    return Device(
        name=name,
        description="a card",
        kind=kind,
        total_bytes=free_bytes if total_bytes is None else total_bytes,
        free_bytes=free_bytes,
    )


def machine(
    *devices: Device,
    ram_bytes: int = 32 * GIB,
    free_ram_bytes: int | None = None,
    unified: bool = False,
) -> Machine:
    """Cards and main memory."""
    free = ram_bytes if free_ram_bytes is None else free_ram_bytes
    cpu = Device(
        name="CPU", description="a CPU", kind="cpu", total_bytes=ram_bytes, free_bytes=free
    )
    return Machine(
        devices=(*devices, cpu), ram_bytes=ram_bytes, free_ram_bytes=free, unified_memory=unified
    )
