"""What a file is for: from its metadata and tensors, never from its name."""

import re
from typing import Literal

from specchat.architectures import HYBRID, RECURRENT
from specchat.pairing.gguf_file import GgufFile

DrafterKind = Literal["model", "mtp", "mtp_sidecar", "eagle3", "dflash", "dspark"]
"""How a file can draft: as a model; with MTP heads beside its own layers; with MTP heads alone;
as an EAGLE-3 head; in blocks, without (DFlash) or with a Markov head (DSpark)."""
DraftKind = Literal["model", "mtp", "eagle3", "dflash", "dspark"]
"""What drafts for a target: a model, or trained heads of a type, in whatever file they are."""
MemoryKind = Literal["plain", "window", "recurrent", "hybrid"]

DRAFTER_NAMES: dict[DrafterKind, str] = {
    "model": "a draft model",
    "mtp": "a model with MTP heads",
    "mtp_sidecar": "an MTP sidecar",
    "eagle3": "an EAGLE-3 draft",
    "dflash": "a DFlash draft",
    "dspark": "a DSpark draft",
}
MEMORY_NAMES: dict[MemoryKind, str] = {
    "plain": "plain KV cache",
    "window": "sliding window",
    "recurrent": "recurrent state",
    "hybrid": "KV cache and recurrent state",
}

MTP_TENSOR = re.compile(r"blk\.(\d+)\.nextn\.eh_proj\.weight")
BLOCK_TENSOR = re.compile(r"blk\.(\d+)\.")

# src/models/*.cpp: who reads `attention.sliding_window`. Others ignore it.
SLIDING_WINDOW = {
    "afmoe",
    "cohere2",
    "cohere2moe",
    "dots3note",
    "exaone-moe",
    "exaone4",
    "gemma2",
    "gemma3",
    "gemma3n",
    "gemma4",
    "gpt-oss",
    "granite_swa",
    "laguna",
    "maple",
    "mellum",
    "mimo2",
    "muse-glimmer",
    "olmo2",
    "phi3",
    "plamo3",
    "spark2_5",
    "step35",
}
NO_TEXT = {
    "bert": "makes embeddings",
    "modern-bert": "makes embeddings",
    "nomic-bert": "makes embeddings",
    "nomic-bert-moe": "makes embeddings",
    "neo-bert": "makes embeddings",
    "jina-bert-v2": "makes embeddings",
    "jina-bert-v3": "makes embeddings",
    "eurobert": "makes embeddings",
    "gemma-embedding": "makes embeddings",
    "llama-embed": "makes embeddings",
    "t5": "translates from an encoder",
    "t5encoder": "makes embeddings",
    "clip": "reads images for another model",
    "wavtokenizer-dec": "makes sound",
    "dream": "writes by diffusion",
    "llada": "writes by diffusion",
    "llada-moe": "writes by diffusion",
    "rnd1": "writes by diffusion",
}
"""What these architectures do instead of writing text token by token."""


def drafter_kind(file: GgufFile) -> DrafterKind:
    """How this file could draft."""
    tensors = {tensor.name for tensor in file.tensors}
    if file.architecture == "eagle3":
        return "eagle3"
    if file.architecture == "dflash":
        return "dspark" if "markov_w1.weight" in tensors else "dflash"
    if file.architecture == "gemma4-assistant":
        return "mtp_sidecar"
    heads = mtp_heads(file)
    if not heads:
        return "model"
    blocks = {int(match[1]) for name in tensors if (match := BLOCK_TENSOR.match(name))}
    return "mtp" if blocks - heads else "mtp_sidecar"


def mtp_heads(file: GgufFile) -> set[int]:
    """The layers that are MTP heads."""
    matches = (MTP_TENSOR.fullmatch(tensor.name) for tensor in file.tensors)
    return {int(match[1]) for match in matches if match}


def promised_mtp_heads(file: GgufFile) -> int:
    """How many MTP heads the metadata name, whether or not the file has them."""
    return number(file, "nextn_predict_layers")


def memory_kind(file: GgufFile) -> MemoryKind:
    """What its context is kept in."""
    architecture = file.architecture
    if architecture in RECURRENT:
        return "recurrent"
    if architecture in HYBRID:
        return "hybrid"
    if architecture in SLIDING_WINDOW and number(file, "attention.sliding_window") > 0:
        return "window"
    return "plain"


def why_no_text(file: GgufFile) -> str | None:
    """Why it cannot answer in a chat, or None if it can."""
    if file.metadata.get("general.type") == "adapter":
        return "It is an adapter for another model."
    if file.architecture in NO_TEXT:
        return f"Its architecture, {file.architecture}, {NO_TEXT[file.architecture]}."
    if not file.tokens:
        return "It has no vocabulary."
    return None


def number(file: GgufFile, key: str) -> int:
    """A whole number of the architecture's own; 0 if there is none."""
    value = file.metadata.get(f"{file.architecture}.{key}")
    return value if isinstance(value, int) else 0
