"""The catalog's files that are on this disk, wherever another program put them.

Only names are looked at: no header is read, and huggingface-hub, which takes a while to import, is
left alone.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from specchat.hub.builtin import find_packaged
from specchat.hub.finds import Find, finds_on
from specchat.hub.naming import base_name, split_part
from specchat.hub.shelves import Shelf, shelves
from specchat.pairing.catalog import Catalog, CatalogPair
from specchat.settings_file import read_settings

FilesHere = Mapping[tuple[str, str], Path]
"""By repository, or package, and the file's name; of a split model the first part."""


class PairFiles(NamedTuple):
    """The files of a pair that are here."""

    target: Path | None
    draft: Path | None


def models_on_disk() -> tuple[Find, ...]:
    """What other programs and `specchat pull` keep here, by name; split models that are whole."""
    finds = (find for shelf in shelves_here() for find in finds_on(shelf, lambda _: None))
    return tuple(find for find in finds if not find.missing_parts)


def shelves_here() -> list[Shelf]:
    """The folders of models on this machine."""
    home = Path.home()
    cache = hugging_face_cache(os.environ, home)
    return shelves(cache, os.environ, home, sys.platform, read_settings().models.folders)


def hugging_face_cache(environment: Mapping[str, str], home: Path) -> Path:
    """Where huggingface-hub keeps models, by its own rule (huggingface_hub/constants.py)."""
    if cache := environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE"):
        return _expanded(cache)
    if folder := environment.get("HF_HOME"):
        return _expanded(folder) / "hub"
    folder = environment.get("XDG_CACHE_HOME")
    return (_expanded(folder) if folder else home / ".cache") / "huggingface" / "hub"


def files_here(catalog: Catalog, finds: Iterable[Find] | None = None) -> FilesHere:
    """The files of the catalog that need no download, those of installed packages among them.

    A file outside a folder that names its repository counts as the catalog's if its name is the
    same.

    Args:
        finds: what is on this disk; None looks.
    """
    found: dict[tuple[str, str], Path] = {}
    wanted = dict.fromkeys(_files_on_the_hub(catalog))
    for find in models_on_disk() if finds is None else finds:
        for name in _names(find):
            known = [(find.repo, name)] if find.repo else _named_alike(name, wanted)
            for file in known:
                found.setdefault(file, find.parts[0])
    for pair in catalog.pairs.values():
        packaged = pair.target.packaged
        path = find_packaged(packaged) if packaged is not None else None
        if packaged is not None and path is not None:
            found[packaged.package, packaged.file] = path
    return found


def pair_files(pair: CatalogPair, here: FilesHere) -> PairFiles:
    """The files of this pair."""
    target, draft = pair.target, pair.draft
    return PairFiles(
        target=_path(target.repo or target.package, target.file, here),
        draft=_path(draft.repo, draft.file, here),
    )


def _path(source: str | None, pattern: str | None, here: FilesHere) -> Path | None:
    if source is None or pattern is None:
        return None
    for (repo, name), path in here.items():
        if repo == source and fnmatchcase(name, pattern):
            return path
    return None


def _files_on_the_hub(catalog: Catalog) -> Iterator[tuple[str, str]]:
    for pair in catalog.pairs.values():
        for file in (pair.target, pair.draft):
            if file.repo is not None and file.file is not None:
                yield file.repo, file.file


def _names(find: Find) -> Iterator[str]:
    """The file's name; of a split model also the one that it would have in one piece."""
    name = find.parts[0].name
    yield name
    part = split_part(name)
    if part is not None:
        yield f"{base_name(part.stem)}.gguf"


def _named_alike(name: str, wanted: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """llama.cpp's older cache puts the repository before the name."""
    return [
        (repo, file) for repo, file in wanted if name in (file, f"{repo.replace('/', '_')}_{file}")
    ]


def _expanded(folder: str) -> Path:
    return Path(os.path.expandvars(folder)).expanduser()
