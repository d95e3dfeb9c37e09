"""The whole chat in a terminal, killed in mid-answer, and what was on its screen before that."""

import os
import re
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import psutil

from specchat.chat.records import Message
from specchat.chat.store import Store, default_path
from support.command_line import terminal
from support.engine_process import wait_until
from support.terminal_screen import TerminalScreen

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


class ShownChat:
    """A chat that runs in a terminal; all it writes is kept with the time.

    Args:
        ours: our end of the terminal.
        process: the chat.
    """

    def __init__(self, ours: int, process: subprocess.Popen[bytes]) -> None:
        self._ours = ours
        self.process = process
        self._written: list[tuple[float, bytes]] = []
        self._screen, self._n_fed = TerminalScreen(COLUMNS, LINES), 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while self.process.poll() is None:
            if select.select([self._ours], [], [], 0.02)[0]:
                data = os.read(self._ours, 65536)
                self._written.append((time.monotonic(), data))

    def type(self, text: str) -> None:
        """Press these keys."""
        os.write(self._ours, text.encode())

    def lines(self) -> list[str]:
        """What the screen shows now."""
        new = self._written[self._n_fed :]
        self._n_fed += len(new)
        self._screen.feed(b"".join(data for _, data in new))
        return self._screen.lines

    def lines_at(self, moment: float) -> list[str]:
        """What the screen showed then."""
        screen = TerminalScreen(COLUMNS, LINES)
        screen.feed(b"".join(data for at, data in self._written if at <= moment))
        return screen.lines

    def says(self, text: str) -> bool:
        """Whether the screen shows this now."""
        return any(text in line for line in self.lines())

    def restart_engine(self) -> None:
        """Load again after a crash."""
        self.type("\x12")
        wait_until(lambda: not self.says(CONTEXT), "the start of a load")
        wait_until(lambda: self.says(CONTEXT), "a loaded model")

    @property
    def engine(self) -> psutil.Process:
        """The process that answers."""
        [engine] = psutil.Process(self.process.pid).children()
        return engine


@contextmanager
def shown_chat(target: Path) -> Iterator[ShownChat]:
    """A chat with this model, ready to be asked; it is gone after the block."""
    arguments = ["--target", str(target), "--ctx", "2048", "--temperature", "0"]
    with terminal() as (ours, theirs):
        termios.tcsetwinsize(theirs, (LINES, COLUMNS))
        process = subprocess.Popen(
            [sys.executable, "-m", "specchat", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        chat = ShownChat(ours, process)
        try:
            wait_until(lambda: chat.says("Ready."), "a loaded model")
            yield chat
        finally:
            process.kill()
            process.wait()
            chat._reader.join()


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


def longest_answer(chat: ShownChat, moment: float) -> str:
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


def _has_begun(chat: ShownChat) -> bool:
    """Whether words of an answer are on the screen, and not only what goes on before them."""
    path = path_kept()
    if not path or path[-1].state != "writing":
        return False
    return min(len(answer_on(chat.lines())), len(letters(path[-1].text))) > FEWEST_LETTERS


def missing_after_kill(chat: ShownChat, victim: Victim, seconds: float) -> str:
    """Ask, kill in mid-answer, and compare.

    Args:
        seconds: after the first text.

    Returns:
        What was on the screen a second before the kill and is not on the disk; empty if all is.
    """
    if not chat.says(EMPTY):
        chat.type("\x0e")  # a new chat
        wait_until(lambda: chat.says(EMPTY), "an empty chat")
    chat.type(f"{QUESTION}\r")
    wait_until(lambda: _has_begun(chat), "an answer on the screen")
    time.sleep(seconds)
    engine = chat.engine
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
