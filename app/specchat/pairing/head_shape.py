"""What a trained head takes in memory: its layers, and the hidden states of its target.

As the engine makes its contexts (llama/head.py, llama/feature_heads.py): MTP heads cache in their
own layers alone, Gemma 4's not at all; EAGLE-3 makes a row of logits for every token of a call, a
block drafter one for every place of its block.
"""

from specchat.architectures import SHARES_CELLS
from specchat.pairing.catalog import DraftType
from specchat.pairing.drafter_type import drafter_kind, mtp_heads, number
from specchat.pairing.gguf_file import GgufFile, Tensor
from specchat.pairing.head_fit import HEADS, built_in_heads, layers_read, target_width
from specchat.pairing.shape import HeadNeeds, LayerShape, ModelShape
from specchat.pairing.shape_header import BLOCK_NAME, HeaderFacts, shape_from_header

EAGLE_BATCH = 128
"""Tokens to a call of an EAGLE-3 head (llama/feature_heads.py)."""
DEFAULT_BLOCK = 16
"""Tokens of a block where the file does not say."""
EMBEDDINGS = "token_embd.weight"

TYPICAL_SHARE: dict[DraftType, float] = {
    "mtp": 0.03,
    "eagle3": 0.04,
    "dflash": 0.07,
    "dspark": 0.07,
}
"""Of its target's bytes in a file of four bits, where nobody has noted the head's size."""
TYPICAL_LAYERS: dict[DraftType, int] = {"mtp": 1, "eagle3": 1, "dflash": 5, "dspark": 5}
TYPICAL_STATES: dict[DraftType, int] = {"mtp": 1, "eagle3": 3, "dflash": 5, "dspark": 5}
"""Layers whose hidden states are read."""


def shape_of_draft(draft: GgufFile) -> ModelShape:
    """Of a small model, or of a head in a file of its own."""
    kind = drafter_kind(draft)
    return _head(draft) if kind in HEADS else shape_from_header(draft)


def shape_of_built_in_heads(target: GgufFile) -> ModelShape | None:
    """Of the MTP heads in a target's file; None where there are none that can be run."""
    if not built_in_heads(target):
        return None
    facts = HeaderFacts(target)
    tensors = [tensor for tensor in target.tensors if _block(tensor) in mtp_heads(target)]
    return _shape(target, facts, tensors)


def typical_head(
    target: ModelShape, kind: DraftType, size_bytes: int, *, caches: bool = True
) -> ModelShape:
    """An estimate for a head that is not here.

    Args:
        size_bytes: of its file; 0 where it is inside its target's.
        caches: it has keys and values of its own.
    """
    like = max(target.layers, key=lambda layer: layer.key_width)
    n_layers = TYPICAL_LAYERS[kind]
    layer = LayerShape(
        weight_bytes=size_bytes // n_layers,
        memory="full" if caches else "none",
        key_width=like.key_width if caches else 0,
        value_width=like.value_width if caches else 0,
    )
    return ModelShape(
        name=kind,
        architecture=kind,
        layers=(layer,) * n_layers,
        input_bytes=0,
        output_bytes=0,
        n_embd=target.n_embd,
        n_vocab=target.n_vocab,
        n_head=target.n_head,
        n_ff=target.n_ff,
        n_ctx_train=target.n_ctx_train,
        from_header=False,
        attention_width=target.attention_width,
        head=_needs(
            kind, TYPICAL_STATES[kind] * target.n_embd, block=0 if kind == "mtp" else DEFAULT_BLOCK
        ),
    )


def _head(file: GgufFile) -> ModelShape:
    return _shape(file, HeaderFacts(file), list(file.tensors))


def _shape(file: GgufFile, facts: HeaderFacts, tensors: list[Tensor]) -> ModelShape:
    found = {_block(tensor) for tensor in tensors}
    blocks = [index for index in range(facts.n_layer_all) if index in found]
    outside = [tensor for tensor in tensors if _block(tensor) is None]
    embeddings = sum(tensor.n_bytes for tensor in outside if tensor.name == EMBEDDINGS)
    has_output = any(tensor.name == "output.weight" for tensor in outside)
    reads_layers = bool(layers_read(file))
    # Heads that read layers take a matrix that they lack from their target.
    shared = 0 if has_output or reads_layers else embeddings
    return ModelShape(
        name=str(file.metadata.get("general.name") or file.path.rpartition("/")[2]),
        architecture=file.architecture,
        layers=tuple(_layer(file, facts, index, tensors) for index in blocks),
        input_bytes=embeddings,
        output_bytes=sum(tensor.n_bytes for tensor in outside) - embeddings + shared,
        n_embd=facts.n_embd,
        n_vocab=len(file.tokens),
        n_head=max(1, *facts.per_layer("attention.head_count")),
        n_ff=max(facts.per_layer("feed_forward_length")),
        n_ctx_train=facts.number("context_length"),
        n_expert=facts.number("expert_count"),
        n_expert_used=max(facts.per_layer("expert_used_count")),
        shared_bytes=shared,
        n_ff_expert=facts.number("expert_feed_forward_length"),
        attention_width=max(facts.attention_width(index) for index in blocks) if blocks else 0,
        head=_needs_of(file),
    )


def _layer(file: GgufFile, facts: HeaderFacts, index: int, tensors: list[Tensor]) -> LayerShape:
    own = [tensor for tensor in tensors if _block(tensor) == index]
    caches = file.architecture not in SHARES_CELLS
    key, value = facts.cache_widths(index, windowed=False)
    sizes = [tensor.n_bytes for tensor in own]
    return LayerShape(
        weight_bytes=sum(sizes),
        expert_bytes=sum(tensor.n_bytes for tensor in own if "_exps." in tensor.name),
        memory="full" if caches else "none",
        key_width=key if caches else 0,
        value_width=value if caches else 0,
        largest_bytes=max(sizes, default=0),
    )


def _needs_of(file: GgufFile) -> HeadNeeds:
    kind = drafter_kind(file)
    width = target_width(file)
    if kind in ("mtp", "mtp_sidecar"):
        chained = len(mtp_heads(file))
        return _needs("mtp", width, block=chained if chained > 1 else 0)
    named: DraftType = "eagle3" if kind == "eagle3" else "dflash"
    block = number(file, "block_size") or DEFAULT_BLOCK
    return _needs(named, width * len(layers_read(file)), block=block)


def _needs(kind: DraftType, state_width: int, *, block: int) -> HeadNeeds:
    if kind == "eagle3":
        return HeadNeeds(state_width=state_width, n_rows=EAGLE_BATCH, most_tokens=EAGLE_BATCH)
    rows = block + 1 if kind == "mtp" and block else max(1, block)
    return HeadNeeds(state_width=state_width, n_rows=rows)


def _block(tensor: Tensor) -> int | None:
    match = BLOCK_NAME.match(tensor.name)
    return int(match[1]) if match else None
