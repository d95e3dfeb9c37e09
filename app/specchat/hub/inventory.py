"""The models on this disk: every file once, with what its header says it is."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from specchat.errors import NoModel, SpecchatError
from specchat.hub.builtin import BUILT_IN, built_in_model
from specchat.hub.finds import Find, Note, finds_on
from specchat.hub.naming import quant_of
from specchat.hub.pulled import pulled_files
from specchat.hub.shelves import Owner, Shelf
from specchat.pairing.catalog import read_catalog
from specchat.pairing.drafter_type import DRAFTER_NAMES, drafter_kind, why_no_text
from specchat.pairing.gguf_file import GgufFile, read_gguf
from specchat.pairing.head_fit import built_in_heads

ModelKind = Literal["model", "drafter", "other", "incomplete", "unreadable"]
"""Can answer; a head that guesses for its target; something else, such as an image projector;
parts are missing; not a GGUF file that reads."""
NO_CHAT_TYPES = {"mmproj": "an image projector", "adapter": "an adapter", "imatrix": "a matrix"}
"""What `general.type` says of files that are no models of their own."""

ReadHeader = Callable[[str], GgufFile]


class FoundModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model on this disk."""

    name: str
    """Its owner's name for it: a repository with its quantisation, an Ollama tag, a file's."""
    path: str
    """For --target and --draft; of a split model the first part."""
    parts: tuple[str, ...]
    """All files."""
    size_bytes: int
    owner: Owner
    also: tuple[str, ...] = ()
    """Other places and names of the same file."""
    kind: ModelKind
    architecture: str | None = None
    quant: str | None = None
    repo: str | None = None
    """On the Hub, where it is known."""
    built_in_heads: int = 0
    """MTP heads in its own file, which draft for it."""
    checksum: str | None = None
    """SHA-256, where its place states it."""
    pulled: bool = False
    """Specchat downloaded it, and may delete it."""
    note: str | None = None
    """Why it is not a model that can answer."""


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """What is on this disk."""

    models: tuple[FoundModel, ...]
    headers: dict[str, GgufFile]
    """By path, of those of kind `model` and `drafter`."""
    notes: tuple[str, ...]
    """What could not be looked at."""


def take_inventory(shelves: Iterable[Shelf], read: ReadHeader = read_gguf) -> Inventory:
    """Look at every file once."""
    notes: list[str] = []
    pulled = {entry.place.pointer.resolve() for entry in pulled_files() if entry.complete}
    models: dict[Path, FoundModel] = {}
    headers: dict[str, GgufFile] = {}
    for find in _all_finds(shelves, notes.append):
        if not _is_text(find.parts[0]):
            notes.append(f"{_shown(find.parts[0])} has a name that is no text.")
            continue
        try:
            real = find.parts[0].resolve()
            if real in models:
                models[real] = _known_elsewhere(models[real], find)
            else:
                models[real] = _look(find, read, headers, is_pulled=real in pulled)
        except OSError as error:
            notes.append(f"{find.parts[0]} cannot be read: {error.strerror}.")
    return Inventory(models=tuple(models.values()), headers=headers, notes=tuple(notes))


def _all_finds(shelves: Iterable[Shelf], note: Note) -> Iterator[Find]:
    for shelf in shelves:
        yield from finds_on(shelf, note)
    try:
        path = built_in_model()
    except NoModel:
        return
    packaged = read_catalog().pairs[BUILT_IN].target.packaged
    checksum = packaged.sha256 if packaged is not None else None
    yield Find("built_in", BUILT_IN, (path,), checksum=checksum or None)


def _is_text(path: Path) -> bool:
    """False for names of bytes that are no UTF-8: JSON and terminals have no way to write them."""
    return "\ufffd" not in _shown(path) or "\ufffd" in str(path)


def _shown(path: Path) -> str:
    return os.fsencode(path).decode(errors="replace")


def _known_elsewhere(model: FoundModel, find: Find) -> FoundModel:
    other = f"{find.owner} {find.name}"
    if other in (f"{model.owner} {model.name}", *model.also):
        return model
    return msgspec.structs.replace(model, also=(*model.also, other))


def _look(
    find: Find, read: ReadHeader, headers: dict[str, GgufFile], *, is_pulled: bool
) -> FoundModel:
    path = str(find.parts[0])
    model = FoundModel(
        name=find.name,
        path=path,
        parts=tuple(str(part) for part in find.parts),
        size_bytes=sum(part.stat().st_size for part in find.parts),
        owner=find.owner,
        kind="model",
        quant=quant_of(find.parts[0].name),
        repo=find.repo,
        checksum=find.checksum,
        pulled=is_pulled,
    )
    if find.missing_parts:
        missing = f"{find.missing_parts} of its parts are not there"
        return msgspec.structs.replace(model, kind="incomplete", note=missing)
    try:
        header = read(path)
    except SpecchatError as error:
        happened = error.happened.rstrip(".")
        return msgspec.structs.replace(model, kind="unreadable", note=happened)
    kind, note = _kind(header)
    if kind in ("model", "drafter"):
        headers[path] = header
    # The repository with a quantisation is the name of a model.
    name = find.name if kind == "model" or not find.repo else f"{find.repo}:{find.parts[0].name}"
    return msgspec.structs.replace(
        model,
        name=name,
        kind=kind,
        note=note,
        architecture=header.architecture,
        built_in_heads=built_in_heads(header) if kind == "model" else 0,
    )


def _kind(header: GgufFile) -> tuple[ModelKind, str | None]:
    stated = str(header.metadata.get("general.type", "model"))
    if stated in NO_CHAT_TYPES:
        return "other", NO_CHAT_TYPES[stated]
    drafter = drafter_kind(header)
    if drafter not in ("model", "mtp"):
        return "drafter", DRAFTER_NAMES[drafter]
    reason = why_no_text(header)
    return ("model", None) if reason is None else ("other", reason.rstrip("."))
