"""Models of any architecture: hollow ones for sizes, random ones for text."""

import ctypes
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

from specchat.llama.library import Library
from support.gguf_models import N_VOCAB, add_byte_vocabulary, finish

Value = int | float | str | Sequence[int] | Sequence[bool]

GGML_TENSOR_SHAPE = 16
"""Offset of `ne` in `struct ggml_tensor` (ggml.h), after its type and its buffer."""
ALIGNMENT = 32
REQUIRED_SCALES = ("ffn_gate_inp.scale", "layer_output_scale.weight")
"""Others are for types of weights that these models do not have."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A model by its metadata; keys without the architecture in front."""

    architecture: str
    metadata: Mapping[str, Value]
    n_vocab: int = 32000
    quantisation: GGMLQuantizationType = GGMLQuantizationType.Q8_0
    """Of the matrices that it can hold; the others are F16, vectors F32."""
    shared_embeddings: bool = False
    """Without an output matrix, where the architecture may leave it out."""


def write_random(library: Library, path: Path, recipe: Recipe, *, seed: int = 1) -> Path:
    """A GGUF file with random weights and the byte vocabulary: it writes varied text.

    What cannot be quantised stays F32.
    """
    recipe = replace(recipe, n_vocab=N_VOCAB)
    writer = GGUFWriter(path, recipe.architecture)
    writer.add_name(path.stem)
    for key, value in recipe.metadata.items():
        add_metadata(writer, f"{recipe.architecture}.{key}", value)
    add_byte_vocabulary(writer)
    for name, shape in tensor_shapes(library, recipe).items():
        if name == "output.weight" and recipe.shared_embeddings:
            continue
        weights = _random_weights(name, shape[::-1], seed)
        kind = _type_for(name, shape, recipe.quantisation)
        if kind == recipe.quantisation and len(shape) == 2:
            writer.add_tensor(name, quantize(weights, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, weights)
    return finish(writer, path)


def _random_weights(name: str, shape: tuple[int, ...], seed: int) -> npt.NDArray[np.float32]:
    """Of a size that keeps activations near one, so that no layer drowns the others."""
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    weights = random.normal(0, 1, shape).astype(np.float32)
    if "norm" in name or "scale" in name:
        return (1 + 0.1 * weights).astype(np.float32)
    if "ssm_a" in name:  # how fast a state fades
        return (-np.abs(weights) - 0.05).astype(np.float32)
    if "conv1d.weight" in name or "conv.weight" in name or "token_embd" in name:
        return (0.5 * weights).astype(np.float32)
    size = 1.5 / np.sqrt(shape[-1]) if len(shape) > 1 else 0.2
    return (size * weights).astype(np.float32)


def write_hollow(library: Library, path: Path, recipe: Recipe) -> Path:
    """A GGUF file with all tensors that llama.cpp asks for, of zeros that the disk does not store.

    Names and shapes come from llama.cpp itself, so that no architecture has to be known here.
    """
    writer = GGUFWriter(path, recipe.architecture)
    writer.add_name(path.stem)
    for key, value in _complete(recipe).items():
        add_metadata(writer, key, value)
    size = 0
    for name, shape in tensor_shapes(library, recipe).items():
        if name == "output.weight" and recipe.shared_embeddings:
            continue
        kind = _type_for(name, shape, recipe.quantisation)
        block, block_bytes = GGML_QUANT_SIZES[kind]
        n_bytes = int(np.prod(shape)) // block * block_bytes
        writer.add_tensor_info(name, shape[::-1], np.dtype(np.float32), n_bytes, raw_dtype=kind)
        size += -(-n_bytes // ALIGNMENT) * ALIGNMENT
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with path.open("r+b") as file:
        start = -(-path.stat().st_size // ALIGNMENT) * ALIGNMENT
        file.truncate(start + size)
    return path


def _complete(recipe: Recipe) -> dict[str, Any]:
    """The metadata as it stands in the file, vocabulary included."""
    metadata: dict[str, Any] = {
        "tokenizer.ggml.model": "test",
        "tokenizer.ggml.tokens": [f"token {number}" for number in range(recipe.n_vocab)],
        "tokenizer.ggml.scores": [0.0] * recipe.n_vocab,
        f"{recipe.architecture}.vocab_size": recipe.n_vocab,
    }
    for key, value in recipe.metadata.items():
        metadata[f"{recipe.architecture}.{key}"] = value
    return metadata


def add_metadata(writer: GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def _type_for(
    name: str, shape: tuple[int, ...], wanted: GGMLQuantizationType
) -> GGMLQuantizationType:
    """As publishers do: small and convolving tensors stay whole."""
    if (
        len(shape) == 1
        or "norm" in name
        or (name.startswith("blk.") and ("ssm_conv" in name or "shortconv.conv" in name))
    ):
        return GGMLQuantizationType.F32
    if "ffn_gate_inp" in name or not name.endswith(".weight"):
        return GGMLQuantizationType.F32
    block, _ = GGML_QUANT_SIZES[wanted]
    return wanted if shape[0] % block == 0 else GGMLQuantizationType.F16


def tensor_shapes(library: Library, recipe: Recipe) -> dict[str, tuple[int, ...]]:
    """Every tensor that llama.cpp makes for this metadata: name and shape, fastest first."""
    api = library.api
    native = api._lib
    found: dict[str, tuple[int, ...]] = {}
    native.ggml_get_name.restype, native.ggml_get_name.argtypes = (
        ctypes.c_char_p,
        [ctypes.c_void_p],
    )

    @api.llama_model_set_tensor_data_t  # type: ignore[untyped-decorator]
    def note(tensor: int, _data: int) -> None:
        name = native.ggml_get_name(tensor).decode()
        shape = list((ctypes.c_int64 * 4).from_address(tensor + GGML_TENSOR_SHAPE))
        while len(shape) > 1 and shape[-1] == 1:
            shape.pop()
        if name.endswith(REQUIRED_SCALES) or not name.endswith(("scale", "scale_in")):
            found[name] = tuple(shape)

    metadata = _native_metadata(native, recipe)
    params = api.llama_model_default_params()
    params.load_mtp = True
    model = api.llama_model_init_from_user(metadata, note, None, params)
    assert model, library.log.errors(0)[-3:]
    api.llama_model_free(model)
    native.gguf_free.argtypes = [ctypes.c_void_p]
    native.gguf_free(metadata)
    return found


def _native_metadata(native: Any, recipe: Recipe) -> int:
    """A `gguf_context` of llama.cpp's own, filled in."""
    pointer, text, count = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    native.gguf_init_empty.restype = pointer
    for name, arguments in {
        "gguf_set_val_str": [pointer, text, text],
        "gguf_set_val_bool": [pointer, text, ctypes.c_bool],
        "gguf_set_val_u32": [pointer, text, ctypes.c_uint32],
        "gguf_set_val_f32": [pointer, text, ctypes.c_float],
        "gguf_set_arr_str": [pointer, text, ctypes.POINTER(text), count],
        "gguf_set_arr_data": [pointer, text, ctypes.c_int, pointer, count],
    }.items():
        getattr(native, name).argtypes = arguments
        getattr(native, name).restype = None
    context: int = native.gguf_init_empty()
    native.gguf_set_val_str(context, b"general.architecture", recipe.architecture.encode())
    for key, value in _complete(recipe).items():
        _set(native, context, key.encode(), value)
    return context


def _set(native: Any, context: int, key: bytes, value: Any) -> None:
    if isinstance(value, bool):
        native.gguf_set_val_bool(context, key, value)
    elif isinstance(value, int):
        native.gguf_set_val_u32(context, key, value)
    elif isinstance(value, float):
        native.gguf_set_val_f32(context, key, value)
    elif isinstance(value, str):
        native.gguf_set_val_str(context, key, value.encode())
    elif isinstance(value[0], str):
        texts = (ctypes.c_char_p * len(value))(*[item.encode() for item in value])
        native.gguf_set_arr_str(context, key, texts, len(value))
    else:
        kinds = {bool: (7, np.int8), int: (5, np.int32), float: (6, np.float32)}  # enum gguf_type
        number, dtype = kinds[type(value[0])]
        data = np.array(value, dtype)
        native.gguf_set_arr_data(context, key, number, data.ctypes.data, len(value))
