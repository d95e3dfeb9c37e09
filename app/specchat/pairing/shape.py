"""What memory and speed depend on in a model: from its header, or as far as a catalog knows it."""

import math
from typing import Literal

import msgspec

from specchat.architectures import HYBRID, RECURRENT

LayerMemory = Literal["full", "window", "recurrent", "none"]

WINDOWED = frozenset(
    (
        "afmoe",
        "cohere2",
        "cohere2moe",
        "exaone-moe",
        "exaone4",
        "gemma2",
        "gemma3",
        "gemma3n",
        "gemma4",
        "gpt-oss",
        "laguna",
        "llama4",
        "mellum",
        "mimo2",
        "muse-glimmer",
        "olmo2",
        "plamo3",
        "smallthinker",
        "step35",
    )
)
"""Architectures some of whose layers look back a limited number of tokens (src/models)."""

MOST_SNAPSHOTS = 8
"""The most that are asked for, and so the longest draft of such a target: each takes as much memory
as the state, 50 MiB in Qwen3.5 9B, and a token this far into a draft is rarely kept."""


class LayerShape(msgspec.Struct, frozen=True, kw_only=True):
    """One repeating layer."""

    weight_bytes: int
    expert_bytes: int = 0
    """The part of `weight_bytes` that belongs to experts of a mixture."""
    memory: LayerMemory = "full"
    key_width: int = 0
    """Numbers that a token leaves in the K cache: KV heads x key length."""
    value_width: int = 0
    state_bytes: int = 0
    """Of one recurrent state; it does not grow with the context."""
    largest_bytes: int = 0
    """The largest of its matrices: a GPU copies it in to compute for a layer in main memory."""


class HeadNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What the context of a trained head needs beside its layers."""

    state_width: int
    """Numbers of its target's hidden states that it reads for a token."""
    n_rows: int = 1
    """Rows of logits that a call makes."""
    most_tokens: int | None = None
    """To a call, whatever the device."""


class ModelShape(msgspec.Struct, frozen=True, kw_only=True):
    """A model's layers and widths."""

    name: str
    architecture: str
    layers: tuple[LayerShape, ...]
    input_bytes: int
    """Token embeddings; llama.cpp keeps them in main memory."""
    output_bytes: int
    """The output matrix and norm, or the embeddings once more where they are shared."""
    n_embd: int
    n_vocab: int
    n_head: int
    n_ff: int
    """The widest feed-forward part that is no expert."""
    n_ctx_train: int
    window: int = 0
    """Tokens that a sliding-window layer looks back."""
    n_expert: int = 0
    n_expert_used: int = 0
    from_header: bool = True
    """False: estimated from the catalog's facts."""
    shared_bytes: int = 0
    """What `input_bytes` and `output_bytes` both count: in main memory it is there once."""
    n_ff_expert: int = 0
    """The width of one expert."""
    attention_width: int = 0
    """Numbers of all query heads of a token."""
    recurrent_width: int = 0
    """Numbers that a recurrent layer computes for a token at its widest place."""
    per_layer_width: int = 0
    """Numbers of a token's embeddings for single layers, all layers together (Gemma 3n and 4)."""
    gated: bool = True
    """The feed-forward part has a gate, so that it holds three vectors at a time, not one."""
    head: HeadNeeds | None = None
    """It is a trained head, which reads its target's hidden states."""


# Where a catalog is silent.
TYPICAL_BYTES_PER_WEIGHT = 0.6
"""Of a Q4_K_M file."""
SHARING_SIZE_B = 4.5
"""Billions of weights up to which publishers share input and output embeddings."""
ALWAYS_SHARED = frozenset(
    (
        "cohere2",
        "gemma2",
        "gemma3",
        "gemma3n",
        "gemma4",
    )
)
STATE_BYTES_PER_EMBD = 512
"""Of one recurrent layer: 2 MiB at n_embd 4096, as in Qwen3.5 9B."""
TYPICAL_WINDOW = 1024
FF_PER_EMBD = 3.5


def shape_from_facts(
    *,
    name: str,
    architecture: str,
    size_bytes: int,
    n_layer: int,
    n_head_kv: int,
    head_dim: int,
    n_embd: int | None,
    n_vocab: int,
    n_ctx_train: int,
    kv_bytes_per_1024: int | None = None,
    params_b: float | None = None,
    active_b: float | None = None,
) -> ModelShape:
    """An estimate for a file that is not here: what the catalog knows, and typical proportions.

    Args:
        size_bytes: of the file, or of all its parts.
        n_head_kv, head_dim: 0 where unknown.
        kv_bytes_per_1024: F16 bytes that 1,024 more tokens take in layers of full attention alone.
        params_b, active_b: billions of weights in all, and used for a token.
    """
    n_layer = max(1, n_layer)
    n_weights = params_b * 1e9 if params_b else size_bytes / TYPICAL_BYTES_PER_WEIGHT
    active = active_b * 1e9 if active_b else n_weights
    width = n_embd or _likely_width(active, n_layer)
    embeddings = min(size_bytes // 4, round(n_vocab * width * size_bytes / n_weights))
    shared = architecture in ALWAYS_SHARED or active < SHARING_SIZE_B * 1e9
    repeating = size_bytes - embeddings * (1 if shared else 2)
    experts = max(0, round(repeating * (1 - active / n_weights)))
    kv_width = n_head_kv * head_dim
    full, token_bytes = _full_layers(architecture, n_layer, kv_width, kv_bytes_per_1024)
    key_width = token_bytes // (4 * full) if full else kv_width  # K and V, two bytes each
    layers = tuple(
        LayerShape(
            weight_bytes=repeating // n_layer,
            expert_bytes=experts // n_layer,
            memory=memory,
            key_width=(widths := {"full": key_width, "window": kv_width}.get(memory, 0)),
            value_width=widths,
            state_bytes=STATE_BYTES_PER_EMBD * width if memory == "recurrent" else 0,
            largest_bytes=repeating // n_layer // 4,
        )
        for memory in _spread(architecture, n_layer, full)
    )
    return ModelShape(
        name=name,
        architecture=architecture,
        layers=layers,
        input_bytes=embeddings,
        output_bytes=embeddings,
        n_embd=width,
        n_vocab=n_vocab,
        n_head=max(1, width // (head_dim or 128)),
        n_ff=round(width * FF_PER_EMBD),
        n_ctx_train=n_ctx_train,
        window=TYPICAL_WINDOW if architecture in WINDOWED else 0,
        from_header=False,
        shared_bytes=embeddings if shared else 0,
        attention_width=width,
    )


def _likely_width(n_weights: float, n_layer: int) -> int:
    """A transformer layer has about 12 n_embd squared weights."""
    return max(128, round(math.sqrt(n_weights / n_layer / 12) / 128) * 128)


def _full_layers(
    architecture: str, n_layer: int, kv_width: int, kv_bytes_per_1024: int | None
) -> tuple[int, int]:
    """How many layers cache every token, and the bytes that a token takes in all of them."""
    each = kv_width * 4
    if kv_bytes_per_1024 is None:
        full = max(1, n_layer // 4) if architecture in HYBRID else n_layer
        return (0, 0) if architecture in RECURRENT else (full, full * each)
    token_bytes = kv_bytes_per_1024 // 1024
    some = architecture in HYBRID or architecture in WINDOWED
    if some and each:
        return min(n_layer, max(1, round(token_bytes / each))), token_bytes
    return n_layer, token_bytes


def _spread(architecture: str, n_layer: int, full: int) -> list[LayerMemory]:
    """Full layers evenly among the others."""
    others: LayerMemory = "window" if architecture in WINDOWED else "recurrent"
    return [
        "full" if (index + 1) * full // n_layer > index * full // n_layer else others
        for index in range(n_layer)
    ]
