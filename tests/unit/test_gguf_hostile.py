"""Headers that are damaged or made to do harm: a sentence, within bounds of time and memory."""

import contextlib
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.errors import NotAModel, UnsupportedModel
from specchat.pairing.gguf_file import read_gguf
from specchat.pairing.gguf_header import (
    MAX_HEADER_BYTES,
    MAX_KEPT,
    MAX_KEYS,
    MAX_TENSORS,
    MAX_TOKENS,
    read_header,
)
from specchat.pairing.verdict import judge
from support.header_files import write_header_file

UINT8, UINT32, STRING, ARRAY, UINT64 = 0, 4, 8, 9, 10
F32, Q4_K = 0, 12
MUCH = 2**63


class Bytes:
    """A header in memory; its file may claim to be larger."""

    name = "model.gguf"
    identity = None

    def __init__(self, data: bytes, size: int | None = None) -> None:
        self.data = data
        self.size = len(data) if size is None else size

    def read(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def entry(key: bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def array(key: bytes, kind: int, count: int, elements: bytes = b"") -> bytes:
    return entry(key, ARRAY, struct.pack("<IQ", kind, count) + elements)


def tensor(name: bytes, *shape: int, kind: int = F32, offset: int = 0) -> bytes:
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + sizes + struct.pack("<IQ", kind, offset)


def header(
    *entries: bytes,
    tensors: tuple[bytes, ...] = (),
    version: int = 3,
    n_keys: int | None = None,
    n_tensors: int | None = None,
    magic: bytes = b"GGUF",
) -> bytes:
    """A header as it should be, but for what is given."""
    counts = (
        len(tensors) if n_tensors is None else n_tensors,
        len(entries) if n_keys is None else n_keys,
    )
    return b"".join([magic, struct.pack("<IQQ", version, *counts), *entries, *tensors])


NAME = entry(b"general.architecture", STRING, text(b"llama"))
TOKENS = b"tokenizer.ggml.tokens"

DAMAGED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "The file is empty."),
    "short": (b"GG", "It is not a GGUF file, whatever its name."),
    "wrong magic": (header(magic=b"GGML"), "It is not a GGUF file, whatever its name."),
    "version alone": (b"GGUF\x03\0\0\0", "The file is cut short: it ends within its header."),
    "keys": (header(n_keys=MUCH), f"It claims to have {MUCH:,} entries."),
    "some keys too many": (
        header(n_keys=MAX_KEYS + 1),
        f"It claims to have {MAX_KEYS + 1:,} entries.",
    ),
    "missing keys": (header(n_keys=2), "The file is cut short: it ends within its header."),
    "tensors": (header(n_tensors=MUCH), f"It claims to have {MUCH:,} tensors."),
    "some tensors too many": (
        header(n_tensors=MAX_TENSORS + 1),
        f"It claims to have {MAX_TENSORS + 1:,} tensors.",
    ),
    "key length": (
        header(struct.pack("<Q", MUCH) + b"x"),
        "The file is cut short: it ends within its header.",
    ),
    "text length": (
        header(entry(b"k", STRING, struct.pack("<Q", 2**64 - 1))),
        "The file is cut short: it ends within its header.",
    ),
    "same key twice": (
        header(NAME, NAME),
        "The entry 'general.architecture' is empty or there twice.",
    ),
    "empty key": (header(entry(b"", UINT8, b"\0")), "The entry '' is empty or there twice."),
    "unknown type": (header(entry(b"k", 13, b"\0" * 8)), "The entry 'k' has type 13."),
    "escape codes in a key": (
        header(entry(b"\x1b[2Jk", 99, b"")),
        r"The entry '\x1b[2Jk' has type 99.",
    ),
    "list of lists": (
        header(array(b"k", ARRAY, 3, struct.pack("<IQ", UINT8, 1) + b"\0")),
        "The entry 'k' is a list of type 9.",
    ),
    "list of nothing known": (header(array(b"k", 77, 1)), "The entry 'k' is a list of type 77."),
    "numbers": (
        header(array(b"k", UINT64, MUCH)),
        "The file is cut short: it ends within its header.",
    ),
    "texts": (
        header(array(b"k", STRING, MUCH)),
        "The file is cut short: it ends within its header.",
    ),
    "tokens": (header(array(TOKENS, STRING, MUCH)), f"It claims to have {MUCH:,} tokens."),
    "a token's length": (
        header(array(TOKENS, STRING, 2, text(b"a") + struct.pack("<Q", MUCH))),
        "The file is cut short: it ends within its header.",
    ),
    "alignment": (
        header(entry(b"general.alignment", UINT32, struct.pack("<I", 3))),
        "It is aligned to '3': no power of two.",
    ),
    "no alignment": (
        header(entry(b"general.alignment", UINT32, struct.pack("<I", 0))),
        "It is aligned to '0': no power of two.",
    ),
    "alignment in words": (
        header(entry(b"general.alignment", STRING, text(b"x" * 1000))),
        f"It is aligned to {'x' * 63!r}: no power of two.",
    ),
    "same tensor twice": (
        header(tensors=(tensor(b"a", 8), tensor(b"a", 8, offset=32))),
        "The tensor 'a' is there twice.",
    ),
    "tensor name": (
        header(tensors=(tensor(b"a" * 64, 8),)),
        "The name of a tensor has 64 letters.",
    ),
    "dimensions": (
        header(tensors=(text(b"a") + struct.pack("<I", 2**31),)),
        "The tensor 'a' has 2,147,483,648 dimensions.",
    ),
    "shape": (
        header(tensors=(tensor(b"a", 2**40, 2**40),)),
        "The tensor 'a' has an impossible shape, (1099511627776, 1099511627776).",
    ),
    "no whole blocks": (
        header(tensors=(tensor(b"a", 100, kind=Q4_K),)),
        "The tensor 'a' has an impossible shape, (100,).",
    ),
    "offset": (
        header(tensors=(tensor(b"a", 8, offset=MUCH),)),
        "The tensor 'a' is not where it should be.",
    ),
    "overlap": (
        header(tensors=(tensor(b"a", 8), tensor(b"b", 8, offset=0))),
        "The tensor 'b' is not where it should be.",
    ),
    "weights missing": (
        header(tensors=(tensor(b"a", 2**20),)),
        "The file is cut short: 4,194,311 bytes are missing.",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_header_is_a_sentence(tmp_path: Path, name: str) -> None:
    data, happened = DAMAGED[name]
    path = tmp_path / "model.gguf"
    path.write_bytes(data)

    with pytest.raises(NotAModel) as caught:
        read_gguf(path)

    assert caught.value.tried == f"Tried to read '{path}'."
    assert caught.value.happened == happened


@pytest.mark.parametrize(
    ("data", "happened"),
    [
        (header(version=1), "Its format is GGUF version 1; 2 and 3 are known."),
        (header(version=4), "Its format is GGUF version 4; 2 and 3 are known."),
        (header(version=3 << 24), "It was written for a big-endian machine."),
        (header(tensors=(tensor(b"a", 8, kind=31),)), "The tensor 'a' has the unknown type 31."),
    ],
)
def test_another_form_of_gguf_is_a_sentence(data: bytes, happened: str) -> None:
    with pytest.raises(UnsupportedModel) as caught:
        read_header(Bytes(data))

    assert caught.value.happened == happened


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small sound file: numbers, texts, lists, a vocabulary, tensors."""
    path = write_header_file(
        tmp_path_factory.mktemp("sound") / "sound.gguf",
        "gemma3",
        tokens=[f"t{index}" for index in range(20)],
        shapes={"token_embd.weight": (20, 8), "blk.0.attn_norm.weight": (8,)},
        own={"attention.sliding_window": 16, "attention.head_count_kv": [1, 2]},
        entries={"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": 2},
    )
    return path.read_bytes()


def test_a_file_cut_at_any_byte_is_no_model(sound: bytes) -> None:
    read_header(Bytes(sound))
    for length in range(len(sound)):
        with pytest.raises(NotAModel):
            read_header(Bytes(sound[:length]))


def test_a_file_that_shrinks_while_it_is_read_is_no_model(sound: bytes) -> None:
    for length in range(200):
        with pytest.raises(NotAModel):
            read_header(Bytes(sound[:length], size=len(sound)))


@given(data=st.data())
def test_whatever_bytes_change_it_is_a_header_or_a_sentence(
    sound: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    changed = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(sound) - 1))
        new = data.draw(st.one_of(st.binary(min_size=1, max_size=8), st.just(b"\xff" * 8)))
        changed[at : at + len(new)] = new
    path = tmp_path_factory.mktemp("changed") / "model.gguf"
    path.write_bytes(bytes(changed))
    refusal = None
    try:
        file = read_gguf(path)
    except (NotAModel, UnsupportedModel) as error:
        refusal = error
    if refusal is not None:
        assert refusal.happened.isprintable()
    else:
        for verdict in (judge(file), judge(file, file)):
            assert verdict.sentence.isprintable()
            assert all(finding.sentence.isprintable() for finding in verdict.findings)


@given(st.binary(max_size=400))
def test_any_bytes_after_the_magic_are_a_header_or_a_sentence(tail: bytes) -> None:
    with contextlib.suppress(NotAModel, UnsupportedModel):
        read_header(Bytes(b"GGUF" + struct.pack("<I", 3) + tail))


AB = struct.pack("<Q", 2) + b"ab"
LARGEST: dict[str, bytes] = {
    "empty texts": header(array(b"k", STRING, MAX_HEADER_BYTES // 8 - 20, bytes(MAX_HEADER_BYTES))),
    "tokens": header(array(TOKENS, STRING, MAX_TOKENS, AB * MAX_TOKENS)),
    "lists of texts": header(
        *(array(b"k%d" % index, STRING, MAX_KEPT, AB * MAX_KEPT) for index in range(MAX_KEYS))
    ),
    "tensors": header(tensors=tuple(tensor(b"%d" % index, 0) for index in range(MAX_TENSORS))),
    "a long text": header(entry(b"k", STRING, text(bytes(MAX_HEADER_BYTES - 100)))),
}
"""The most that a header may hold, of each kind."""

MEASURE = """
import sys, time
from pathlib import Path
from specchat.pairing.gguf_header import read_header
from specchat.pairing.header_source import local_file
for path in sys.argv[1:]:
    with local_file(path) as file:
        read_header(file)
status = Path("/proc/self/status").read_text()
print(time.process_time(), status.partition("VmHWM:")[2].split()[0])
"""
"""Prints seconds and KiB. Not getrusage: its maximum counts the process that started this one."""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
def test_the_largest_headers_take_bounded_time_and_memory(tmp_path: Path) -> None:
    paths = []
    for name, data in LARGEST.items():
        paths.append(tmp_path / f"{name}.gguf")
        paths[-1].write_bytes(data + bytes(32))  # where the empty tensors are
    result = subprocess.run(
        [sys.executable, "-c", MEASURE, *paths], capture_output=True, text=True, timeout=60
    )

    assert result.stderr == ""
    seconds, kibibytes = map(float, result.stdout.split())
    assert seconds < 15
    assert kibibytes < 600 * 1024
