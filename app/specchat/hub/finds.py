"""The GGUF files on a shelf, with the names that people know them by. Nothing is opened but
Ollama's manifests, and nothing is written."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from specchat.hub.naming import is_gguf, quant_of, split_names, split_part
from specchat.hub.shelves import Owner, Shelf

CACHED = re.compile(r"models--(?P<repo>.+)")
DIGEST = re.compile(r"sha256[-:]([0-9a-f]{64})")
BLOB = re.compile(r"[0-9a-f]{64}")
MODEL_LAYER = "application/vnd.ollama.image.model"
LARGEST_MANIFEST = 1 << 20
DEFAULT_REGISTRY, DEFAULT_OWNER = "registry.ollama.ai", "library"

Note = Callable[[str], None]


class Find(NamedTuple):
    """A file on a shelf, or all parts of a split one."""

    owner: Owner
    name: str
    parts: tuple[Path, ...]
    missing_parts: int = 0
    checksum: str | None = None
    """SHA-256 of a file that is one part, where the shelf states it."""
    repo: str | None = None
    """On the Hub, where the folder says so."""


class _Layer(msgspec.Struct):
    mediaType: str  # noqa: N815 - the manifest's word
    digest: str


class _Manifest(msgspec.Struct):
    layers: list[_Layer] = []


def finds_on(shelf: Shelf, note: Note) -> Iterator[Find]:
    """What is on a shelf. Folders that cannot be read are noted and skipped."""
    if shelf.owner == "ollama":
        yield from _ollama(shelf.folder, note)
        return
    folders: dict[Path, list[str]] = {}
    for folder, names in _walk(shelf.folder, note):
        ggufs = sorted(name for name in names if is_gguf(name))
        if ggufs:
            folders[folder] = ggufs
    for folder in sorted(folders):
        for parts, missing in _whole(folders[folder]):
            yield _named(shelf, tuple(folder / part for part in parts), missing)


def _walk(top: Path, note: Note) -> Iterator[tuple[Path, list[str]]]:
    """Every folder once, links to folders included."""
    seen: set[str] = set()

    def unreadable(error: OSError) -> None:
        note(f"{error.filename} cannot be read: {error.strerror}.")

    for folder, folders, names in os.walk(top, followlinks=True, onerror=unreadable):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if name not in (".locks", "blobs", ".git"))
        yield Path(folder), names


def _whole(names: list[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    """The models in one folder: their parts that are there, and how many are missing."""
    there = set(names)
    done: set[str] = set()
    for name in names:
        part = split_part(name)
        expected = (name,) if part is None or part.of > 1000 else split_names(part)
        found = tuple(each for each in expected if each in there) or (name,)
        if found[0] not in done:
            done.add(found[0])
            yield found, len(expected) - len(found)


def _named(shelf: Shelf, parts: tuple[Path, ...], missing: int) -> Find:
    first = parts[0]
    part = split_part(first.name)
    stem = part.stem if part else first.stem
    inside = first.relative_to(shelf.folder).parts
    name, repo, checksum = stem, None, None
    cached = next((match for folder in inside if (match := CACHED.fullmatch(folder))), None)
    if cached and cached_commit(first):
        repo = cached["repo"].replace("--", "/")
        blob = first.resolve().name
        checksum = blob if len(parts) == 1 and BLOB.fullmatch(blob) else None
    elif shelf.owner == "lm_studio" and len(inside) == 3:
        repo = "/".join(inside[:2])
    elif shelf.owner == "jan" and len(inside) > 1:
        name = "/".join(inside[:-1])
    if repo is not None:
        name = f"{repo}:{quant_of(first.name) or first.name}"
    return Find(shelf.owner, name, parts, missing, checksum, repo)


def cached_commit(file: Path) -> str | None:
    """The commit of a file in Hugging Face's cache, by its folder."""
    folders = file.parts[:-1]
    if "snapshots" not in folders[:-1]:
        return None
    return folders[folders.index("snapshots") + 1]


def cached_repository(file: Path) -> Path | None:
    """The folder of a file's repository in Hugging Face's cache, `models--OWNER--NAME`."""
    for folder in file.parents:
        if folder.name == "snapshots" and CACHED.fullmatch(folder.parent.name):
            return folder.parent
    return None


def _ollama(folder: Path, note: Note) -> Iterator[Find]:
    manifests = folder / "manifests"
    for where, names in _walk(manifests, note):
        for tag in sorted(names):
            digest = _model_digest(where / tag)
            blob = folder / "blobs" / f"sha256-{digest}"
            if digest is not None and blob.is_file():
                name = _ollama_name((where / tag).relative_to(manifests).parts)
                yield Find("ollama", name, (blob,), checksum=digest)


def _model_digest(manifest: Path) -> str | None:
    try:
        if manifest.stat().st_size > LARGEST_MANIFEST:
            return None
        layers = msgspec.json.decode(manifest.read_bytes(), type=_Manifest).layers
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    for layer in layers:
        if layer.mediaType == MODEL_LAYER and (match := DIGEST.fullmatch(layer.digest)):
            return match[1]
    return None


def _ollama_name(place: tuple[str, ...]) -> str:
    """As `ollama list` shows it: without its own registry and owner."""
    *owners, tag = place
    if owners[:1] == [DEFAULT_REGISTRY]:
        owners = owners[1:]
        if owners[:1] == [DEFAULT_OWNER]:
            owners = owners[1:]
    return f"{'/'.join(owners)}:{tag}"
