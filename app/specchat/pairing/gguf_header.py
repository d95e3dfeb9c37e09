"""Reads the header of one GGUF file out of any bytes that can be read at random.

Not with `gguf.GGUFReader`, which takes seconds and a gigabyte for a large vocabulary, follows
absurd counts until memory ends, and brings in NumPy. The format is
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; the refusals are llama.cpp's
(ggml/src/gguf.cpp), with bounds on top.
"""

import struct

import msgspec

from specchat.errors import NotAModel, SpecchatError, UnsupportedModel
from specchat.pairing.ggml_types import GGML_TYPES
from specchat.pairing.header_source import Source

Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...]

MAGIC = b"GGUF"
VERSIONS = (2, 3)
FIRST_READ = 1 << 20
"""Bytes; every further read doubles what is there. The largest headers known have 15 MB."""
MAX_HEADER_BYTES = 1 << 26
MAX_TOKENS = 1 << 20
MAX_KEYS = 1 << 10
MAX_TENSORS = 1 << 16
MAX_KEPT = 1 << 10
"""Elements of an array that is kept: one a layer at the most, not one a token."""
MAX_NAME_BYTES = 63
"""Of a tensor, in ggml."""
MAX_DIMENSIONS = 4
INT64_MAX = (1 << 63) - 1

ARCHITECTURE = "general.architecture"
TOKENS = "tokenizer.ggml.tokens"
TOKEN_TYPES = "tokenizer.ggml.token_type"
LONG_ARRAYS = (TOKENS, TOKEN_TYPES, "tokenizer.ggml.scores", "tokenizer.ggml.merges")

DOWNLOAD_AGAIN = "Download it again; its size should match the publisher's."
NAME_A_MODEL = "Download a model in GGUF format and name that file."

STRING, ARRAY = 8, 9
NUMBERS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
"""By GGUF's number of the value's type."""
UINT32, INT32, UINT64 = NUMBERS[4], 5, NUMBERS[10]


class Tensor(msgspec.Struct, frozen=True):
    """One tensor, as the header lists it."""

    name: str
    shape: tuple[int, ...]
    """As GGUF writes it: the fastest dimension first."""
    type: str
    """ggml's name, such as `Q4_K`."""
    n_bytes: int


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What one file says before its weights begin."""

    metadata: dict[str, Value]
    """All keys but the vocabulary's long arrays."""
    tokens: tuple[bytes, ...]
    """The text of every token, by id."""
    token_types: bytes
    """GGUF's type of every token: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
    Empty where the file does not say."""
    tensors: tuple[Tensor, ...]
    header_bytes: int


def read_header(source: Source) -> Header:
    """The header of one file.

    Raises:
        NotAModel: no GGUF, damaged, cut short, or beyond all bounds.
        UnsupportedModel: sound as far as can be seen, in a form that llama.cpp does not read.
    """
    reader = _Reader(source)
    n_tensors, n_keys = reader.preamble()
    for _ in range(n_keys):
        reader.key_and_value()
    tensors = reader.all_tensors(n_tensors)
    return Header(
        metadata=reader.metadata,
        tokens=reader.tokens,
        token_types=reader.token_types,
        tensors=tensors,
        header_bytes=reader.at,
    )


def read_architecture(source: Source) -> str:
    """Only what the file is; by convention that comes first.

    Raises:
        NotAModel: no GGUF, or damaged before that.
        UnsupportedModel: in a form that llama.cpp does not read.
    """
    reader = _Reader(source)
    _, n_keys = reader.preamble()
    for _ in range(n_keys):
        reader.key_and_value()
        if ARCHITECTURE in reader.metadata:
            break
    return str(reader.metadata.get(ARCHITECTURE, "unknown"))


class _Reader:
    """What was read of a source so far, and what was understood."""

    def __init__(self, source: Source) -> None:
        self.metadata: dict[str, Value] = {}
        self.tokens: tuple[bytes, ...] = ()
        self.token_types = b""
        self.at = 0
        self._source = source
        self._seen: set[str] = set()
        self._data = b""

    def preamble(self) -> tuple[int, int]:
        """The numbers of tensors and of keys."""
        if self._source.size == 0:
            raise not_a_model(self._source.name, "The file is empty.", NAME_A_MODEL)
        if self._source.size < len(MAGIC) or self._take(len(MAGIC)) != MAGIC:
            happened = "It is not a GGUF file, whatever its name."
            raise not_a_model(self._source.name, happened, NAME_A_MODEL)
        version = self._number(UINT32)
        if version & 0xFFFF == 0:
            raise self._unsupported("It was written for a big-endian machine.")
        if version not in VERSIONS:
            raise self._unsupported(f"Its format is GGUF version {version}; 2 and 3 are known.")
        n_tensors, n_keys = self._number(UINT64), self._number(UINT64)
        if n_keys > MAX_KEYS:
            raise self._damaged(f"It claims to have {n_keys:,} entries.")
        if n_tensors > MAX_TENSORS:
            raise self._damaged(f"It claims to have {n_tensors:,} tensors.")
        return n_tensors, n_keys

    def key_and_value(self) -> None:
        """One entry of the metadata."""
        key = self._text()
        if not key or key in self._seen:
            raise self._damaged(f"The entry {_shown(key)} is empty or there twice.")
        self._seen.add(key)
        kind = self._number(UINT32)
        if kind == ARRAY:
            kind, count = self._number(UINT32), self._number(UINT64)
            self._array(key, kind, count)
        else:
            self.metadata[key] = self._value(key, kind)

    def all_tensors(self, count: int) -> tuple[Tensor, ...]:
        """The list of tensors; their bytes have to follow one another up to the file's end."""
        alignment = self.metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
            raise self._damaged(f"It is aligned to {_shown(str(alignment))}: no power of two.")
        tensors: dict[str, Tensor] = {}
        end = 0
        for _ in range(count):
            tensor, offset = self._tensor()
            if tensor.name in tensors:
                raise self._damaged(f"The tensor {_shown(tensor.name)} is there twice.")
            if offset != end:
                raise self._damaged(f"The tensor {_shown(tensor.name)} is not where it should be.")
            tensors[tensor.name] = tensor
            end = _padded(end + tensor.n_bytes, alignment)
        if tensors:
            last = offset + tensor.n_bytes
            missing = _padded(self.at, alignment) + last - self._source.size
            if missing > 0:
                raise self._damaged(f"The file is cut short: {missing:,} bytes are missing.")
        return tuple(tensors.values())

    def _tensor(self) -> tuple[Tensor, int]:
        name = self._text()
        if len(name) > MAX_NAME_BYTES:
            raise self._damaged(f"The name of a tensor has {len(name):,} letters.")
        n_dimensions = self._number(UINT32)
        if n_dimensions > MAX_DIMENSIONS:
            raise self._damaged(f"The tensor {_shown(name)} has {n_dimensions:,} dimensions.")
        shape = tuple(self._number(UINT64) for _ in range(n_dimensions))
        number = self._number(UINT32)
        kind = GGML_TYPES.get(number)
        if kind is None:
            raise self._unsupported(f"The tensor {_shown(name)} has the unknown type {number}.")
        n_elements = 1
        for size in shape:
            n_elements *= size
        if n_elements > INT64_MAX or (shape[0] if shape else 1) % kind.block:
            raise self._damaged(f"The tensor {_shown(name)} has an impossible shape, {shape}.")
        n_bytes = n_elements // kind.block * kind.n_bytes
        return Tensor(name, shape, kind.name, n_bytes), self._number(UINT64)

    def _value(self, key: str, kind: int) -> Scalar:
        if kind == STRING:
            return self._text()
        number = NUMBERS.get(kind)
        if number is None:
            raise self._damaged(f"The entry {_shown(key)} has type {kind}.")
        return self._scalar(number)

    def _array(self, key: str, kind: int, count: int) -> None:
        """The elements of an array, kept unless they are too many."""
        if key == TOKENS and count > MAX_TOKENS:
            raise self._damaged(f"It claims to have {count:,} tokens.")
        keep = count <= MAX_KEPT and key not in LONG_ARRAYS
        number = NUMBERS.get(kind)
        if kind == STRING:
            texts = self._strings(count, keep=keep or key == TOKENS)
            if key == TOKENS:
                self.tokens = tuple(texts)
            elif keep:
                self.metadata[key] = tuple(text.decode(errors="replace") for text in texts)
        elif number is None:
            raise self._damaged(f"The entry {_shown(key)} is a list of type {kind}.")
        elif keep:
            elements = number.iter_unpack(self._take(count * number.size))
            self.metadata[key] = tuple(element for (element,) in elements)
        else:
            data = self._take(count * number.size)
            if key == TOKEN_TYPES and kind == INT32:
                self.token_types = data[::4]  # the low byte of each

    def _strings(self, count: int, *, keep: bool) -> list[bytes]:
        """Strings one after another: the one loop that runs once a token and once a merge."""
        kept: list[bytes] = []
        unpack, append = UINT64.unpack_from, kept.append
        self._need(8 * count)
        data, at, room = self._data, self.at, len(self._data)
        for _ in range(count):
            end = at + 8
            if end <= room:
                end += unpack(data, at)[0]
            if end > room:
                self.at = at
                self._need(8)
                self._need(8 + unpack(self._data, at)[0])
                data, room = self._data, len(self._data)
                end = at + 8 + unpack(data, at)[0]
            if keep:
                append(data[at + 8 : end])
            at = end
        self.at = at
        return kept

    def _text(self) -> str:
        return self._take(self._number(UINT64)).decode(errors="replace")

    def _number(self, number: struct.Struct) -> int:
        return int(self._scalar(number))

    def _scalar(self, number: struct.Struct) -> int | float | bool:
        self._need(number.size)
        value: int | float | bool = number.unpack_from(self._data, self.at)[0]
        self.at += number.size
        return value

    def _take(self, length: int) -> bytes:
        self._need(length)
        taken = self._data[self.at : self.at + length]
        self.at += length
        return taken

    def _need(self, length: int) -> None:
        """Have this many bytes from here on."""
        end, have = self.at + length, len(self._data)
        if end <= have:
            return
        if end > self._source.size:
            raise self._damaged("The file is cut short: it ends within its header.")
        if end > MAX_HEADER_BYTES:
            raise self._damaged(f"Its header has more than {MAX_HEADER_BYTES >> 20} MiB.")
        wanted = min(max(end, 2 * have, FIRST_READ), self._source.size, MAX_HEADER_BYTES)
        self._data += self._source.read(have, wanted - have)
        if len(self._data) < end:  # it shrank meanwhile
            raise self._damaged("The file is cut short: it ends within its header.")

    def _damaged(self, happened: str) -> SpecchatError:
        return not_a_model(self._source.name, happened)

    def _unsupported(self, happened: str) -> SpecchatError:
        return UnsupportedModel(
            f"Tried to read '{self._source.name}'.",
            happened,
            "Look for a file of this model that was made for today's llama.cpp.",
        )


def not_a_model(name: str, happened: str, next_step: str = DOWNLOAD_AGAIN) -> NotAModel:
    """A refusal of a file that is no GGUF or a broken one."""
    return NotAModel(f"Tried to read '{name}'.", happened, next_step)


def _shown(text: str) -> str:
    """A name out of a file from a stranger: no escape codes, no endless lines."""
    return repr(text[:MAX_NAME_BYTES])


def _padded(position: int, alignment: int) -> int:
    return (position + alignment - 1) // alignment * alignment
