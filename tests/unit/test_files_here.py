"""The catalog's files on this disk, by the places and names that other programs give them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from specchat.choosing.disk import files_here, hugging_face_cache, models_on_disk, pair_files
from specchat.pairing.catalog import Catalog, read_catalog
from support.person_disk import put_in_hub_cache

PAIR = "qwen2.5-coder-7b"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bytes"
    path.write_bytes(b"GGUF")
    return path


def found(catalog: Catalog) -> tuple[Path | None, Path | None]:
    return pair_files(catalog.pairs[PAIR], files_here(catalog))


def test_a_file_in_the_cache_of_the_hub_counts_with_its_repository(
    catalog: Catalog, tmp_path: Path, file: Path
) -> None:
    target = catalog.pairs[PAIR].target
    assert target.repo is not None
    put_in_hub_cache(tmp_path / "hub", "somebody/Else-GGUF", target.file, file)
    assert found(catalog)[0] is None

    place = put_in_hub_cache(tmp_path / "hub", target.repo, target.file, file)
    assert found(catalog)[0] == place


@pytest.mark.parametrize("with_repo", [False, True], ids=["its own", "llama.cpp's"])
def test_a_file_in_a_folder_of_the_persons_counts_by_its_name(
    catalog: Catalog,
    tmp_path: Path,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    with_repo: bool,
) -> None:
    draft = catalog.pairs[PAIR].draft
    assert draft.repo is not None
    assert draft.file is not None
    before = draft.repo.replace("/", "_") + "_" if with_repo else ""
    place = tmp_path / "own" / f"{before}{draft.file}"
    place.parent.mkdir()
    file.rename(place)
    monkeypatch.setenv("SPECCHAT_MODELS", str(place.parent))

    assert found(catalog)[1] == place


def test_a_split_model_counts_once_it_is_whole(
    catalog: Catalog, tmp_path: Path, file: Path
) -> None:
    target = catalog.pairs[PAIR].target
    assert target.repo is not None
    stem = target.file.removesuffix(".gguf")
    parts = [f"Q4/{stem}-0000{number}-of-00002.gguf" for number in (1, 2)]
    first = put_in_hub_cache(tmp_path / "hub", target.repo, parts[0], file)
    assert found(catalog)[0] is None

    put_in_hub_cache(tmp_path / "hub", target.repo, parts[1], file)
    assert found(catalog)[0] == first


def test_files_of_installed_packages_are_here(catalog: Catalog) -> None:
    assert [file for _, file in files_here(catalog)] == ["SmolLM2-135M-Instruct.Q4_1.gguf"]
    assert models_on_disk() == ()


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"HF_HUB_CACHE": "~/a"},
        {"HUGGINGFACE_HUB_CACHE": "/b"},
        {"HF_HOME": "$ELSEWHERE/c", "ELSEWHERE": "/else"},
        {"XDG_CACHE_HOME": "/d"},
        {"HF_HUB_CACHE": "/e", "HF_HOME": "/f", "XDG_CACHE_HOME": "/g"},
    ],
)
def test_the_cache_of_the_hub_is_where_huggingface_hub_has_it(
    variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    script = "from huggingface_hub.constants import HF_HUB_CACHE as cache; print(cache)"
    theirs = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )

    assert str(hugging_face_cache(os.environ, Path.home())) == theirs.stdout.strip()
