"""The pair that was used last, in the data folder."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from specchat.paths import data_folder, write_whole

if TYPE_CHECKING:
    from specchat.choosing.choice import Choice


class LastPair(msgspec.Struct, frozen=True, kw_only=True):
    """Files that were loaded, and what the catalog calls them."""

    target: str
    draft: str | None = None
    name: str | None = None


def last_pair() -> LastPair | None:
    """The pair of the last chat; None where there was none, or a file of it is gone."""
    try:
        last = msgspec.json.decode(_file().read_bytes(), type=LastPair)
    except (OSError, msgspec.DecodeError):
        return None
    files = [last.target] if last.draft is None else [last.target, last.draft]
    return last if all(Path(file).is_file() for file in files) else None


def remember(choice: Choice) -> None:
    """Keep the pair for the next start; called once it has been loaded in the chat.

    Where the data folder cannot be written, nothing is kept. The built-in model is what is opened
    anyway, unless it was named.
    """
    if choice.origin == "built_in":
        return
    files = choice.files
    last = LastPair(
        target=str(Path(files.target).absolute()),
        draft=str(Path(files.draft).absolute()) if files.draft is not None else None,
        name=choice.name,
    )
    with contextlib.suppress(OSError):
        write_whole(_file(), msgspec.json.encode(last))


def _file() -> Path:
    return data_folder() / "last-pair.json"
