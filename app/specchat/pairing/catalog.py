"""The catalog of pairs: one TOML file a family."""

from pathlib import Path
from typing import Literal

import msgspec

PACKAGED = Path(__file__).parent.parent / "models_catalog"
CHECKOUT = Path(__file__).parents[3] / "models_catalog"


class PackagedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A GGUF file inside a Python package."""

    package: str
    """The distribution's name on PyPI."""
    file: str
    sha256: str


class CatalogPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A target, and what drafts for it."""

    name: str
    title: str
    licence: str
    target: PackagedFile
    drafter: Literal["ngram"]


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of the catalog."""

    pair: tuple[CatalogPair, ...]


def catalog_folder() -> Path:
    """Inside the installed package, or at the top of a source checkout."""
    return PACKAGED if PACKAGED.is_dir() else CHECKOUT


def read_catalog(folder: Path | None = None) -> tuple[CatalogPair, ...]:
    """Every pair, by file name."""
    files = sorted((folder or catalog_folder()).glob("*.toml"))
    return tuple(
        pair for file in files for pair in msgspec.toml.decode(file.read_bytes(), type=Family).pair
    )
