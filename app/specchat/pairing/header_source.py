"""Bytes that a header is read from."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from specchat.errors import ModelNotFound


class Source(Protocol):
    """Bytes that can be read at random: a file, or an address."""

    @property
    def name(self) -> str:
        """What a person knows it by."""

    @property
    def size(self) -> int:
        """Bytes in all."""

    @property
    def identity(self) -> str | None:
        """Where it is and its version; None if a change of its content would go unnoticed."""

    def read(self, offset: int, length: int) -> bytes:
        """These bytes, or fewer at the end.

        Raises:
            SpecchatError: they cannot be had.
        """


@dataclass(frozen=True)
class LocalFile:
    """An open file on this disk."""

    name: str
    size: int
    identity: str
    file: BinaryIO

    def read(self, offset: int, length: int) -> bytes:
        """These bytes, or fewer at the end."""
        try:
            self.file.seek(offset)
            return self.file.read(length)
        except OSError as error:
            raise _unreadable(self.name, error) from error


@contextmanager
def local_file(name: str) -> Iterator[LocalFile]:
    """A file on this disk, open while in use.

    Raises:
        ModelNotFound: it is missing, a folder, or cannot be read.
    """
    path = Path(name)
    tried = f"Tried to read '{name}'."
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise ModelNotFound(
                tried, "That is a folder.", "Name the .gguf file itself, as in folder/model.gguf."
            )
        if not stat.S_ISREG(status.st_mode):  # to open a pipe could wait for ever
            raise ModelNotFound(tried, "That is no ordinary file.", "Name a .gguf file.")
        file = path.open("rb")
    except (FileNotFoundError, ValueError) as error:  # ValueError: a zero byte in the name
        raise ModelNotFound(
            tried, "There is no such file.", "Check the path for a typing error."
        ) from error
    except OSError as error:
        raise _unreadable(name, error) from error
    with file:
        where = f"{os.fsencode(path.resolve())!r} {status.st_mtime_ns}"  # a name may be no text
        yield LocalFile(name, status.st_size, where, file)


def _unreadable(name: str, error: OSError) -> ModelNotFound:
    return ModelNotFound(
        f"Tried to read '{name}'.",
        f"It cannot be read: {error.strerror or os.strerror(error.errno or 0)}.",
        "Check the path and the file's permissions.",
    )
