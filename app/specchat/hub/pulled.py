"""The record of what specchat downloaded: the only files that it ever deletes."""

import contextlib
import time
from pathlib import Path

import msgspec

from specchat.hub.cache import CachePlace
from specchat.hub.listing import RemoteFile
from specchat.paths import data_folder, write_whole


class Pulled(msgspec.Struct, frozen=True, kw_only=True):
    """A file that specchat downloaded, or began to."""

    file: RemoteFile
    cache: str
    """Hugging Face's cache that it went to."""
    wanted: str
    """What the person asked for: a pair, or a repository with its quantisation."""
    complete: bool
    """False: an interrupted download."""
    at: float
    """Seconds since 1970."""

    @property
    def place(self) -> CachePlace:
        """Where it is."""
        return CachePlace(Path(self.cache), self.file)


def remember(place: CachePlace, wanted: str, *, complete: bool) -> None:
    """Note that we download this file, or have done so."""
    entry = Pulled(
        file=place.file, cache=str(place.cache), wanted=wanted, complete=complete, at=time.time()
    )
    write_whole(_note(place.file), msgspec.json.encode(entry))


def forget(file: RemoteFile) -> None:
    """The file is gone."""
    _note(file).unlink(missing_ok=True)


def pulled_files() -> tuple[Pulled, ...]:
    """What we downloaded or began to, and is still there, the oldest first."""
    found = []
    for note in _folder().glob("*.json"):
        with contextlib.suppress(msgspec.DecodeError, OSError):  # a damaged note says nothing
            entry = msgspec.json.decode(note.read_bytes(), type=Pulled)
            if (entry.place.pointer if entry.complete else entry.place.partial).is_file():
                found.append(entry)
    return tuple(sorted(found, key=lambda entry: entry.at))


def _note(file: RemoteFile) -> Path:
    """One file each, so that two downloads at once do not write the same one."""
    return _folder() / f"{file.repo.replace('/', '--')}--{file.checksum}.json"


def _folder() -> Path:
    folder = data_folder() / "pulled"
    folder.mkdir(exist_ok=True)
    return folder
