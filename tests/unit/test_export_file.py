"""Exported conversations become files of their own, under a name made from the title."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from specchat.chat.export_file import ExportFailed, Kind, export_to, name_of, tokens_of
from specchat.chat.importing import read_conversation
from specchat.chat.known import Known
from specchat.chat.store import Store
from specchat.chat.tokens import Tokens
from specchat.chat.tree import Conversation
from support.answers import RECORD

TOKENS = Tokens((5, 6), b"\0\2", (1, 2))


@pytest.fixture
def store() -> Store:
    return Store.in_memory()


@pytest.fixture
def conversation(store: Store) -> Conversation:
    key = store.new()
    answer = store.begin_answer(key, store.ask(key, "What's a lighthouse?", None))
    store.finish(answer, "complete", Known(RECORD, TOKENS), "A tower.")
    return store.load(key)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Why is the sky dark at night?", "Why-is-the-sky-dark-at-night"),
        ("What's new", "Whats-new"),
        ("../../etc/passwd", "etc-passwd"),
        ("C:\\files: a|b*c", "C-files-a-b-c"),
        ("灯台はいつ、建てられましたか", "灯台はいつ-建てられましたか"),
        ("हिन्दी में", "हिन्दी-में"),
        ("", "chat"),
        ("🙂 !", "chat"),
        ("word " * 40, "word-word-word-word-word-word-word-word-word-wor"),
    ],
)
def test_a_name_has_the_letters_and_digits_of_the_title(title: str, name: str) -> None:
    assert name_of(title) == name


@pytest.mark.parametrize(("kind", "suffix"), [("markdown", ".md"), ("json", ".json")])
def test_the_file_says_by_its_name_what_it_is(
    store: Store, conversation: Conversation, tmp_path: Path, kind: Kind, suffix: str
) -> None:
    path = export_to(tmp_path, conversation, {}, kind)
    assert path == tmp_path / f"Whats-a-lighthouse{suffix}"
    assert "A tower." in path.read_text()


def test_json_has_the_tokens_and_comes_back(
    store: Store, conversation: Conversation, tmp_path: Path
) -> None:
    path = export_to(tmp_path, conversation, tokens_of(store, conversation), "json")
    back, tokens = read_conversation(path)
    assert [each.text for each in back.path] == ["What's a lighthouse?", "A tower."]
    assert list(tokens.values()) == [TOKENS]


def test_no_file_is_ever_written_over(conversation: Conversation, tmp_path: Path) -> None:
    paths = [export_to(tmp_path, conversation, {}, "markdown") for _ in range(3)]
    assert [path.name for path in paths] == [
        "Whats-a-lighthouse.md",
        "Whats-a-lighthouse-2.md",
        "Whats-a-lighthouse-3.md",
    ]


def test_a_folder_that_is_not_there_is_told(conversation: Conversation, tmp_path: Path) -> None:
    with pytest.raises(ExportFailed, match="cannot be written: No such file") as refusal:
        export_to(tmp_path / "gone", conversation, {}, "markdown")
    assert "folder of yours" in refusal.value.next_step


def test_a_full_disk_is_told_and_half_a_file_is_not_left_behind(
    conversation: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open

    class Full:
        """A file on a full disk."""

        def __init__(self, path: Path) -> None:
            self.file = opened(path, "xb")

        def __enter__(self) -> "Full":
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: bytes) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open_full(path: Path, *_: Any) -> Full:
        return Full(path)

    monkeypatch.setattr(Path, "open", open_full)
    with pytest.raises(ExportFailed, match="No space left"):
        export_to(tmp_path, conversation, {}, "markdown")
    assert not list(tmp_path.iterdir())
