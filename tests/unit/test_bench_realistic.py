"""The pair that is built for measurements: what is in it, and what happens when it fails."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader

from specchat.bench import realistic
from specchat.bench.realistic import DRAFT, TARGET, realistic_pair
from specchat.bench.realistic_build import deepen
from specchat.errors import SpecchatError
from specchat.paths import cache_folder
from support.gguf_models import random_table, write_bigram

COPY = (sys.executable, "-c", "import shutil, sys; shutil.copy(*sys.argv[2:])")
FAIL = (
    sys.executable,
    "-c",
    "import sys; open(sys.argv[3], 'w').write('half'); sys.exit('No space left.')",
)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that stands for the built-in model."""
    path = tmp_path / "source.gguf"
    path.write_bytes(b"weights")
    monkeypatch.setattr(realistic, "built_in_model", lambda: path)
    return path


def folder() -> Path:
    return cache_folder() / "realistic-pair"


def test_a_deepened_model_has_silent_copies_of_its_layers(tmp_path: Path) -> None:
    shallow = write_bigram(tmp_path / "shallow.gguf", random_table(1, "abc"))
    deepen(shallow, tmp_path / "deep.gguf", 3)

    before, after = GGUFReader(shallow), GGUFReader(tmp_path / "deep.gguf")
    assert after.fields["llama.block_count"].contents() == 3
    same = set(before.fields) - {"llama.block_count", "general.file_type"}
    assert same <= set(after.fields)
    for key in same - {"GGUF.tensor_count", "GGUF.kv_count"}:
        assert after.fields[key].contents() == before.fields[key].contents()
    tensors = {tensor.name: tensor for tensor in after.tensors}
    for tensor in before.tensors:
        for layer in range(3) if tensor.name.startswith("blk.") else [0]:
            copy = tensors.pop(tensor.name.replace("blk.0.", f"blk.{layer}."))
            silent = layer > 0 and tensor.name.endswith(("attn_output.weight", "ffn_down.weight"))
            expected = np.zeros_like(tensor.data) if silent else tensor.data
            np.testing.assert_allclose(copy.data, expected, rtol=1e-3, atol=1e-6)
            assert copy.data.dtype == (np.float32 if tensor.data.ndim == 1 else np.float16)
    assert tensors == {}


def test_the_pair_is_built_once(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realistic, "BUILDER", COPY)
    said: list[str] = []
    pair = realistic_pair(said.append)

    assert [path.name for path in pair] == [TARGET, DRAFT]
    assert all(path.read_bytes() == b"weights" for path in pair)
    assert len(said) == 2
    monkeypatch.setattr(realistic, "BUILDER", FAIL)
    assert realistic_pair(said.append) == pair
    assert len(said) == 2


def test_a_build_that_fails_leaves_nothing_half_done(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(realistic, "BUILDER", FAIL)
    with pytest.raises(SpecchatError, match=f"{TARGET} failed: No space left\\. Free"):
        realistic_pair(print)

    assert list(folder().iterdir()) == []


def test_a_disk_that_is_too_small_is_refused_before_anything_is_written(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(realistic, "NEEDED_BYTES", 10**18)
    with pytest.raises(SpecchatError, match=r"1000000000\.0 GB on the disk.*SPECCHAT_HOME"):
        realistic_pair(print)

    assert list(folder().iterdir()) == []


def test_what_killed_builders_left_is_removed_and_that_of_running_ones_is_not(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(realistic, "BUILDER", COPY)
    folder().mkdir(parents=True)
    abandoned = folder() / "smollm2.part-99999999"
    running = folder() / f"smollm2.part-{os.getpid()}"
    for path in (abandoned, running):
        path.write_bytes(b"half")
    realistic_pair(print)

    assert not abandoned.exists()
    assert running.exists()
