"""The layout of the database, as steps that are each applied once and in order."""

import sqlite3
import time
from collections.abc import Sequence

APPLICATION_ID = 0x73706563
"""`spec` in ASCII: marks the file as ours (SQLite, PRAGMA application_id)."""

Migration = tuple[str, tuple[str, ...]]
"""A name, and the statements."""

CONVERSATIONS = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    """CREATE TABLE conversations (
        id INTEGER PRIMARY KEY,
        title TEXT NOT NULL,
        title_given INTEGER NOT NULL DEFAULT 0,
        pinned INTEGER NOT NULL DEFAULT 0,
        archived INTEGER NOT NULL DEFAULT 0,
        setup BLOB NOT NULL,
        current INTEGER,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        deleted_at INTEGER
    )""",
    "CREATE INDEX conversations_listed ON conversations (archived, pinned DESC, updated_at DESC)"
    " WHERE deleted_at IS NULL",
    "CREATE INDEX conversations_deleted ON conversations (deleted_at) WHERE deleted_at IS NOT NULL",
    # No cascade from parent to child: SQLite follows one for a thousand steps at most.
    """CREATE TABLE messages (
        id INTEGER PRIMARY KEY,
        conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
        parent INTEGER REFERENCES messages DEFERRABLE INITIALLY DEFERRED,
        role TEXT NOT NULL,
        state TEXT NOT NULL,
        writer TEXT,
        created_at INTEGER NOT NULL,
        text TEXT NOT NULL
    )""",
    "CREATE INDEX messages_of_conversation ON messages (conversation, id)",
    "CREATE INDEX messages_by_parent ON messages (parent)",
    "CREATE INDEX messages_being_written ON messages (writer) WHERE writer IS NOT NULL",
    """CREATE TABLE answers (
        message INTEGER PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
        target TEXT NOT NULL,
        draft TEXT,
        drafter TEXT NOT NULL,
        rule TEXT NOT NULL,
        emitted INTEGER NOT NULL,
        tested INTEGER NOT NULL,
        accepted INTEGER NOT NULL,
        decode_s REAL NOT NULL,
        plain_tokens_per_second REAL,
        time_to_first_token_s REAL,
        record BLOB NOT NULL,
        tokens BLOB
    )""",
)

SEARCH = (
    # Trigrams find any part of a word, in scripts without spaces too. `detail=none` keeps the
    # index half as large and five times as quick to write; what it finds is looked at again.
    "CREATE VIRTUAL TABLE found USING fts5(text, content='messages', content_rowid='id',"
    " tokenize='trigram', detail=none)",
    # An answer is indexed when it has ended, not each second.
    """CREATE TRIGGER message_added AFTER INSERT ON messages WHEN new.state <> 'writing' BEGIN
        INSERT INTO found (rowid, text) VALUES (new.id, new.text);
    END""",
    """CREATE TRIGGER message_changed AFTER UPDATE OF text, state ON messages
    WHEN old.state <> 'writing' OR new.state <> 'writing' BEGIN
        INSERT INTO found (found, rowid, text)
        SELECT 'delete', old.id, old.text WHERE old.state <> 'writing';
        INSERT INTO found (rowid, text) SELECT new.id, new.text WHERE new.state <> 'writing';
    END""",
    """CREATE TRIGGER message_removed AFTER DELETE ON messages WHEN old.state <> 'writing' BEGIN
        INSERT INTO found (found, rowid, text) VALUES ('delete', old.id, old.text);
    END""",
)

ROUNDS = ("ALTER TABLE answers ADD COLUMN rounds BLOB",)

MIGRATIONS: Sequence[Migration] = (
    ("conversations and messages", CONVERSATIONS),
    ("search", SEARCH),
    ("rounds of answers", ROUNDS),
)


def applied(connection: sqlite3.Connection) -> list[str]:
    """Names of the steps that this database has seen, in order."""
    tables = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migrations'")
    if tables.fetchone() is None:
        return []
    rows = connection.execute("SELECT name FROM migrations ORDER BY place")
    return [name for (name,) in rows]


def is_foreign(connection: sqlite3.Connection) -> bool:
    """Whether another program's tables are in there."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(mark != APPLICATION_ID and tables)


def is_newer(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> bool:
    """Whether it has seen steps that we do not know."""
    ours = [name for name, _ in migrations]
    theirs = applied(connection)
    return theirs != ours[: len(theirs)]


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Apply what is missing, each step in a transaction of its own.

    Another program may do the same at this moment: the lock is taken before looking.

    Args:
        connection: in autocommit mode.
    """
    if [name for name, _ in migrations] == applied(connection):
        return
    for place, (name, statements) in enumerate(migrations):
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations ("
                "place INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, applied_at INTEGER NOT NULL)"
            )
            if name not in applied(connection):
                for statement in statements:
                    connection.execute(statement)
                row = (place, name, int(time.time() * 1000))
                connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", row)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
