"""Headers of sound files: what is read, parts of split models, and what is kept for next time."""

import os
import re
import struct
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from gguf import GGML_QUANT_SIZES, GGUFReader, GGUFWriter
from hypothesis import given
from hypothesis import strategies as st

from specchat.errors import ModelNotFound, NotAModel
from specchat.pairing import header_cache
from specchat.pairing.ggml_types import GGML_TYPES
from specchat.pairing.gguf_file import read_gguf
from specchat.paths import cache_folder
from support.gguf_models import random_table, write_bigram
from support.header_files import layers, texts, write_header_file

N_VOCAB = 300
LARGE_VOCABULARY = 40_000
"""Enough for a header that is worth keeping."""


@pytest.fixture
def bigram(tmp_path: Path) -> Path:
    return write_bigram(tmp_path / "bigram.gguf", random_table(0, "abc"))


def write_parts(folder: Path, count: int = 3) -> list[Path]:
    """A split model: the vocabulary is in the first part, the tensors are in all."""
    shapes = list(layers(2, 64, N_VOCAB).items())
    return [
        write_header_file(
            folder / f"model-{number + 1:05}-of-{count:05}.gguf",
            "qwen3",
            tokens=texts(N_VOCAB) if number == 0 else [],
            shapes=dict(shapes[number::count]),
            entries={"split.count": count, "split.no": number, "split.tensors.count": len(shapes)},
        )
        for number in range(count)
    ]


def test_a_header_says_what_the_reference_reader_says(bigram: Path) -> None:
    reference, header = GGUFReader(bigram), read_gguf(bigram)

    long_arrays = {"tokens", "scores", "token_type", "merges"}
    expected = {
        name: field.contents()
        for name, field in reference.fields.items()
        if not name.startswith("GGUF.") and name.rpartition(".")[2] not in long_arrays
    }
    assert header.metadata == expected
    texts = reference.fields["tokenizer.ggml.tokens"]
    assert header.tokens == tuple(bytes(texts.parts[part]) for part in texts.data)
    kinds = reference.fields["tokenizer.ggml.token_type"].contents()
    assert list(header.token_types) == kinds
    assert [
        (tensor.name, list(tensor.shape), tensor.type, tensor.n_bytes) for tensor in header.tensors
    ] == [
        (tensor.name, tensor.shape.tolist(), tensor.tensor_type.name, tensor.n_bytes)
        for tensor in reference.tensors
    ]
    assert header.size_bytes == bigram.stat().st_size
    assert header.architecture == "llama"


Entry = str | bool | int | float | list[int] | list[str]
ENTRIES = st.one_of(
    st.text(min_size=1, max_size=40),  # gguf leaves out an empty one
    st.booleans(),
    st.integers(-(2**31), 2**31 - 1),
    st.floats(width=32, allow_nan=False),
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=20),
    st.lists(st.text(max_size=9), min_size=1, max_size=20),
)


@given(st.dictionaries(st.from_regex(r"own\.[a-z_.]{1,40}", fullmatch=True), ENTRIES, max_size=20))
def test_what_gguf_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, entries: dict[str, Entry]
) -> None:
    path = tmp_path_factory.mktemp("entries") / "model.gguf"
    writer = GGUFWriter(path, "own")
    for key, value in entries.items():
        match value:
            case bool():
                writer.add_bool(key, value)
            case int():
                writer.add_int32(key, value)
            case float():
                writer.add_float32(key, value)
            case str():
                writer.add_string(key, value)
            case list():
                writer.add_array(key, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()

    metadata = dict(read_gguf(path).metadata)

    assert metadata.pop("general.architecture") == "own"
    assert metadata == {
        key: tuple(value) if isinstance(value, list) else value for key, value in entries.items()
    }


def test_an_array_with_an_element_a_layer_is_kept_and_one_a_token_is_not(tmp_path: Path) -> None:
    path = write_header_file(
        tmp_path / "model.gguf",
        "qwen3",
        tokens=texts(N_VOCAB),
        shapes={},
        own={"attention.head_count_kv": [2, 0, 2], "something.long": list(range(2000))},
    )

    header = read_gguf(path)

    assert header.metadata["qwen3.attention.head_count_kv"] == (2, 0, 2)
    assert "qwen3.something.long" not in header.metadata
    assert "tokenizer.ggml.tokens" not in header.metadata
    assert len(header.tokens) == N_VOCAB


def test_the_types_are_those_of_the_reference() -> None:
    ours = {number: (kind.name, kind.block, kind.n_bytes) for number, kind in GGML_TYPES.items()}
    theirs = {kind.value: (kind.name, *sizes) for kind, sizes in GGML_QUANT_SIZES.items()}

    assert {number: ours[number] for number in theirs} == theirs


def test_the_types_are_all_that_llama_cpp_has() -> None:
    package = find_spec("llama_cpp")  # importing it would take llama.cpp's log to itself
    assert package is not None
    assert package.origin is not None
    header = Path(package.origin).parents[1] / "include" / "ggml.h"
    if not header.exists():
        pytest.skip("this installation of llama-cpp-python brings no ggml.h")
    [types] = re.findall(r"enum ggml_type \{(.*?)\};", header.read_text(), re.DOTALL)
    named = re.findall(r"^\s*GGML_TYPE_(\w+)\s*= (\d+)", types, re.MULTILINE)

    assert {number: name for name, text in named if (number := int(text)) and name != "COUNT"} == {
        number: kind.name for number, kind in GGML_TYPES.items() if number
    }


@pytest.mark.parametrize("given_part", [0, 1, 2])
def test_a_split_model_is_read_whole_from_any_part(tmp_path: Path, given_part: int) -> None:
    parts = write_parts(tmp_path)

    model = read_gguf(parts[given_part])

    assert model.path == str(parts[0])
    assert {tensor.name for tensor in model.tensors} == set(layers(2, 64, N_VOCAB))
    assert len(model.tokens) == N_VOCAB
    assert model.size_bytes == sum(part.stat().st_size for part in parts)


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    parts = write_parts(tmp_path)
    parts[1].unlink()

    with pytest.raises(ModelNotFound) as caught:
        read_gguf(parts[2])

    assert caught.value.happened == (
        "Part 2 of 3, model-00002-of-00003.gguf, is needed too. There is no such file."
    )
    assert caught.value.next_step == "Put all parts of the model into one folder."


def test_a_part_under_another_name_is_refused(tmp_path: Path) -> None:
    renamed = write_parts(tmp_path)[0].rename(tmp_path / "model.gguf")

    with pytest.raises(NotAModel) as caught:
        read_gguf(renamed)

    assert caught.value.happened == "It is one of 3 parts, and its name does not say which."
    assert caught.value.next_step == (
        "Name it as its publisher did, with -00001-of-00003.gguf at the end."
    )


def test_a_part_that_took_the_place_of_another_is_refused(tmp_path: Path) -> None:
    parts = write_parts(tmp_path)
    parts[1].write_bytes(parts[2].read_bytes())

    with pytest.raises(NotAModel, match="It is not part 2 of 3"):
        read_gguf(parts[0])


def test_parts_with_too_few_tensors_are_refused(tmp_path: Path) -> None:
    parts = write_parts(tmp_path)
    write_header_file(
        parts[2],
        "qwen3",
        tokens=[],
        shapes={},
        entries={"split.count": 3, "split.no": 2},
    )

    with pytest.raises(NotAModel, match="Its parts have 5 tensors, not 7"):
        read_gguf(parts[0])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")

    with pytest.raises(ModelNotFound, match="That is no ordinary file"):
        read_gguf(tmp_path / "pipe.gguf")


def test_a_path_without_a_file_is_a_sentence(tmp_path: Path) -> None:
    cases = {
        "missing.gguf": "There is no such file.",
        "zero\0byte.gguf": "There is no such file.",
        "long" * 100: "It cannot be read: File name too long.",
        ".": "That is a folder.",
    }
    for name, happened in cases.items():
        with pytest.raises(ModelNotFound) as caught:
            read_gguf(f"{tmp_path}/{name}")
        assert caught.value.happened == happened


# What is kept for next time.


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A file with a large header."""
    return write_large(tmp_path / "large.gguf", texts(LARGE_VOCABULARY))


def write_large(path: Path, tokens: Sequence[str]) -> Path:
    return write_header_file(path, "qwen3", tokens=tokens, shapes=layers(1, 64, len(tokens)))


def entries() -> list[Path]:
    """The files of the cache."""
    return list((cache_folder() / "headers").glob("*"))


def scribble(path: Path) -> None:
    """Change the content so that neither size nor time tell."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(b"XXXX")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_large_header_is_not_read_twice(large: Path) -> None:
    first = read_gguf(large)
    scribble(large)

    assert read_gguf(large) == first


def test_a_file_with_another_time_is_read_anew(large: Path) -> None:
    read_gguf(large)
    scribble(large)
    os.utime(large, ns=(0, 1))

    with pytest.raises(NotAModel):
        read_gguf(large)


def test_a_file_of_another_size_is_read_anew(large: Path) -> None:
    before = large.stat()
    read_gguf(large)
    write_large(large, texts(LARGE_VOCABULARY - 1))
    os.utime(large, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert len(read_gguf(large).tokens) == LARGE_VOCABULARY - 1


def test_a_small_header_is_not_kept(bigram: Path) -> None:
    read_gguf(bigram)

    assert entries() == []


@given(
    cut=st.floats(0, 1, exclude_max=True), noise=st.binary(max_size=8), share=st.floats(0, 0.001)
)
def test_a_damaged_entry_is_made_anew(
    tmp_path_factory: pytest.TempPathFactory, cut: float, noise: bytes, share: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("SPECCHAT_HOME", str(home))
        patch.setattr(header_cache, "WORTH_KEEPING", 0)
        path = write_bigram(home / "small.gguf", random_table(0, "abc"))
        sound = read_gguf(path)
        [entry] = entries()
        data = entry.read_bytes()
        at = int(share * len(data))
        damaged = data[:at] + noise + data[at + len(noise) :]
        entry.write_bytes(damaged[: int(cut * len(damaged))])

        assert read_gguf(path) == sound


def test_a_cache_that_cannot_be_written_only_costs_time(large: Path) -> None:
    (cache_folder() / "headers").write_text("in the way")

    assert len(read_gguf(large).tokens) == LARGE_VOCABULARY


def test_the_oldest_entries_make_room(
    tmp_path: Path, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_gguf(large)
    [oldest] = entries()
    os.utime(oldest, (1, 1))
    monkeypatch.setattr(header_cache, "MAX_CACHE_BYTES", 2 * oldest.stat().st_size + 1000)

    for number in range(2):
        read_gguf(write_large(tmp_path / f"{number}.gguf", texts(LARGE_VOCABULARY)))

    assert len(entries()) == 2
    assert oldest not in entries()


def test_an_old_layout_is_read_anew(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_gguf(large)
    scribble(large)
    monkeypatch.setattr(header_cache, "LAYOUT", header_cache.LAYOUT + 1)

    with pytest.raises(NotAModel):
        read_gguf(large)


def test_a_vocabulary_of_262144_tokens_is_read_in_a_moment(tmp_path: Path) -> None:
    """0.2 s on two slow cores; the reference reader takes 30."""
    path = tmp_path / "gemma.gguf"
    tokens = [b"t%06d" % index for index in range(262_144)]
    strings = b"".join(struct.pack("<Q", len(token)) + token for token in tokens)
    key = b"tokenizer.ggml.tokens"
    path.write_bytes(
        struct.pack("<4sIQQQ", b"GGUF", 3, 0, 1, len(key))
        + key
        + struct.pack("<IIQ", 9, 8, 262_144)
        + strings
    )
    started = os.times().user

    assert read_gguf(path).tokens == tuple(tokens)
    assert os.times().user - started < 2
