"""Text files that go along with a message."""

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Static

from specchat.tui.widgets.attachment_line import CROSS, AttachedFile
from tui.screen_driver import (
    WIDE,
    ask,
    ask_and_wait,
    chat,
    make_app,
    notes,
    prompt,
    questions,
    screen,
    tails,
    until_ready,
    wait_until,
)
from tui.test_commands import highlighted, listed, said, write

SUMS = "def add(a, b):\n    return a + b\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that specchat is started in."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "sums.py").write_text(SUMS)
    (folder / "my notes.md").write_text("# Notes\n" * 200)
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    monkeypatch.chdir(folder)
    return folder


def attached(pilot: Pilot[None]) -> list[str]:
    """The rows above the prompt."""
    return [str(row.content) for row in prompt(pilot).attached.query(AttachedFile)]


def last_question(pilot: Pilot[None]) -> str:
    """As the conversation has it."""
    said = screen(pilot).conversation.messages
    return next(each.content for each in reversed(said) if each.role == "user")


async def paste(pilot: Pilot[None], text: str) -> None:
    """As the terminal reports it."""
    prompt(pilot).post_message(events.Paste(text))
    await pilot.pause()


async def attach(pilot: Pilot[None], part: str, label: str) -> None:
    """Complete a path and take it."""
    await write(pilot, f"@{part}")
    await wait_until(pilot, lambda: label in listed(pilot))
    assert highlighted(pilot) == label
    await pilot.press("tab")


async def test_a_file_is_found_attached_measured_and_sent() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await write(pilot, "Explain ")
        await attach(pilot, "sum", "src/sums.py")
        assert prompt(pilot).text == "Explain @src/sums.py "
        assert attached(pilot) == [f"{CROSS} src/sums.py · 32 B, about 8 tokens"]
        await pilot.press("enter")
        await wait_until(pilot, lambda: questions(pilot) == 1)
        expected = f"src/sums.py:\n\n```py\n{SUMS}```\n\nExplain @src/sums.py"
        assert last_question(pilot) == expected
        assert attached(pilot) == []
        assert not prompt(pilot).attached.display


async def test_a_name_with_spaces_and_a_folder_are_completed() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await attach(pilot, "my", "my notes.md")
        assert prompt(pilot).text == '@"my notes.md" '
        prompt(pilot).clear()
        await write(pilot, "@sr")
        await wait_until(pilot, lambda: "src/" in listed(pilot))
        await pilot.press("enter")
        assert prompt(pilot).text == "@src/"
        await wait_until(pilot, lambda: listed(pilot) == ["src/sums.py"])
        await pilot.press("enter")
        assert prompt(pilot).text == "@src/sums.py "
        assert len(attached(pilot)) == 2
        assert questions(pilot) == 0


async def test_files_are_taken_off_by_key_and_by_mouse() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await attach(pilot, "sum", "src/sums.py")
        await attach(pilot, "my", "my notes.md")
        shown = [str(row.content) for row in prompt(pilot).attached.query(Static)]
        assert shown[-1] == "  2 files · about 410 tokens together"
        await pilot.press("shift+tab", "delete")
        await wait_until(pilot, lambda: len(attached(pilot)) == 1)
        assert prompt(pilot).has_focus
        (row,) = prompt(pilot).attached.query(AttachedFile)
        await pilot.click(row, offset=(10, 0))
        assert len(attached(pilot)) == 1
        assert row.has_focus
        await pilot.click(row, offset=(0, 0))
        await wait_until(pilot, lambda: attached(pilot) == [])
        assert prompt(pilot).has_focus


async def test_a_binary_file_is_refused_in_words() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await attach(pilot, "pict", "picture.png")
        assert said(pilot) == (
            "Tried to attach picture.png. It is a binary file. Only text can be attached."
        )
        assert attached(pilot) == []


async def test_a_dropped_file_is_offered_and_taken(project: Path) -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await write(pilot, "see ")
        await paste(pilot, f"'{project}/my notes.md' ")
        assert listed(pilot) == ["attach my notes.md", "keep the path as text"]
        await pilot.press("enter")
        assert attached(pilot) == [f"{CROSS} my notes.md · 2 kB, about 400 tokens"]
        assert prompt(pilot).text == "see "


async def test_a_dropped_file_may_stay_a_path(project: Path) -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        path = f"{project}/src/sums.py"
        await paste(pilot, path)
        await pilot.press("down", "enter")
        assert prompt(pilot).text == path
        assert attached(pilot) == []
        assert listed(pilot) == []


async def test_a_dropped_picture_stays_a_path_and_says_why(project: Path) -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await paste(pilot, f"{project}/picture.png")
        assert said(pilot).endswith("It is a binary file. The path stays as text.")
        assert prompt(pilot).text == f"{project}/picture.png"


async def test_a_question_that_was_not_answered_comes_back_with_its_files() -> None:
    async with make_app("prefill").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await write(pilot, "Read ")
        await attach(pilot, "sum", "src/sums.py")
        await pilot.press("enter")
        await wait_until(pilot, lambda: notes(pilot) == ["reading 512 of 2048 new tokens"])
        assert attached(pilot) == []
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.state == "ready")
        assert prompt(pilot).text == "Read @src/sums.py"
        assert len(attached(pilot)) == 1


async def test_files_stay_while_nothing_can_be_sent() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await ask(pilot, "first")
        await wait_until(pilot, lambda: bool(tails(pilot)))
        await attach(pilot, "sum", "src/sums.py")
        await pilot.press("enter")
        assert len(attached(pilot)) == 1
        assert questions(pilot) == 1


async def test_a_file_alone_is_a_message() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await attach(pilot, "sum", "src/sums.py")
        prompt(pilot).clear()
        await pilot.press("enter")
        await wait_until(pilot, lambda: questions(pilot) == 1)
        assert last_question(pilot) == f"src/sums.py:\n\n```py\n{SUMS}```"


async def test_an_address_of_mail_offers_nothing() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "me@src")
        assert chat(pilot).count("me@src") == 2
        await write(pilot, "me@src")
        await pilot.pause()
        assert listed(pilot) == []
