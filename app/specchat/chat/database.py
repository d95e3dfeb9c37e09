"""The file of the conversations, and memory in its place for as long as it cannot be written."""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from specchat.chat.migrations import is_foreign, is_newer, migrate
from specchat.errors import SpecchatError

BUSY_S = 2.0
"""How long another program's transaction is waited for; ours take about a millisecond."""
RETRY_S = 5.0
"""While chats are kept in memory: how long between attempts to get back to the disk."""
LARGEST_LOG_PAGES = 4096
"""Where SQLite itself moves the write-ahead log into the file, 16 MB: `tidy` is to be earlier."""

DISK_ERRORS = tuple(
    f"SQLITE_{name}"
    for name in (
        "FULL", "IOERR", "BUSY", "LOCKED", "READONLY", "CANTOPEN", "PERM", "NOTADB", "CORRUPT"
    )
)  # fmt: skip

Statement = tuple[str, Sequence[Any]]
"""SQL and its parameters."""

TRIED = "Tried to save this conversation."
IN_MEMORY = "Until then chats are kept in memory; export what must not be lost."


class StoreProblem(SpecchatError):
    """The file of the conversations cannot be read or written."""

    kind = "store_problem"
    title = "Chats are not saved"
    exit_code = 1
    may_pass = True
    """Whether it may be over without the file being changed by hand."""


class UnusableStore(StoreProblem):
    """The file is not ours to write: too new, another program's, damaged."""

    kind = "unusable_store"
    may_pass = False


class Database:
    """A connection that goes on in memory when the disk fails, and returns to it by itself.

    Calls come from any thread, one at a time.

    Args:
        path: None for a database that was never to be on the disk.
        trouble: why it is not there although it should be.
        connection: autocommit.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path | None, trouble: StoreProblem | None = None
    ) -> None:
        self.path = path
        self.trouble = trouble
        self._connection = connection
        self._lock = threading.RLock()
        self._unsaved: list[Sequence[Statement]] = []
        self._tried_at = time.monotonic()

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows.

        Raises:
            StoreProblem: the file cannot be read.
        """
        try:
            with self._lock:
                return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            raise problem_of(error, "Tried to read the conversations.") from error

    @contextlib.contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """A connection for what takes longer: on the disk one of its own, so that nobody waits."""
        if self.trouble or self.path is None:
            with self._lock:
                yield self._connection
            return
        with contextlib.closing(connect_to_read(self.path)) as connection:
            yield connection

    def write(self, *statements: Statement) -> None:
        """Run these in one transaction; if the disk fails, in memory from here on."""
        if not statements:
            return
        with self._lock:
            if self.trouble and time.monotonic() - self._tried_at >= RETRY_S:
                self.return_to_disk()
            try:
                _run(self._connection, statements)
            except sqlite3.DatabaseError as error:
                if self.trouble or self.path is None or not _is_of_the_disk(error):
                    raise
                self._fall_back(error)
                _run(self._connection, statements)
            if self.trouble:
                self._unsaved.append(statements)

    def tidy(self) -> None:
        """Move the write-ahead log into the file. It waits for the disk, and nobody for it."""
        if self.path is None or self.trouble:
            return
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(_opened(str(self.path), 0)) as connection,
        ):
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def return_to_disk(self) -> bool:
        """Write to the disk what is in memory only; whether that worked.

        What other programs wrote there meanwhile stays: ids do not collide.
        """
        with self._lock:
            if self.trouble is None or self.path is None or not self.trouble.may_pass:
                return self.trouble is None
            self._tried_at = time.monotonic()
            try:
                connection = connect(self.path, busy_s=0.1)
            except StoreProblem as problem:
                self.trouble = problem
                return False
            try:
                _run(connection, [each for statements in self._unsaved for each in statements])
            except sqlite3.DatabaseError as error:
                self.trouble = problem_of(error)
                connection.close()
                return False
            connection.execute(f"PRAGMA busy_timeout = {BUSY_S * 1000:.0f}")
            self._connection.close()
            self._connection, self.trouble = connection, None
            self._unsaved.clear()
            return True

    def close(self) -> None:
        """Get back to the disk if that can be, and let go of the file."""
        with self._lock:
            if self.trouble:
                self.return_to_disk()
            self._connection.close()

    def _fall_back(self, error: sqlite3.Error) -> None:
        self.trouble = problem_of(error)
        self._tried_at = time.monotonic()
        old, self._connection = self._connection, memory()
        try:
            old.backup(self._connection)
        except sqlite3.Error:  # the disk is gone: what follows is kept, though its parents are not
            self._connection = memory()
            self._connection.execute("PRAGMA foreign_keys = OFF")
        with contextlib.suppress(sqlite3.Error):
            old.close()


def connect(path: Path, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """Open the file for writing, made and brought up to date where needed.

    Raises:
        UnusableStore: it is too new, another program's or damaged; it is left as it is.
        StoreProblem: it cannot be written now.
    """
    try:
        if path.exists() and path.stat().st_size:
            _refuse_unusable(path)
        else:  # what people say to a model is nobody else's business
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = _opened(str(path), busy_s)
    except OSError as error:
        raise _cannot_write(path, error.strerror or str(error)) from error
    except sqlite3.DatabaseError as error:
        raise problem_of(error, path=path) from error
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # Nothing is lost when the program dies; the last second may be when the power goes.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LARGEST_LOG_PAGES}")
        connection.execute("BEGIN IMMEDIATE")  # a file that cannot be written is found out now
        connection.execute("ROLLBACK")
        migrate(connection)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise problem_of(error, path=path) from error
    return connection


def memory() -> sqlite3.Connection:
    """An empty database in memory, up to date."""
    connection = _opened(":memory:", 0)
    migrate(connection)
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open the file without ever changing it; a folder that cannot be written does not matter.

    Raises:
        sqlite3.DatabaseError: it cannot be read.
    """
    address = path.absolute().as_uri()
    if path.with_name(path.name + "-wal").exists():  # what is in the log counts too
        with contextlib.suppress(sqlite3.DatabaseError):
            return _readable(f"{address}?mode=ro")
    # Nobody has it open: without locks SQLite leaves no files of its own beside it.
    return _readable(f"{address}?immutable=1")


def copied_to_memory(path: Path | None) -> sqlite3.Connection:
    """What the file holds, as far as there is one, it is ours and can be read."""
    connection = memory()
    if path is None:
        return connection
    with contextlib.suppress(sqlite3.Error, OSError, StoreProblem):
        if path.exists() and path.stat().st_size:
            _refuse_unusable(path)
            with contextlib.closing(connect_to_read(path)) as file:
                file.backup(connection)
            migrate(connection)
    return connection


def problem_of(error: sqlite3.Error, tried: str = TRIED, path: Path | None = None) -> StoreProblem:
    """What SQLite reports, for the person."""
    name = _name(error)
    of_file = f" {path}" if path else ""
    if name.startswith("SQLITE_FULL"):
        return StoreProblem(tried, "The disk is full.", f"Free some space. {IN_MEMORY}")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreProblem(
            tried,
            f"Another program holds the file{of_file}.",
            f"End that program. {IN_MEMORY}",
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return _cannot_write(path, "it, or its folder, is read-only", tried)
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        what = "is no database" if name.startswith("SQLITE_NOTADB") else "is damaged"
        return UnusableStore(
            tried,
            f"The file{of_file} {what}.",
            f"Move it away, or put a copy of an earlier day in its place. {IN_MEMORY}",
        )
    return StoreProblem(tried, f"The disk reports: {error}.", f"Look after the disk. {IN_MEMORY}")


def _cannot_write(path: Path | None, why: str, tried: str = TRIED) -> StoreProblem:
    where = f"The file {path}" if path else "The file of the conversations"
    return StoreProblem(
        tried,
        f"{where} cannot be written: {why[:1].lower()}{why[1:]}.",
        "Make it writable, or name another folder in the environment variable SPECCHAT_HOME. "
        + IN_MEMORY,
    )


def _refuse_unusable(path: Path) -> None:
    with contextlib.closing(connect_to_read(path)) as connection:
        if is_foreign(connection):
            raise UnusableStore(
                TRIED,
                f"The file {path} belongs to another program.",
                f"Move it away. {IN_MEMORY}",
            )
        if is_newer(connection):
            raise UnusableStore(
                TRIED,
                f"The file {path} was written by a newer specchat.",
                f"Update specchat. {IN_MEMORY}",
            )


def _opened(name: str, busy_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        name,
        timeout=busy_s,
        isolation_level=None,
        check_same_thread=False,
        uri=name.startswith("file:"),
    )
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _readable(name: str) -> sqlite3.Connection:
    connection = _opened(name, BUSY_S)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _run(connection: sqlite3.Connection, statements: Sequence[Statement]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for sql, parameters in statements:
            connection.execute(sql, parameters)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk may have rolled back already
            connection.execute("ROLLBACK")
        raise


def _is_of_the_disk(error: sqlite3.Error) -> bool:
    """Whether the file is at fault, not the statement."""
    return _name(error).startswith(DISK_ERRORS)


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""
