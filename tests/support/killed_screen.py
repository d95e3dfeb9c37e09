"""The whole chat in a terminal, killed in mid-answer, and what was on its screen before that."""

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import psutil

from specchat.chat.records import Message
from specchat.chat.store import Store, default_path
from support.engine_process import wait_until
from support.real_screen import RealScreen

COLUMNS, LINES = 90, 30
"""So narrow that the chat has the whole width."""
OLDEST_S = 1.0
"""Text that was shown longer ago has to be there."""
CONTEXT = " of 2.0k"
"""On the screen while a model is loaded."""
EMPTY = "context 0 of 2.0k"
"""On the screen while nothing was said."""
QUESTION = "Tell me a long story about a lighthouse keeper, her brother, and a storm."
FEWEST_LETTERS = 40
"""Of an answer on screen, so that a comparison says something."""

Victim = Literal["engine", "app"]


@contextmanager
def shown_chat(target: Path) -> Iterator[RealScreen]:
    """A chat with this model, ready to be asked; it is gone after the block."""
    options = ("--target", str(target), "--ctx", "2048", "--temperature", "0")
    with RealScreen(*options, columns=COLUMNS, lines=LINES) as chat:
        chat.wait_for("Ready.")
        yield chat


def restart_engine(chat: RealScreen) -> None:
    """Load again after a crash."""
    chat.press("ctrl+r")
    chat.wait_until(lambda drawn: CONTEXT not in drawn, "the start of a load")
    chat.wait_for(CONTEXT)


def engine_of(chat: RealScreen) -> psutil.Process:
    """The process that answers."""
    [engine] = psutil.Process(chat.process.pid).children()
    return engine


def letters(text: str) -> str:
    """What Markdown, line ends and the edge of the screen leave as it is."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def answer_on(lines: list[str]) -> str:
    """The letters of the last answer in view: from its speaker, or the top, to the prompt."""
    prompt = next((at for at, line in enumerate(lines) if line.startswith("╭")), len(lines))
    chat = [line.strip() for line in lines[1:prompt]]
    speakers = [at for at, line in enumerate(chat) if line.startswith(("model ", "you "))]
    if speakers and chat[speakers[-1]].startswith("you "):
        return ""
    if speakers:
        chat = [chat[speakers[-1]].removeprefix("model "), *chat[speakers[-1] + 1 :]]
    return letters(" ".join(chat))


def longest_answer(chat: RealScreen, moment: float) -> str:
    """What was on the screen up to then: a single frame may be half drawn."""
    frames = (chat.lines_at(moment - before) for before in (0.0, 0.1, 0.2, 0.3))
    return max(map(answer_on, frames), key=len)


def path_kept() -> list[Message]:
    """What is on the disk of the last conversation."""
    store = Store.open(default_path())
    try:
        key = store.last_used()
        return [] if key is None else store.load(key).path
    finally:
        store.close()


def _has_begun(chat: RealScreen) -> bool:
    """Whether words of an answer are on the screen, and not only what goes on before them."""
    path = path_kept()
    if not path or path[-1].state != "writing":
        return False
    return min(len(answer_on(chat.lines())), len(letters(path[-1].text))) > FEWEST_LETTERS


def missing_after_kill(chat: RealScreen, victim: Victim, seconds: float) -> str:
    """Ask, kill in mid-answer, and compare.

    Args:
        seconds: after the first text.

    Returns:
        What was on the screen a second before the kill and is not on the disk; empty if all is.
    """
    if EMPTY not in chat.text():
        chat.press("ctrl+n")
        chat.wait_for(EMPTY)
    chat.type(QUESTION)
    chat.press("enter")
    chat.wait_until(lambda _: _has_begun(chat), "an answer on the screen")
    time.sleep(seconds)
    engine = engine_of(chat)
    (engine if victim == "engine" else chat.process).send_signal(signal.SIGKILL)
    killed_at = time.monotonic()
    if victim == "app":
        chat.process.wait()
        wait_until(lambda: not engine.is_running(), "the end of the engine")
    wait_until(lambda: path_kept()[-1].state == "interrupted", "an answer that is cut off")
    shown = longest_answer(chat, killed_at - OLDEST_S)
    assert len(shown) > FEWEST_LETTERS, "\n".join(chat.lines_at(killed_at - OLDEST_S))
    answer = path_kept()[-1]
    assert answer.answer is not None
    assert answer.answer.figures.rounds > 0
    return "" if shown in letters(answer.text) else shown
