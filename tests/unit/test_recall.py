"""Walking through what was sent before."""

from collections.abc import Sequence
from pathlib import Path

from specchat.tui.attachments import Attachment
from specchat.tui.recall import Recall, Written


def walk(recall: Recall, steps: str, typed: str = "") -> list[str | None]:
    """What is shown after each step: `o`lder or `n`ewer."""
    shown: list[str | None] = []
    now = Written(typed)
    for step in steps:
        found = recall.older(now) if step == "o" else recall.newer(now)
        shown.append(found.text if found else None)
        now = found or now
    return shown


def sent(*texts: str) -> Recall:
    """After these were sent, one after the other."""
    recall = Recall()
    for text in texts:
        recall.sent(text, Written(text))
    return recall


def test_it_goes_back_to_the_first_and_forward_to_what_was_being_written() -> None:
    assert walk(sent("one", "two"), "ooonnn", "draft") == ["two", "one", None, "two", "draft", None]


def test_with_nothing_sent_there_is_nothing() -> None:
    assert walk(Recall(), "on") == [None, None]


def test_what_was_asked_in_other_chats_comes_after_what_was_sent_now() -> None:
    asked: list[int] = []

    def recent(limit: int) -> Sequence[str]:
        asked.append(limit)
        return ["two", "yesterday", " ", "yesterday"]

    recall = Recall(recent)
    assert asked == []
    recall.sent("two", Written("two"))
    recall.sent("/draft ngram", Written("/draft ngram"))

    assert walk(recall, "oooo") == ["/draft ngram", "two", "yesterday", None]


def test_what_was_sent_twice_comes_once_at_its_newest_place() -> None:
    assert walk(sent("one", "two", "one"), "ooo") == ["one", "two", None]


def test_what_is_written_already_is_not_shown_again() -> None:
    assert walk(sent("one", "two"), "o", "two") == ["one"]


def test_a_change_to_an_old_one_lasts_until_something_is_sent() -> None:
    recall = sent("one", "two")
    assert recall.older(Written("")) == Written("two")
    assert recall.older(Written("two, but")) == Written("one")
    assert recall.newer(Written("one")) == Written("two, but")
    recall.sent("three", Written("three"))

    assert walk(recall, "oo") == ["three", "two"]


def test_files_come_back_with_their_message() -> None:
    file = Attachment(Path("a"), "a", "x", 1)
    recall = Recall()
    recall.sent("a:\n\n```\nx\n```\n\nWhat?", Written("What?", (file,)))

    assert recall.older(Written("")) == Written("What?", (file,))
    assert recall.as_written("a:\n\n```\nx\n```\n\nWhat?") == Written("What?", (file,))


def test_a_message_from_elsewhere_is_no_command() -> None:
    recall = Recall(lambda limit: ["/etc/hosts?"])

    assert walk(recall, "o") == ["//etc/hosts?"]
