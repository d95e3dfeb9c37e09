"""Bytes that a model takes in llama.cpp, part by part, as our engine makes its contexts.

The KV cache follows src/llama-kv-cache*.cpp and src/llama-memory-recurrent.cpp. The compute buffers
follow what llama.cpp 0.5.0 reserves for its largest graph: docs/memory.md has the formula and how
far it is from llama.cpp's own numbers (tests/engine/test_memory_truth.py).
"""

from collections.abc import Iterable
from itertools import accumulate
from typing import Literal, NamedTuple

import msgspec

from specchat.architectures import KEEPS_SNAPSHOTS
from specchat.pairing.shape import HeadNeeds, ModelShape

CacheType = Literal["f16", "q8_0", "q4_0"]

BYTES_PER_32 = {"f16": 64, "q8_0": 34, "q4_0": 18}
"""Bytes of 32 numbers of a cache: a block of the quantised types."""
CELL_STEP = 256
"""llama.cpp rounds a cache up to a multiple of this many cells."""
FLOAT = 4
MASK_BYTES = 2
"""Of one cell for one token in the attention mask."""
COPIES = 4
"""Of a graph's inputs, where devices form a pipeline (`GGML_SCHED_MAX_COPIES`)."""
TOKEN_INPUTS = 24
"""Bytes of a token's id, position, output index and places in the cache."""
SAVED_STATES_BYTES = 2**29
"""Main memory for the states of earlier turns, those of target and draft together."""
SAVED_STATES = 64
"""A conversation of 32 turns: two a turn."""


class ContextSizes(msgspec.Struct, frozen=True, kw_only=True):
    """How a context is made (app/specchat/llama/context.py)."""

    n_ctx: int
    n_ubatch: int
    n_outputs: int
    cache_type: CacheType = "f16"
    whole_window_cache: bool = True
    """Windowed layers keep every token, so that a chat can step back as far as it likes."""
    n_snapshots: int = 0
    """Recurrent states kept to step back to."""
    n_batch: int = 512
    """Tokens to a decode call."""

    @property
    def cells(self) -> int:
        """Of the cache."""
        return rounded_up(self.n_ctx)

    def window_cells(self, window: int) -> int:
        """Cells of a windowed layer (`llama_kv_cache_iswa`)."""
        if self.whole_window_cache:
            return self.cells
        return rounded_up(min(self.cells, window + self.n_ubatch))


def rounded_up(n_ctx: int) -> int:
    """As llama.cpp rounds a context."""
    return -(-n_ctx // CELL_STEP) * CELL_STEP


def n_states(shape: ModelShape, n_snapshots: int) -> int:
    """Recurrent states that a layer keeps: the current one, and snapshots or one to go back to."""
    return 1 + max(1, n_snapshots if shape.architecture in KEEPS_SNAPSHOTS else 0)


def sizes_of_head(head: HeadNeeds, sizes: ContextSizes) -> ContextSizes:
    """How a head's context is made beside that of its target."""
    n_ubatch = min(sizes.n_ubatch, head.most_tokens or sizes.n_ubatch)
    return msgspec.structs.replace(
        sizes, n_ubatch=n_ubatch, n_outputs=head.n_rows, cache_type="f16", n_snapshots=0
    )


def hidden_state_bytes(head: HeadNeeds, sizes: ContextSizes) -> int:
    """In main memory, for a call's tokens each: the states that the target leaves, two calls of
    those that wait (speculation/drafters/listening.py), and those that are handed in."""
    return FLOAT * head.state_width * 4 * sizes.n_batch


class SavedStates(NamedTuple):
    """In main memory, of recurrent models: states of earlier turns to come back to."""

    target: int
    draft: int = 0

    @property
    def both(self) -> int:
        """Bytes of all of them."""
        return self.target + self.draft


def one_saved_state(target: ModelShape, draft: ModelShape | None) -> SavedStates:
    """The least that is kept: one of each model that has any."""
    return SavedStates(_state_bytes(target), 0 if draft is None else _state_bytes(draft))


def more_saved_states(one: SavedStates, spare: int) -> SavedStates:
    """As many as are of use and as there is room for, of both models equally many.

    Args:
        one: a state of each.
        spare: bytes beside those.
    """
    most = min(SAVED_STATES_BYTES, SAVED_STATES * one.both)
    further = max(0, min(most - one.both, spare))
    of_draft = further * one.draft // one.both if one.both else 0
    return SavedStates(one.target + further - of_draft, one.draft + of_draft)


class LayerSums:
    """Sums over the first layers of a model, so that a range of layers costs two look-ups.

    Each list has one entry more than there are layers; entry i is the sum over the first i.
    """

    def __init__(self, shape: ModelShape, cache_type: CacheType, n_snapshots: int) -> None:
        unit = BYTES_PER_32[cache_type]
        states = n_states(shape, n_snapshots)
        layers = shape.layers
        widths = [(layer.key_width + layer.value_width) * unit // 32 for layer in layers]
        pairs = list(zip(layers, widths, strict=True))
        self.weights = _sums(layer.weight_bytes for layer in layers)
        self.experts = _sums(layer.expert_bytes for layer in layers)
        self.states = _sums(layer.state_bytes * states for layer in layers)
        self.full = _sums(width if layer.memory == "full" else 0 for layer, width in pairs)
        """Cache bytes of a token."""
        self.windowed = _sums(width if layer.memory == "window" else 0 for layer, width in pairs)

    def kv_bytes(self, first: int, end: int, sizes: ContextSizes, window: int) -> int:
        """Caches and states of the layers from `first` up to `end`."""
        full = self.full[end] - self.full[first]
        windowed = self.windowed[end] - self.windowed[first]
        states = self.states[end] - self.states[first]
        return full * sizes.cells + windowed * sizes.window_cells(window) + states


def mask_bytes(shape: ModelShape, sums: LayerSums, sizes: ContextSizes) -> int:
    """Attention masks: one for the whole context, one for the window."""
    whole = sizes.cells if sums.full[-1] else 0
    window = sizes.window_cells(shape.window) if sums.windowed[-1] else 0
    return (whole + window) * MASK_BYTES * sizes.n_ubatch


def layer_compute_bytes(shape: ModelShape, sizes: ContextSizes) -> int:
    """What is held at once in the middle of a layer, without the mask."""
    state = max((layer.state_bytes for layer in shape.layers), default=0)
    states = state * n_states(shape, sizes.n_snapshots)
    return sizes.n_ubatch * (FLOAT * _numbers_in_a_layer(shape) + TOKEN_INPUTS) + states


def output_compute_bytes(shape: ModelShape, sizes: ContextSizes) -> int:
    """The logits, and the hidden states that they are made from."""
    rows = min(sizes.n_outputs, sizes.n_ubatch)
    hidden = shape.n_embd * (2 * sizes.n_ubatch + 3 * rows) // 2
    return FLOAT * (rows * shape.n_vocab + hidden)


def input_compute_bytes(
    shape: ModelShape, sums: LayerSums, sizes: ContextSizes, *, pipelined: bool = False
) -> int:
    """In main memory when all layers are elsewhere: embeddings and the inputs of the graph."""
    masks, hidden = (COPIES, COPIES + 1) if pipelined else (1, 2)
    inputs = sizes.n_ubatch * (hidden * FLOAT * shape.n_embd + TOKEN_INPUTS)
    return masks * mask_bytes(shape, sums, sizes) + inputs


def pipeline_bytes(shape: ModelShape, sums: LayerSums, sizes: ContextSizes) -> int:
    """What a device holds besides, where several work on one prompt like a pipeline: further copies
    of the mask, and of the hidden states that come in and go out."""
    hidden = 2 * COPIES * sizes.n_ubatch * FLOAT * shape.n_embd
    return (COPIES - 1) * mask_bytes(shape, sums, sizes) + hidden


def _numbers_in_a_layer(shape: ModelShape) -> int:
    """Numbers a token needs at the widest place of a layer."""
    embd, used, expert = shape.n_embd, shape.n_expert_used, shape.n_ff_expert
    query = shape.attention_width
    key = max((layer.key_width for layer in shape.layers), default=0)
    places = [
        3 * embd + 2 * query,
        embd + 2 * query + 3 * key,
        4 * embd + (3 if shape.gated else 1) * shape.n_ff + 2 * shape.per_layer_width,
        3 * embd + 4 * shape.per_layer_width,
        shape.recurrent_width,
    ]
    if used:
        places += [4 * embd + 3 * used * expert, (2 + 2 * used) * embd + used * expert]
    return max(places)


def _state_bytes(shape: ModelShape) -> int:
    return sum(layer.state_bytes for layer in shape.layers)


def _sums(values: Iterable[int]) -> list[int]:
    return list(accumulate(values, initial=0))
