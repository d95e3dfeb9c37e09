"""Nothing is lost: programs are killed, disks are full, files are too new or not ours."""

import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import repeat
from pathlib import Path

import pytest

from specchat.chat import database
from specchat.chat.database import StoreProblem, UnusableStore
from specchat.chat.migrations import APPLICATION_ID, MIGRATIONS, applied, migrate
from specchat.chat.store import Store, open_store
from support.processes import Process

WRITER = Path(__file__).parents[1] / "support" / "writing_store.py"
KILLS = 20
AT_ONCE = 4
"""Programs that write to one file; more of them wait for each other and not for the person."""
OLDEST_S = 1.0
"""Text that was shown longer ago has to be there."""
NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """Files can grow no further: the kernel refuses it, as it does when there is no room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = max(file.stat().st_size for file in path.parent.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder that may be read and no more; root becomes somebody else for that."""
    is_root = os.geteuid() == 0
    parents = [folder, *folder.parents[:-1]]
    modes = {each: each.stat().st_mode for each in parents if each.owner() == parents[0].owner()}
    for each in modes:
        each.chmod(0o555)
    for file in folder.iterdir():
        file.chmod(0o444)
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for each, mode in modes.items():
            each.chmod(mode)


def question(store: Store, text: str) -> int:
    return store.ask(store.new(title="talk"), text, None)


def questions(store: Store) -> set[str]:
    return {
        message.text
        for summary in store.conversations()
        for message in store.load(summary.id).messages.values()
    }


def writer(path: Path, name: str) -> Process[str]:
    """A program that begins to show an answer."""
    return Process(
        [sys.executable, str(WRITER), str(path), name],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def killed_after(path: Path, name: str, seconds: float) -> list[str]:
    """What a program had shown for longer than a second when it was killed."""
    with writer(path, name) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(seconds)
        process.kill()
        killed_at = time.monotonic()
        shown = first + process.stdout.read()
    whole = [line.split() for line in shown.splitlines() if line.endswith(".")]
    return [text for at, text in whole if float(at) < killed_at - OLDEST_S]


def test_killed_programs_lose_no_text_older_than_a_second(path: Path) -> None:
    draw = random.Random(5)
    names = [f"writer-{number}" for number in range(KILLS)]
    seconds = [draw.uniform(1.1, 1.8) for _ in names]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        shown = pool.map(killed_after, repeat(path), names, seconds)
        expected = dict(zip(names, shown, strict=True))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    store = Store.open(path)
    kept = {summary.title: store.load(summary.id).path for summary in store.conversations()}
    found = store.search("interrupted-word", limit=100)
    store.close()

    assert kept.keys() == expected.keys()
    for name, old in expected.items():
        question, answer = kept[name]
        assert question.text == name
        assert answer.state == "interrupted"
        assert answer.text.split()[: len(old)] == old
    assert sum(map(len, expected.values())) > KILLS
    assert len(found) == KILLS


def test_on_a_full_disk_it_goes_on_in_memory_and_says_so(path: Path) -> None:
    store = Store.open(path)
    question(store, "before")
    with full_disk(path):
        message = question(store, "x" * 1_000_000)
        assert store.trouble is not None
        assert "disk" in store.trouble.happened
        assert "kept in memory" in store.trouble.next_step
        answer = store.begin_answer(store.conversations()[0].id, message)
        store.append(answer, "an answer")
        store.finish(answer, "complete")

        assert questions(store) == {"before", "x" * 1_000_000, "an answer"}
    store.close()


def test_once_there_is_room_again_all_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "RETRY_S", 0.0)
    store, other = Store.open(path), Store.open(path)
    with full_disk(path):
        question(store, "x" * 1_000_000)
    question(other, "of another program")
    question(store, "after")

    assert store.trouble is None
    assert questions(store) == {"x" * 1_000_000, "of another program", "after"}
    store.close()
    other.close()


def test_closing_writes_what_is_in_memory_if_it_can(path: Path) -> None:
    store = Store.open(path)
    with full_disk(path):
        question(store, "x" * 1_000_000)
    store.close()
    again = Store.open(path)
    kept = questions(again)
    again.close()

    assert kept == {"x" * 1_000_000}


def test_in_a_read_only_folder_old_chats_can_be_read_and_new_ones_are_in_memory(
    path: Path,
) -> None:
    store = Store.open(path)
    question(store, "before")
    store.close()
    with read_only(path.parent):
        with pytest.raises(StoreProblem, match=r"read-only|permission denied") as refusal:
            Store.open(path)
        store = open_store(path)
        question(store, "after")
        kept = questions(store)
        store.close()

    assert str(path) in refusal.value.message
    assert "SPECCHAT_HOME" in refusal.value.next_step
    assert kept == {"before", "after"}


def test_without_a_folder_it_works_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = open_store(tmp_path / "file" / "chats.db")
    question(store, "anyone?")

    assert isinstance(store.trouble, StoreProblem)
    assert questions(store) == {"anyone?"}
    store.close()


def test_two_programs_can_write_at_once(path: Path) -> None:
    stores = [Store.open(path) for _ in range(2)]
    for number in range(50):
        question(stores[number % 2], f"{number}")

    assert all(questions(store) == set(map(str, range(50))) for store in stores)
    assert all(store.trouble is None for store in stores)
    for store in stores:
        store.close()


def test_it_waits_for_a_program_that_is_writing(path: Path) -> None:
    store = Store.open(path)
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.3, lambda: other.execute("COMMIT"))
        timer.start()
        question(store, "waited")
        timer.join()

    assert store.trouble is None
    assert questions(store) == {"waited"}
    store.close()


def test_a_program_that_never_lets_go_of_the_file_is_not_waited_for_long(path: Path) -> None:
    store = Store.open(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        question(store, "kept")
        assert store.trouble is not None
        assert "Another program holds the file" in store.trouble.happened
        other.execute("ROLLBACK")
    store.close()
    again = Store.open(path)
    assert questions(again) == {"kept"}
    again.close()


def test_an_answer_of_a_program_that_still_runs_is_left_alone(path: Path) -> None:
    with writer(path, "slow") as process:
        assert process.stdout is not None
        process.stdout.readline()
        store = Store.open(path)
        state = store.load(store.conversations()[0].id).path[1].state
        store.close()

    assert state == "writing"


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_newer_database_is_refused_and_never_touched(path: Path) -> None:
    store = Store.open(path)
    question(store, "of the future")
    store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO migrations VALUES (99, 'telepathy', 0)")
    before = files(path.parent)
    with pytest.raises(UnusableStore, match=r"written by a newer specchat.*Update specchat"):
        Store.open(path)
    store = open_store(path)
    question(store, "of today")
    store.close()

    assert isinstance(store.trouble, UnusableStore)
    assert files(path.parent) == before


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"Dear diary, today I wrote a long text.\n" * 200, "is no database"), (None, "is damaged")],
    ids=["text", "damaged"],
)
def test_a_file_that_cannot_be_used_is_left_as_it_is(
    path: Path, content: bytes | None, says: str
) -> None:
    if content is None:
        store = Store.open(path)
        question(store, "x" * 100_000)
        store.close()
        content = path.read_bytes()[:100] + b"\xff" * 8000 + path.read_bytes()[8100:]
    path.write_bytes(content)
    with pytest.raises(UnusableStore, match=says):
        Store.open(path)
    store = open_store(path)
    question(store, "kept in memory")
    store.close()

    assert path.read_bytes() == content


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (address TEXT)")
    before = files(path.parent)
    with pytest.raises(UnusableStore, match="belongs to another program"):
        Store.open(path)

    assert files(path.parent) == before


def test_each_step_of_the_layout_is_applied_once_and_in_order(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, MIGRATIONS[:1])
        assert applied(connection) == [MIGRATIONS[0][0]]
        migrate(connection)
        migrate(connection)

        assert applied(connection) == [name for name, _ in MIGRATIONS]
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


def test_a_step_that_fails_leaves_nothing_behind(path: Path) -> None:
    broken = (*MIGRATIONS, ("broken", ("CREATE TABLE half (a)", "CREATE NONSENSE")))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, broken)
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]

        assert "half" not in tables
        assert applied(connection) == [name for name, _ in MIGRATIONS]


def test_the_file_is_for_its_owner_only(path: Path) -> None:
    Store.open(path).close()

    assert path.stat().st_mode & 0o777 == 0o600


def test_a_copy_of_the_file_can_be_opened_elsewhere(path: Path, tmp_path: Path) -> None:
    store = Store.open(path)
    question(store, "portable")
    store.tidy()
    copy = tmp_path / "a folder with ? and #" / "chats.db"
    copy.parent.mkdir()
    shutil.copy(path, copy)
    store.close()
    moved = Store.open(copy)
    assert questions(moved) == {"portable"}
    assert [each.snippet for each in moved.search("portable")] == ["portable"]
    moved.close()
