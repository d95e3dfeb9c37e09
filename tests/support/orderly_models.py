"""Small models of any architecture with random weights, whose text still has some order.

Their residual stream is mostly the last token's embedding, so that a next token is likely by the
last one, and changes with everything before it by what the layers add: a head that reads the same
stream is often right, and any slip of a position shows.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

from specchat.llama.library import Library
from support.gguf_models import N_VOCAB, add_byte_vocabulary, byte_ids, finish
from support.tiny_models import Recipe, Value, add_metadata, tensor_shapes

LETTERS = "abcdefghijklmnop"
Weights = npt.NDArray[np.float32]
Edit = Callable[[Weights], Weights]

LAYER_SPREAD = 0.10
"""Standard deviation of the weights of layers; that of embeddings is 1."""
LIKELY, DECIDING = 0.05, 0.15
"""How much the last token and the rest of the stream count for the next one."""


def write_orderly(
    library: Library,
    path: Path,
    recipe: Recipe,
    *,
    seed: int = 1,
    edits: Mapping[str, Edit] | None = None,
    drop: Sequence[str] = (),
    extra: Mapping[str, npt.NDArray[np.generic]] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    vocabulary: Mapping[str, int] | None = None,
    in_bits: GGMLQuantizationType | None = None,
) -> Path:
    """A GGUF file with the byte vocabulary, that writes letters only.

    Args:
        recipe: its vocabulary size has to be that of the bytes.
        edits: by the end of a tensor's name, what is made of its random weights.
        drop: beginnings of names of tensors to leave out, or of what comes after a dot.
        extra: tensors beside those that llama.cpp asks for.
        vocabulary: further ids of special tokens.
        shapes: of the tensors, fastest dimension first, where llama.cpp cannot be asked.
        in_bits: of the matrices that it can hold. In F32 a call of one token and one of many
            round differently, so that two likely tokens may change places; in Q8_0 they do not.
    """
    assert recipe.n_vocab == N_VOCAB
    writer = GGUFWriter(path, recipe.architecture)
    writer.add_name(path.stem)
    for key, value in recipe.metadata.items():
        add_metadata(writer, f"{recipe.architecture}.{key}", value)
    add_byte_vocabulary(writer)
    for key, token in (vocabulary or {}).items():
        writer.add_uint32(f"tokenizer.ggml.{key}", token)
    for name, shape in (shapes or tensor_shapes(library, recipe)).items():
        dropped = any(name.startswith(part) or f".{part}" in name for part in drop)
        if dropped or name in (extra or {}):
            continue
        weights = _weights(name, shape, seed)
        for end, edit in (edits or {}).items():
            if name.endswith(end):
                weights = edit(weights)
        weights = np.ascontiguousarray(weights, np.float32)
        is_matrix = weights.ndim > 1 and name.endswith(".weight")
        if in_bits is not None and is_matrix and weights.shape[-1] % 32 == 0:
            writer.add_tensor(name, quantize(weights, in_bits), raw_dtype=in_bits)
        else:
            writer.add_tensor(name, weights)
    for name, tensor in (extra or {}).items():
        writer.add_tensor(name, tensor)
    return finish(writer, path)


def recipe(architecture: str, **metadata: Value) -> Recipe:
    """A model of 64 numbers to a token; further metadata with dots written as `__`."""
    known: dict[str, Value] = {
        "context_length": 8192,
        "embedding_length": 64,
        "block_count": 3,
        "feed_forward_length": 96,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "attention.layer_norm_rms_epsilon": 1e-5,
    }
    known |= {name.replace("__", "."): value for name, value in metadata.items()}
    return Recipe(architecture=architecture, metadata=known, n_vocab=N_VOCAB)


def passes_token_on(weights: Weights) -> Weights:
    """Of a matrix that joins a token's embedding with a hidden state: the embedding as it is."""
    joined = 0.5 * weights
    joined[:, : weights.shape[0]] += np.eye(weights.shape[0], dtype=np.float32)
    return joined


def _weights(name: str, shape: tuple[int, ...], seed: int) -> Weights:
    random = np.random.default_rng([zlib.crc32(name.encode()), seed])
    weights = random.normal(0, 1, shape[::-1]).astype(np.float32)
    if "norm" in name or "scale" in name:
        return np.asarray(1 + 0.1 * weights, np.float32)
    if name == "output.weight":
        return output_matrix(shape, seed)
    if name == "token_embd.weight":
        return weights
    if "ssm_a" in name:
        return np.asarray(-np.abs(weights) - 0.01, np.float32)
    return LAYER_SPREAD * weights


def output_matrix(shape: tuple[int, ...], seed: int) -> Weights:
    """After each letter two others are likely; which of them, the rest of the stream decides."""
    random = np.random.default_rng([seed, 1])
    embeddings = _weights("token_embd.weight", shape, seed)
    output = np.zeros_like(embeddings)
    letters = np.array(byte_ids(LETTERS))
    output[letters] = random.normal(0, DECIDING, (len(letters), shape[0]))
    for followers in likely_followers(seed):
        output[followers] += LIKELY * embeddings[letters]
    return output


def embeddings(shape: tuple[int, ...], seed: int) -> Weights:
    """Of the tokens of a model with this seed."""
    return _weights("token_embd.weight", shape, seed)


def likely_followers(seed: int) -> list[npt.NDArray[np.int64]]:
    """Two tokens for each letter, in their order, that are likely after it."""
    random = np.random.default_rng([seed])
    return [random.permutation(np.array(byte_ids(LETTERS))) for _ in range(2)]
