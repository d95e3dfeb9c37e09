"""The catalog of pairs: one TOML file a family. Ours comes with the program; a person's own lies
in the config folder, adds to it, and replaces what has the same name."""

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from specchat.errors import SpecchatError
from specchat.paths import config_folder

PACKAGED = Path(__file__).parent.parent / "models_catalog"
CHECKOUT = Path(__file__).parents[3] / "models_catalog"

DraftType = Literal["model", "ngram", "mtp", "eagle3", "dflash", "dspark"]
"""A small model, n-grams of the conversation, or a head that was trained for its target."""

CacheType = Literal["f16", "q8_0", "q4_0"]
Backend = Literal["cuda", "rocm", "vulkan", "metal", "cpu"]
Tier = Literal[
    "gpu-4", "gpu-6", "gpu-8", "gpu-12", "gpu-16", "gpu-24",
    "cpu-8", "cpu-16", "cpu-32",
    "apple-16", "apple-24", "apple-32", "apple-64",
]  # fmt: skip
"""A machine by its memory in GB: of the graphics card, of a laptop without one, of a Mac."""
Confidence = Literal["verified", "derived", "unverified"]
"""Seen at the address given, computed from what was seen, or neither."""

Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
Count = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(gt=0)]
Text = Annotated[str, Meta(min_length=1)]


class PackagedFile(msgspec.Struct, frozen=True):
    """A GGUF file inside a Python package."""

    package: str
    """The distribution's name on PyPI."""
    file: str
    sha256: str


class CatalogModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model, whatever file it is in. What is not known is left out."""

    name: Name
    title: Text
    licence: Text
    released: Annotated[str, Meta(pattern=r"^20\d\d-(0[1-9]|1[0-2])$")] | None = None
    """Year and month; a target has to have it, because it is ranked by it."""
    params_b: Amount
    """Parameters, in billions."""
    active_b: Amount | None = None
    """Those read for one token, where not all are: experts, or embeddings of every layer."""
    mixture: bool = False
    """It has experts, of which a token uses some."""
    standing: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """Below 1 for a model that is weaker than its size and month suggest: our own judgement, and
    its `note` says why."""
    architecture: Text
    """`general.architecture` of its GGUF files."""
    n_layer: Count | None = None
    n_head_kv: Count | None = None
    head_dim: Count | None = None
    n_embd: Count | None = None
    n_vocab: Count | None = None
    n_ctx_train: Count | None = None
    kv_bytes_per_1024: Count | None = None
    """What 1,024 more tokens of context take in an f16 cache, once any window is full."""
    source: Text
    """Where the facts were read."""
    confidence: Confidence
    note: str = ""


class CatalogFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A GGUF file of a model: on the Hub, or inside a Python package."""

    model: Name
    file: Annotated[str, Meta(pattern=r"\.gguf$")]
    """Its name, or a pattern with `*` where publishers rename."""
    quant: Text
    repo: Annotated[str, Meta(pattern=r"^[^/\s]+/[^/\s]+$")] | None = None
    package: Text | None = None
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")] | None = None
    """Of a packaged file; what is on the Hub is checked against the Hub."""
    size_gb: Amount | None = None
    """In units of 10^9 bytes, as seen when it was entered; the Hub knows better."""

    @property
    def packaged(self) -> PackagedFile | None:
        """Where it is when a package brings it."""
        if self.package is None:
            return None
        return PackagedFile(self.package, self.file, self.sha256 or "")


class CatalogDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What guesses for a target."""

    type: DraftType
    length: Annotated[int, Meta(ge=1, le=64)] | None = None
    """The number of tokens to begin with."""
    model: Name | None = None
    """Of a small model; a head has no model of its own."""
    repo: Annotated[str, Meta(pattern=r"^[^/\s]+/[^/\s]+$")] | None = None
    """None for n-grams, and for a head inside the target's own file."""
    file: Annotated[str, Meta(pattern=r"\.gguf$")] | None = None
    quant: Text | None = None
    size_gb: Amount | None = None


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What somebody measured or read about a pair."""

    says: Text
    address: str
    """Empty where it was not kept."""
    seen: datetime.date
    backend: Backend | None = None
    """Where it was measured, if on one kind of machine."""
    speed_up: tuple[Amount, Amount] | None = None
    """The lowest and the highest ratio to plain decoding that it reports."""


class CatalogPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A target, and what drafts for it."""

    name: Name
    tiers: tuple[Tier, ...] = ()
    """The machines that it was chosen for."""
    use: tuple[Literal["chat", "code"], ...] = ("chat",)
    n_ctx: Count
    """The context to begin with."""
    cache_type: CacheType = "f16"
    """Of the target's KV cache."""
    target: CatalogFile
    draft: CatalogDraft
    confidence: Confidence
    evidence: tuple[Evidence, ...] = ()
    note: str = ""


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One file of the catalog."""

    family: Text
    model: tuple[CatalogModel, ...] = ()
    pair: tuple[CatalogPair, ...] = ()


class Catalog(msgspec.Struct, frozen=True):
    """All pairs by name, and the models that they refer to."""

    models: Mapping[str, CatalogModel]
    pairs: Mapping[str, CatalogPair]

    def target(self, pair: CatalogPair) -> CatalogModel:
        """The model that answers."""
        return self.models[pair.target.model]

    def draft(self, pair: CatalogPair) -> CatalogModel | None:
        """The small model that guesses; None for n-grams and heads."""
        return None if pair.draft.model is None else self.models[pair.draft.model]

    def title(self, pair: CatalogPair) -> str:
        """The target and its quantisation in words."""
        return f"{self.target(pair).title} {pair.target.quant}"


class InvalidCatalog(SpecchatError):
    """A file of the catalog that does not read."""

    kind = "invalid_catalog"
    title = "The catalog has a mistake"


def catalog_folder() -> Path:
    """Ours: inside the installed package, or at the top of a source checkout."""
    return PACKAGED if PACKAGED.is_dir() else CHECKOUT


def own_catalog_folder() -> Path:
    """The person's: `catalog` in the config folder. It need not be there."""
    return config_folder() / "catalog"


def catalog_files(folder: Path) -> tuple[Path, ...]:
    """The families in a folder, by file name."""
    return tuple(sorted(folder.glob("*.toml")))


def read_catalog(*folders: Path) -> Catalog:
    """The pairs of all folders; of two with one name, the later counts. Default: only ours.

    Raises:
        InvalidCatalog: a file does not read, or refers to a model that is nowhere.
    """
    models: dict[str, CatalogModel] = {}
    pairs: dict[str, CatalogPair] = {}
    for folder in folders or (catalog_folder(),):
        for file in catalog_files(folder):
            family = _read(file)
            models |= {model.name: model for model in family.model}
            pairs |= {pair.name: pair for pair in family.pair}
    for pair in pairs.values():
        for name in (pair.target.model, pair.draft.model):
            if name is not None and name not in models:
                raise _invalid(f"Pair {pair.name} refers to a model {name}, which is nowhere.")
    return Catalog(models, pairs)


def read_all() -> Catalog:
    """Ours and the person's own.

    Raises:
        InvalidCatalog: see `read_catalog`.
    """
    return read_catalog(catalog_folder(), own_catalog_folder())


def catalog_schema() -> bytes:
    """The JSON Schema of one file, as published in docs/catalog.schema.json."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(Family)), indent=2)


def _read(file: Path) -> Family:
    try:
        return msgspec.toml.decode(file.read_bytes(), type=Family)
    except (OSError, msgspec.DecodeError) as error:  # a validation error is a decode error
        raise _invalid(f"{file.name}: {error}.") from error


def _invalid(happened: str) -> InvalidCatalog:
    return InvalidCatalog(
        "Tried to read the catalog of pairs.", happened, "Look closer with: specchat catalog check"
    )
