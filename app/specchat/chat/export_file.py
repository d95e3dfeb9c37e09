"""Exported conversations as files: named after their titles, never in place of another file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from specchat.chat.export import to_json, to_markdown
from specchat.chat.tokens import Tokens
from specchat.chat.tree import Conversation
from specchat.errors import SpecchatError

if TYPE_CHECKING:
    from specchat.chat.store import Store

Kind = Literal["markdown", "json"]

SUFFIXES: dict[Kind, str] = {"markdown": ".md", "json": ".json"}
LONGEST = 48
"""Characters of a name; with four bytes each it still fits every file system."""
UNTITLED = "chat"


class ExportFailed(SpecchatError):
    """The folder, or its disk, takes no file."""

    kind = "export_failed"
    title = "Nothing was exported"


def tokens_of(store: Store, conversation: Conversation) -> dict[int, Tokens]:
    """The tokens of all answers, by message, as far as they were kept."""
    kept = {message: store.tokens(message) for message in conversation.messages}
    return {message: tokens for message, tokens in kept.items() if tokens is not None}


def export_to(
    folder: Path, conversation: Conversation, tokens: Mapping[int, Tokens], kind: Kind
) -> Path:
    """Write a conversation into a folder; the whole path of the new file.

    Args:
        tokens: of its answers, by message; Markdown has none.

    Raises:
        ExportFailed: it cannot be written; nothing is left behind.
    """
    if kind == "json":
        data = to_json(conversation, dict(tokens))
    else:
        data = to_markdown(conversation).encode(errors="replace")
    try:
        return _write_new(folder.absolute(), conversation.summary.title, SUFFIXES[kind], data)
    except OSError as error:
        raise ExportFailed(
            f"Tried to export a conversation into {folder}.",
            f"It cannot be written: {error.strerror or error}.",
            "Start specchat in a folder of yours on a disk with room.",
        ) from error


def name_of(title: str) -> str:
    """A file's name from a title: its letters and digits, in any script."""
    title = re.sub("['\u2019]", "", title)  # of "what's"
    kept = (each if unicodedata.category(each)[0] in "LMN" else " " for each in title)
    return "-".join("".join(kept).split())[:LONGEST].rstrip("-") or UNTITLED


def _write_new(folder: Path, title: str, suffix: str, data: bytes) -> Path:
    path, file = _new_file(folder, name_of(title), suffix)
    try:
        with file:
            file.write(data)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return path


def _new_file(folder: Path, name: str, suffix: str) -> tuple[Path, BinaryIO]:
    """With a number where the name is taken."""
    number = 1
    while True:
        path = folder / f"{name}{f'-{number}' if number > 1 else ''}{suffix}"
        try:
            return path, path.open("xb")
        except FileExistsError:
            number += 1
