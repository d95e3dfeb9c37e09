"""A pair of the catalog on one machine, as plain data: what the table and the JSON show."""

from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from specchat.pairing.catalog import Catalog, CatalogModel, CatalogPair, Confidence, DraftType
from specchat.pairing.drafting import HEADS
from specchat.pairing.head_shape import TYPICAL_SHARE
from specchat.pairing.machine import Machine
from specchat.pairing.memory import MemoryPlan
from specchat.pairing.quants import bits_per_weight
from specchat.pairing.speed import Speed

OnDisk = Collection[tuple[str, str]]
"""Files that are here already: the repository, or the package, and the file's name."""
UNKNOWN_BITS = 4.85
"""Of a quantisation that is not known: the commonest one's."""


class PlannedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that takes part."""

    title: str
    quant: str
    repo: str | None
    """On the Hub; None: a package brings it, or it is inside the target's file."""
    file: str | None
    size_bytes: int
    size_known: bool
    """False: computed from parameters and quantisation."""
    on_disk: bool


class PlannedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A pair on one machine, with what speaks for it and against it."""

    name: str
    title: str
    licence: str
    use: tuple[Literal["chat", "code"], ...]
    target: PlannedFile
    draft: PlannedFile | None
    """None: only the target's file takes part."""
    drafter: DraftType | Literal["none"]
    catalog_drafter: DraftType
    draft_length: int | None
    """Tokens to begin with; None leaves it to measured cost."""
    confidence: Confidence
    n_ctx_wished: int
    """The context that the catalog suggests; the plan says what it came to."""
    fits: bool
    missing_bytes: int
    layers_moved: bool
    """Beside a card, some layers are in main memory."""
    experts_in_ram: bool
    """The experts of a mixture stay in main memory, the rest goes to the card."""
    plan: MemoryPlan
    quality: float
    """Billions of parameters of a dense model of 2024; see docs/pairs.md."""
    speed: Speed | None
    """None: it does not fit."""
    why: str
    """One line: what it is chosen for."""
    verdict: tuple[str, ...]
    """What had to give for it to fit, and why its drafter is not the catalog's; or what is missing
    where it does not fit."""

    @property
    def on_disk(self) -> bool:
        """All its files are here."""
        return self.target.on_disk and (self.draft is None or self.draft.on_disk)

    @property
    def download_bytes(self) -> int:
        """Of the files that are not here."""
        files = (self.target, self.draft)
        return sum(file.size_bytes for file in files if file is not None and not file.on_disk)


class PairsReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `specchat pairs --json` prints."""

    machine: Machine
    pairs: tuple[PlannedPair, ...]
    """The best first."""


def pairs_schema() -> bytes:
    """The JSON Schema of `PairsReport`, as published in docs/pairs.schema.json."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(PairsReport)), indent=2)


def report_json(report: PairsReport) -> str:
    """One JSON object."""
    return msgspec.json.encode(report).decode()


def target_file(catalog: Catalog, pair: CatalogPair, on_disk: OnDisk) -> PlannedFile:
    """The file that answers."""
    model, target = catalog.target(pair), pair.target
    return PlannedFile(
        title=model.title,
        quant=target.quant,
        repo=target.repo,
        file=target.file,
        size_bytes=file_bytes(target.size_gb, target.quant, model),
        size_known=target.size_gb is not None,
        on_disk=_is_here(target.repo or target.package, target.file, on_disk),
    )


def draft_file(catalog: Catalog, pair: CatalogPair, on_disk: OnDisk) -> PlannedFile:
    """The file of a small model or of a head."""
    model, draft = catalog.draft(pair), pair.draft
    quant = draft.quant or pair.target.quant
    repo, file = (draft.repo, draft.file) if draft.file else (pair.target.repo, pair.target.file)
    return PlannedFile(
        title=model.title if model else HEADS.get(draft.type, draft.type),
        quant=quant,
        repo=draft.repo,
        file=draft.file,
        size_bytes=draft_bytes(catalog, pair),
        size_known=draft.size_gb is not None or draft.file is None,
        on_disk=_is_here(repo, file, on_disk),
    )


def draft_bytes(catalog: Catalog, pair: CatalogPair) -> int:
    """Of the file of a small model or of a head; 0 where it is inside the target's file."""
    draft = pair.draft
    if draft.file is None:
        return 0
    model, quant = catalog.draft(pair), draft.quant or pair.target.quant
    if draft.size_gb is not None or model is not None:
        return file_bytes(draft.size_gb, quant, model)
    like = catalog.target(pair).params_b * TYPICAL_SHARE.get(draft.type, 0.0)
    return round(like * 1e9 * (bits_per_weight(quant) or UNKNOWN_BITS) / 8)


def file_bytes(size_gb: float | None, quant: str, model: CatalogModel | None) -> int:
    """The size in the catalog, or what parameters and quantisation make likely."""
    if size_gb is not None:
        return round(size_gb * 1e9)
    if model is None:
        return 0
    return round(model.params_b * 1e9 * (bits_per_weight(quant) or UNKNOWN_BITS) / 8)


def _is_here(source: str | None, pattern: str | None, on_disk: OnDisk) -> bool:
    return any(
        source == here and pattern is not None and fnmatchcase(name, pattern)
        for here, name in on_disk
    )
