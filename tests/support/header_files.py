"""GGUF files of any size that take no room: real headers, written by gguf, over a sparse file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter

ALIGNMENT = 32
TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"

Shapes = Mapping[str, Sequence[int]]
"""Rows and columns of each tensor, as NumPy counts them: the fastest dimension last."""


def texts(count: int, *changed: tuple[int, str]) -> list[str]:
    """A vocabulary in which every token is its own text, but for some."""
    tokens = [f"t{index}" for index in range(count)]
    for index, text in changed:
        tokens[index] = text
    return tokens


def layers(n_layers: int, width: int, n_vocab: int) -> dict[str, tuple[int, ...]]:
    """The tensors of a dense model, as far as a check looks at them."""
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (n_vocab, width)}
    for layer in range(n_layers):
        shapes[f"blk.{layer}.attn_norm.weight"] = (width,)
        shapes[f"blk.{layer}.attn_q.weight"] = (width, width)
        shapes[f"blk.{layer}.ffn_up.weight"] = (4 * width, width)
    return shapes


def write_header_file(
    path: Path,
    architecture: str,
    *,
    tokens: Sequence[str],
    shapes: Shapes,
    tokenizer: str = "gpt2",
    pre: str = "qwen2",
    own: Mapping[str, int | Sequence[int]] | None = None,
    entries: Mapping[str, str | int | bool] | None = None,
    template: str | None = TEMPLATE,
    n_ctx_train: int = 32768,
) -> Path:
    """A file of the size that its tensors would have, with nothing in them.

    Args:
        own: entries of the architecture, without its name in front.
        entries: further entries, with their whole name.
    """
    writer = GGUFWriter(path, architecture)
    writer.add_context_length(n_ctx_train)
    for key, value in (own or {}).items():
        _add(writer, f"{architecture}.{key}", value)
    writer.add_tokenizer_model(tokenizer)
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(list(tokens))
    if template is not None:
        writer.add_chat_template(template)
    for key, text in (entries or {}).items():
        _add(writer, key, text)
    size = _add_tensors(writer, shapes)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with path.open("r+b") as file:
        header = file.seek(0, 2)
        file.truncate(_padded(header) + size)
    return path


def _add(writer: GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, list(value))


def _add_tensors(writer: GGUFWriter, shapes: Shapes) -> int:
    """Bytes of all tensors in the file."""
    size = 0
    for name, shape in shapes.items():
        n_bytes = 2 * int(np.prod(shape))
        writer.add_tensor_info(
            name,
            list(shape),
            np.dtype(np.float16),
            n_bytes,
            raw_dtype=GGMLQuantizationType.F16,
        )
        size = _padded(size) + n_bytes
    return size


def _padded(size: int) -> int:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
