"""What memory and speed depend on in a model: from its header, or as far as a catalog knows it."""

from typing import Literal

import msgspec

LayerMemory = Literal["full", "window", "recurrent", "none"]


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
    n_ctx_train: int
    window: int = 0
    """Tokens that a sliding-window layer looks back."""
    n_expert: int = 0
    n_expert_used: int = 0
    from_header: bool = True
    """False: estimated from the catalog's facts."""
