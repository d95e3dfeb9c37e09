"""The record of what specchat downloaded: the only files that it ever deletes."""

import contextlib
import time
from pathlib import Path

import msgspec

from specchat.hub.listing import RemoteFile
from specchat.paths import data_folder


class Pulled(msgspec.Struct, frozen=True, kw_only=True):
    """A file that specchat downloaded."""

    file: RemoteFile
    path: str
    """Its name in Hugging Face's cache."""
    wanted: str
    """What the person asked for: a pair, or a repository with its quantisation."""
    at: float
    """Seconds since 1970."""


def remember(file: RemoteFile, path: Path, wanted: str) -> None:
    """Note that we downloaded this file."""
    entry = Pulled(file=file, path=str(path), wanted=wanted, at=time.time())
    note = _note(file)
    unfinished = note.with_suffix(".new")
    unfinished.write_bytes(msgspec.json.encode(entry))
    unfinished.replace(note)


def forget(file: RemoteFile) -> None:
    """The file is gone."""
    _note(file).unlink(missing_ok=True)


def pulled_files() -> tuple[Pulled, ...]:
    """What we downloaded and is still there, the oldest first; damaged notes are skipped."""
    found = []
    for note in _folder().glob("*.json"):
        with contextlib.suppress(msgspec.DecodeError, OSError):
            entry = msgspec.json.decode(note.read_bytes(), type=Pulled)
            if Path(entry.path).is_file():
                found.append(entry)
    return tuple(sorted(found, key=lambda entry: entry.at))


def _note(file: RemoteFile) -> Path:
    """One file each, so that two downloads at once do not write the same one."""
    return _folder() / f"{file.repo.replace('/', '--')}--{file.checksum}.json"


def _folder() -> Path:
    folder = data_folder() / "pulled"
    folder.mkdir(exist_ok=True)
    return folder
