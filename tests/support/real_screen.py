"""The whole program in a terminal of its own: what a person types, and what is drawn."""

import os
import pty
import termios
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import pyte

from support.command_line import SPECCHAT
from support.processes import Process

DEADLINE_S = 60.0
"""How long a real model may take for a few tokens on a busy machine."""
LOOK_AGAIN_S = 0.05
"""What is waited for may also come true while nothing is drawn."""
KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "ctrl+up": "\x1b[1;5A",
    "f1": "\x1bOP",
    "f2": "\x1bOQ",
    "f3": "\x1bOR",
    "f4": "\x1bOS",
    "f5": "\x1b[15~",
    "f6": "\x1b[17~",
    "f7": "\x1b[18~",
    **{f"ctrl+{letter}": chr(ord(letter) - 96) for letter in "abcdefghijklmnopqrstuvwxyz"},
}
"""What a terminal sends."""


class RealScreen:
    """`specchat` with these options in a terminal; killed after the block if it still runs.

    Attributes:
        is_watched: whether what comes is drawn; drawing takes more of the machine than a terminal.
    """

    is_watched = True

    def __init__(self, *arguments: str, columns: int = 120, lines: int = 40) -> None:
        self._size = columns, lines
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._drawn = threading.Condition()
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (lines, columns))
        self._pieces: list[tuple[float, bytes]] = []
        """What came, and when."""
        self.started = time.perf_counter()
        self.process = Process(
            [*SPECCHAT, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            print(self.text())  # what was to be seen when it went wrong
        self.process.kill()
        self.process.wait()
        self._reader.join()
        os.close(self._ours)

    def type(self, text: str) -> None:
        """Type text into whatever has the focus."""
        os.write(self._ours, text.encode())

    def press(self, *keys: str) -> None:
        """Press keys by their names, or single characters."""
        for key in keys:
            self.type(KEYS.get(key, key))

    @property
    def written(self) -> bytes:
        """Everything that the program has sent to the terminal."""
        return b"".join(data for _, data in self._pieces)

    def lines(self) -> list[str]:
        """What is drawn now, line by line."""
        with self._drawn:
            return _lines_of(self._screen)

    def lines_at(self, moment: float) -> list[str]:
        """What was drawn then, by the monotonic clock."""
        screen = pyte.Screen(*self._size)
        pyte.ByteStream(screen).feed(b"".join(data for at, data in self._pieces if at <= moment))
        return _lines_of(screen)

    def text(self) -> str:
        """What is drawn now."""
        return "\n".join(self.lines())

    def wait_for(self, *words: str) -> str:
        """Wait until all of these words are drawn; returns what is drawn then."""
        return self.wait_until(lambda drawn: all(each in drawn for each in words), repr(words))

    def wait_until(self, holds: Callable[[str], bool], what: str) -> str:
        """Wait until this holds for what is drawn."""
        deadline = time.monotonic() + DEADLINE_S
        while not holds(drawn := self.text()):
            assert time.monotonic() < deadline, f"waited {DEADLINE_S:.0f} s for {what}:\n{drawn}"
            assert self.process.poll() is None, f"it left while {what} was awaited:\n{drawn}"
            with self._drawn:
                self._drawn.wait(LOOK_AGAIN_S)
        return drawn

    def wait_for_exit(self) -> int:
        """Wait until the program has left; returns its exit code."""
        return self.process.wait(DEADLINE_S)

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self._ours, 65536)
            except OSError:  # Linux: nobody has the other end open any more
                return
            if not piece:
                return
            self._pieces.append((time.monotonic(), piece))
            with self._drawn:
                if self.is_watched:
                    self._stream.feed(piece)
                self._drawn.notify_all()


def _lines_of(screen: pyte.Screen) -> list[str]:
    return [line.rstrip() for line in screen.display]
