"""Trained heads in a repository of the Hub: told from models, and the one that fits a model.

A name is enough to look into a file, and its header decides. Headers are some megabytes, so that
only the files in question are asked for.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from specchat.errors import SpecchatError
from specchat.hub.cache import CachePlace
from specchat.hub.listing import RemoteFile, Repository
from specchat.hub.naming import (
    companion,
    is_gguf,
    is_named_head,
    named_kind,
    quant_of,
    split_part,
)
from specchat.hub.remote_header import read_remote
from specchat.pairing.drafter_type import DrafterKind, drafter_kind
from specchat.pairing.gguf_file import GgufFile, read_gguf
from specchat.pairing.head_choice import LARGEST_SHARE, PREFERRED_KINDS, head_order
from specchat.pairing.head_fit import HEADS, built_in_heads
from specchat.pairing.verdict import judge

MOST_FILES = 8
"""That are looked into for one model, the best first."""

Notice = Callable[[str], None]


class RemoteHead(msgspec.Struct, frozen=True):
    """A head on the Hub that drafts for a model of its repository."""

    file: RemoteFile
    kind: DrafterKind


def is_head(parts: Sequence[str], repository: Repository, cache: Path) -> bool:
    """Whether a file is a head, by its header where its name or its size leaves that open.

    One that cannot be read counts as a model: the download will say what is wrong with it.
    """
    files = {file.name: file for file in repository.files}
    if len(parts) > 1 or not _may_be_head(files[parts[0]], repository):
        return False
    try:
        return drafter_kind(_header(files[parts[0]], cache)) in HEADS
    except SpecchatError:
        return False


def head_for(
    names: Sequence[str], repository: Repository, cache: Path, notice: Notice
) -> RemoteHead | None:
    """The head in the repository that drafts for a model of it, if the model has none inside.

    Args:
        names: the model's file, or all its parts.
        notice: told why a head that is there is not taken.
    """
    model = [file for file in repository.files if file.name in names]
    candidates = _candidates(model, repository)
    if is_named_head(names[0]) or not candidates:
        return None
    try:
        target = _header(model[0], cache)
    except SpecchatError as error:
        notice(f"No head is looked for. {error.message}")
        return None
    if built_in_heads(target) or drafter_kind(target) in HEADS:
        return None
    refusals = []
    for file in candidates[:MOST_FILES]:
        try:
            verdict = judge(target, _header(file, cache))
        except SpecchatError as error:
            refusals.append(f"{error.message}")
            continue
        if verdict.drafter not in HEADS:
            continue
        if verdict.usable:
            return RemoteHead(file, verdict.drafter)
        refusals.append(verdict.sentence)
    if refusals:
        notice(f"No head is downloaded. {refusals[0]}")
    return None


def _may_be_head(file: RemoteFile, repository: Repository) -> bool:
    """By its name, or because it is small beside another file of its quantisation."""
    quant = quant_of(file.name)
    return _kind_by_name(file, repository) is not None or any(
        file.size_bytes <= LARGEST_SHARE * other.size_bytes and quant_of(other.name) == quant
        for other in _models_and_heads(repository)
    )


def _candidates(model: Sequence[RemoteFile], repository: Repository) -> list[RemoteFile]:
    """Files that may be heads for the model, by name and size; the one that suits it best first."""
    most_bytes = LARGEST_SHARE * sum(file.size_bytes for file in model)
    model_quant = quant_of(model[0].name)
    order: dict[RemoteFile, tuple[int, ...]] = {}
    for file in _models_and_heads(repository):
        kind = _kind_by_name(file, repository)
        if kind and file not in model and not split_part(file.name):
            best_first = head_order(quant_of(file.name), file.size_bytes, model_quant)
            order[file] = PREFERRED_KINDS.index(kind), *best_first
    return sorted((file for file in order if file.size_bytes <= most_bytes), key=order.__getitem__)


def _kind_by_name(file: RemoteFile, repository: Repository) -> DrafterKind | None:
    """What the name says; nothing where it is the name of the whole family."""
    kind = named_kind(file.name)
    if is_named_head(file.name) or any(
        named_kind(other.name) is None for other in _models_and_heads(repository)
    ):
        return kind
    return None


def _models_and_heads(repository: Repository) -> Iterator[RemoteFile]:
    return (file for file in repository.files if is_gguf(file.name) and not companion(file.name))


def _header(file: RemoteFile, cache: Path) -> GgufFile:
    place = CachePlace(cache, file)
    return read_gguf(place.pointer) if place.is_here() else read_remote(f"{file.repo}:{file.name}")
