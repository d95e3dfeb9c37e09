"""A GGUF file's header: its metadata, vocabulary and tensors, without loading a weight."""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from specchat.errors import ModelNotFound, SpecchatError
from specchat.pairing.gguf_header import (
    ARCHITECTURE,
    Header,
    Scalar,
    Tensor,
    Value,
    not_a_model,
    read_architecture,
)
from specchat.pairing.header_cache import cached_header
from specchat.pairing.header_source import Source, local_file

__all__ = ["GgufFile", "Scalar", "Tensor", "Value", "read_gguf", "read_parts"]

PART_NAME = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-\d{5}\.gguf")
MAX_PARTS = 1024


class GgufFile(msgspec.Struct, frozen=True, kw_only=True):
    """The header of a model; of all parts of a split one."""

    path: str
    """Where it was read: a path, or an address on the Hub. Of the first part."""
    size_bytes: int
    """Of the file, or of all parts."""
    metadata: dict[str, Value]
    """All keys but the vocabulary's long arrays."""
    tokens: tuple[bytes, ...]
    """The text of every token, by id."""
    tensors: tuple[Tensor, ...]
    token_types: bytes = b""
    """GGUF's type of every token: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
    Empty where the file does not say."""

    @property
    def architecture(self) -> str:
        """`general.architecture`."""
        return str(self.metadata.get(ARCHITECTURE, "unknown"))


class _Part(msgspec.Struct, frozen=True):
    name: str
    size: int
    header: Header


def read_gguf(path: str | Path) -> GgufFile:
    """The header of a file on this disk; of all parts, if it is one part of a split model.

    Raises:
        ModelNotFound: it, or another part of it, is missing or cannot be read.
        NotAModel: no GGUF, damaged or cut short.
        UnsupportedModel: a form of GGUF that llama.cpp does not read.
    """
    return read_parts(str(path), local_file)


def header_of(path: str | Path) -> GgufFile | None:
    """The same, or None where it cannot be read: llama.cpp has the last word, and says why."""
    try:
        return read_gguf(path)
    except SpecchatError:
        return None


def architecture_of(path: str | Path) -> str:
    """`general.architecture` of a file, which stands near its beginning: nothing else is read.

    Raises:
        SpecchatError: it is missing, no GGUF, or damaged that early.
    """
    with local_file(str(path)) as source:
        return read_architecture(source)


def read_parts(name: str, opened: Callable[[str], AbstractContextManager[Source]]) -> GgufFile:
    """The header of a model and of its other parts, whose names differ by a number.

    Raises:
        SpecchatError: as `read_gguf` and `opened` do.
    """
    named = _read(name, opened)
    count = named.header.metadata.get("split.count", 1)
    if not isinstance(count, int) or count <= 1:
        return _joined([named])
    parts = []
    for number, part_name in enumerate(_part_names(name, count), 1):
        try:
            part = named if part_name == name else _read(part_name, opened)
        except ModelNotFound as error:
            raise _part_missing(name, part_name, number, count, error) from error
        if _split_entry(part, "count") != count or _split_entry(part, "no") != number - 1:
            raise not_a_model(part_name, f"It is not part {number} of {count}, as its name says.")
        parts.append(part)
    model = _joined(parts)
    promised = _split_entry(parts[0], "tensors.count")
    if promised is not None and promised != len(model.tensors):
        raise not_a_model(name, f"Its parts have {len(model.tensors)} tensors, not {promised}.")
    return model


def _read(name: str, opened: Callable[[str], AbstractContextManager[Source]]) -> _Part:
    with opened(name) as source:
        return _Part(name, source.size, cached_header(source))


def _joined(parts: Sequence[_Part]) -> GgufFile:
    """One model; all but the tensors is in the first part."""
    first = parts[0].header
    return GgufFile(
        path=parts[0].name,
        size_bytes=sum(part.size for part in parts),
        metadata=first.metadata,
        tokens=first.tokens,
        token_types=first.token_types,
        tensors=tuple(tensor for part in parts for tensor in part.header.tensors),
    )


def _part_names(name: str, count: int) -> list[str]:
    folder, slash, file_name = name.rpartition("/")
    match = PART_NAME.fullmatch(file_name)
    if match is None:
        raise not_a_model(
            name,
            f"It is one of {count} parts, and its name does not say which.",
            f"Name it as its publisher did, with -00001-of-{count:05}.gguf at the end.",
        )
    if count > MAX_PARTS:
        raise not_a_model(name, f"It claims to be one of {count:,} parts.")
    stem = folder + slash + match["stem"]
    return [f"{stem}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1)]


def _split_entry(part: _Part, key: str) -> Value | None:
    return part.header.metadata.get(f"split.{key}")


def _part_missing(
    name: str, part_name: str, number: int, count: int, error: SpecchatError
) -> ModelNotFound:
    file_name = part_name.rpartition("/")[2]
    return ModelNotFound(
        f"Tried to read '{name}'.",
        f"Part {number} of {count}, {file_name}, is needed too. {error.happened}",
        "Put all parts of the model into one folder.",
    )
