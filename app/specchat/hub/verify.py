"""Whether the files on this disk are still what they were: their bytes against known checksums."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from specchat.errors import SpecchatError
from specchat.hub.cache import CachePlace
from specchat.hub.finds import BLOB, cached_commit
from specchat.hub.inventory import FoundModel
from specchat.hub.listing import RemoteFile, list_repository
from specchat.hub.progress import Listener, Meter
from specchat.hub.pulled import pulled_files
from specchat.hub.transfer import READ_BYTES, new_digest

Outcome = Literal["whole", "damaged", "unknown"]


class Verified(NamedTuple):
    """What was found out about a model."""

    model: FoundModel
    outcome: Outcome
    sentence: str


def verify_models(models: Iterable[FoundModel], listener: Listener) -> Iterator[Verified]:
    """Read every file whose checksum its place, our record or the Hub knows."""
    ours = {
        entry.place.pointer.absolute(): entry.file for entry in pulled_files() if entry.complete
    }
    for model in models:
        if model.kind == "incomplete":
            yield Verified(model, "damaged", f"{model.note}.")
            continue
        try:
            yield _verify(model, ours, listener)
        except OSError as error:
            yield Verified(model, "unknown", f"It cannot be read: {error.strerror}.")


def _verify(model: FoundModel, ours: dict[Path, RemoteFile], listener: Listener) -> Verified:
    known = [_expected(model, Path(part), ours, listener) for part in model.parts]
    files = [file for file in known if file is not None]
    if len(files) < len(known):
        return Verified(model, "unknown", "Nobody here knows its checksum.")
    meter = Meter(files, listener)
    for part, file in zip(model.parts, files, strict=True):
        meter.begin(file, "checking")
        size = Path(part).stat().st_size
        if size != file.size_bytes:
            return Verified(model, "damaged", f"It has {size:,} bytes, not {file.size_bytes:,}.")
        digest = new_digest(file)
        with Path(part).open("rb") as source:
            while block := source.read(READ_BYTES):
                digest.update(block)
                meter.advance(len(block))
        if digest.hexdigest() != file.checksum:
            name = Path(part).name
            return Verified(model, "damaged", f"The bytes of {name} are not those it had.")
    return Verified(model, "whole", "Its checksum is right.")


def _expected(
    model: FoundModel, part: Path, ours: dict[Path, RemoteFile], listener: Listener
) -> RemoteFile | None:
    """What the file should be: by our record, by the name of its blob, else by the Hub."""
    if part.absolute() in ours:
        return ours[part.absolute()]
    blob = part.resolve().name
    checksum = blob if model.owner == "hugging_face" and BLOB.fullmatch(blob) else model.checksum
    if checksum is not None:
        return RemoteFile(
            repo=model.repo or "",
            commit="",
            name=part.name,
            size_bytes=part.stat().st_size,
            checksum=checksum,
        )
    commit = cached_commit(part)
    if model.repo is None or commit is None:
        return None
    try:
        listed = list_repository(model.repo, listener.notice, commit).files
    except SpecchatError:
        return None
    cache = next(folder for folder in part.parents if folder.name.startswith("models--")).parent
    return next((file for file in listed if CachePlace(cache, file).pointer == part), None)
