"""The program in a terminal with a real model, from the first question to the end."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from specchat.chat.store import Store, default_path
from support.killed_screen import path_kept
from support.real_screen import RealScreen

pytestmark = pytest.mark.real_model

QUESTIONS = (
    "Name three colours.",
    "Which of them is the warmest?",
    "And the coldest?",
    "Name 两种 more. 🎨",
    "Say thank you.",
)
OPTIONS = ("--max-tokens", "12", "--temperature", "0", "--ctx", "2048")
LEAVE_ALTERNATE_SCREEN = b"\x1b[?1049l"
OF_THE_LIBRARY = re.compile(rb"llama_|ggml_|gguf_|load_tensors|print_info|graph_reserve")
"""Words that llama.cpp writes into its log."""
CONTROL_SEQUENCE = re.compile(rb"\x1b[\[?<>=0-9;]*[a-zA-Z]|\x1b.|[\r\n\x0f\x07]")


def answers() -> list[str]:
    """The answers that have ended in the conversation that was used last, as they are on disk."""
    kept = [each for each in path_kept() if each.role == "assistant"]
    return [each.text for each in kept if each.state != "writing"]


def test_a_conversation_is_had_branched_compared_found_exported_and_left(
    smollm2_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with RealScreen("--target", str(smollm2_path), *OPTIONS) as screen:
        screen.wait_for("Ready.")
        for count, question in enumerate(QUESTIONS, start=1):
            screen.type(question)
            screen.wait_for(question.split()[-1])
            screen.press("enter")
            screen.wait_until(answered(count), f"answer {count}")
            screen.wait_for(question, " tok/s")
        had = answers()
        assert all(answer.strip() for answer in had)

        screen.press("ctrl+up")
        screen.wait_for("Branch off")
        screen.press("b")  # a branch with all of it
        screen.wait_until(lambda _: len(conversations()) == 2, "a second conversation")
        assert answers() == had

        screen.press("f5")
        screen.wait_until(
            lambda drawn: "identical" in drawn or "then they part" in drawn, "both answers"
        )
        screen.press("escape")
        screen.wait_for("Ask something")

        screen.press("f3")
        screen.wait_for("Search titles")
        screen.type("coldest")
        screen.wait_until(lambda drawn: drawn.count("coldest") >= 2, "what was found")
        screen.press("f7")  # export
        screen.wait_for("Markdown")
        screen.press("enter")
        screen.wait_until(lambda _: list(tmp_path.glob("*.md")) != [], "a file")
        [file] = tmp_path.glob("*.md")
        screen.wait_until(lambda drawn: file.name in "".join(drawn.split()), "its name")
        exported = file.read_text()
        assert all(question in exported for question in QUESTIONS)

        screen.press("ctrl+q")
        assert screen.wait_for_exit() == 0

    written = screen.written
    assert OF_THE_LIBRARY.search(written) is None
    _, _, after = written.partition(LEAVE_ALTERNATE_SCREEN)
    assert CONTROL_SEQUENCE.sub(b"", after).strip() == b"", "something is left in the terminal"


def answered(count: int) -> Callable[[str], bool]:
    """Whether so many answers have ended."""
    return lambda _: len(answers()) == count


def conversations() -> list[int]:
    """All conversations on disk."""
    store = Store.open(default_path())
    try:
        return [each.id for each in store.conversations()]
    finally:
        store.close()
