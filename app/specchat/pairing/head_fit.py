"""Whether a trained head was made for a target: from both headers, before either is loaded.

`llama/head.py` and `llama/feature_heads.py` ask the same of loaded files, because llama.cpp ends
the process over much of it.
"""

from specchat.architectures import (
    GIVES_HIDDEN_STATES,
    GIVES_LAYER_INPUTS,
    RUNS_MTP,
    SHARES_CELLS,
)
from specchat.pairing.drafter_type import (
    DrafterKind,
    DraftKind,
    drafter_kind,
    mtp_heads,
    number,
    promised_mtp_heads,
)
from specchat.pairing.gguf_file import GgufFile, header_of, read_gguf

HEADS: frozenset[DrafterKind] = frozenset({"mtp_sidecar", "eagle3", "dflash", "dspark"})
"""Files that guess for their target and write no text alone."""
EAGLE_LAYERS = 3
MASK_TOKEN = "tokenizer.ggml.mask_token_id"
CHOOSES_AMONG = "selector_hidden.weight"
"""The tensor that makes a DFlash draft one of DFlash 2."""
CONFIDENCE = "conf_proj.weight"
KNOWN_TOKENS = "d2t"
"""The ids of the tokens that a head with a vocabulary of its own can guess."""


def built_in_heads(target: GgufFile) -> int:
    """The MTP heads in a target's own file that can be run."""
    runs = target.architecture in RUNS_MTP and target.architecture in GIVES_HIDDEN_STATES
    return len(mtp_heads(target)) if runs and drafter_kind(target) == "mtp" else 0


def has_heads_to_run(path: str) -> bool:
    """Whether the target in a file brings MTP heads that can be run."""
    file = header_of(path)
    return file is not None and built_in_heads(file) > 0


def draft_kind(draft: GgufFile) -> DraftKind:
    """What a file drafts as: a model with MTP heads of its own as a model."""
    kind = drafter_kind(draft)
    if kind in ("model", "mtp"):
        return "model"
    return "mtp" if kind == "mtp_sidecar" else kind


def drafts_with(target: str, draft: str | None) -> DraftKind | None:
    """What drafts for a target beside n-grams: the draft, or heads in the target's own file.

    Raises:
        SpecchatError: a file cannot be read.
    """
    if draft is not None:
        return draft_kind(read_gguf(draft))
    return "mtp" if built_in_heads(read_gguf(target)) else None


def layers_read(head: GgufFile) -> tuple[int, ...]:
    """The layers of its target whose inputs a head reads; none of an MTP head."""
    layers = head.metadata.get(f"{head.architecture}.target_layers")
    if not isinstance(layers, tuple):
        return ()
    return tuple(layer for layer in layers if isinstance(layer, int))


def n_known_tokens(head: GgufFile) -> int | None:
    """How many of the target's tokens it can guess; None: all."""
    for tensor in head.tensors:
        if tensor.name == KNOWN_TOKENS:
            return tensor.shape[0]
    return None


def has_confidence_head(head: GgufFile) -> bool:
    """Whether it says how sure it is of each guess."""
    return any(tensor.name == CONFIDENCE for tensor in head.tensors)


def target_width(head: GgufFile) -> int:
    """The width of the targets that it was made for; 0 if the file does not say."""
    if head.architecture == "eagle3":
        return number(head, "target_hidden_size")
    return number(head, "embedding_length_out") or number(head, "embedding_length")


def n_own_layers(target: GgufFile) -> int:
    """Layers of a target without its MTP heads."""
    return number(target, "block_count") - promised_mtp_heads(target)


def misfit(target: GgufFile, head: GgufFile) -> str | None:
    """Why a head cannot draft for this target, as a sentence; None if it can."""
    mtp = drafter_kind(head) == "mtp_sidecar"
    return (_mtp if mtp else _reader_of_layers)(target, head) or _width(target, head)


def _mtp(target: GgufFile, head: GgufFile) -> str | None:
    if target.architecture not in GIVES_HIDDEN_STATES:
        return f"llama.cpp does not give out the hidden states of {target.architecture}."
    if head.architecture not in RUNS_MTP:
        return f"llama.cpp has no way to run MTP heads of {head.architecture}."
    made_for = SHARES_CELLS.get(head.architecture, target.architecture)
    if made_for != target.architecture:
        return f"It was made for {made_for}, and the target is {target.architecture}."
    return None


def _reader_of_layers(target: GgufFile, head: GgufFile) -> str | None:
    eagle, layers = head.architecture == "eagle3", layers_read(head)
    if target.architecture not in GIVES_LAYER_INPUTS:
        return f"llama.cpp does not give out what goes into the layers of {target.architecture}."
    if eagle and len(layers) != EAGLE_LAYERS:
        return f"It reads {len(layers)} layers of its target, where EAGLE-3 reads {EAGLE_LAYERS}."
    n_layers = n_own_layers(target)
    read_after = eagle and target.architecture in GIVES_HIDDEN_STATES
    last = n_layers if read_after else n_layers - 1
    if not layers or min(layers) < 0 or max(layers) > last:
        listed = ", ".join(f"{layer:,}" for layer in layers) or "none"
        return f"It reads the layers {listed} of its target, and this one has {n_layers:,}."
    if not eagle and MASK_TOKEN not in head.metadata:
        return "Its file does not name the token that stands for a guess."
    if any(tensor.name == CHOOSES_AMONG for tensor in head.tensors):
        return "It chooses among candidates (DFlash 2), which this version cannot do."
    return None


def _width(target: GgufFile, head: GgufFile) -> str | None:
    width, own = target_width(head), number(target, "embedding_length")
    if width and own and width != own:
        return f"It was made for a target of width {width:,}, and this one has {own:,}."
    return None
