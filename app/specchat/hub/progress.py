"""How far a download is. Every report carries totals, so that a reader needs no bookkeeping."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from specchat.hub.listing import RemoteFile

WINDOW_S = 10.0
"""The rate is that of the last seconds, so that it follows the line and does not jump."""
INTERVAL_S = 0.1

Stage = Literal["checking", "downloading"]


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a download stands."""

    file: str
    number: int
    """Of the file, from 1."""
    files: int
    stage: Stage
    """`checking`: reading what is on the disk, as an earlier run kept it."""
    done_bytes: int
    size_bytes: int
    total_done_bytes: int
    total_bytes: int
    bytes_per_second: float | None = None
    """Over the last ten seconds; None until there is something to measure."""

    @property
    def seconds_left(self) -> float | None:
        """For all files, at this rate."""
        if not self.bytes_per_second:
            return None
        return (self.total_bytes - self.total_done_bytes) / self.bytes_per_second


class Listener(Protocol):
    """Who follows a download. What it raises stops the download, and what came is kept."""

    def progress(self, progress: Progress) -> None:
        """Called about ten times a second, and while waiting."""

    def notice(self, sentence: str) -> None:
        """Something a person should know, such as a wait."""


class Meter:
    """Counts bytes over several files and tells a listener."""

    def __init__(
        self,
        files: Sequence[RemoteFile],
        listener: Listener,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = files
        self._listener = listener
        self._clock = clock
        self._number = 0
        self._stage: Stage = "downloading"
        self._done = 0
        self._before = 0
        self._marks: deque[tuple[float, int]] = deque()
        self._came = 0
        self._told = float("-inf")

    def begin(self, file: RemoteFile, stage: Stage = "downloading") -> None:
        """The next file, from its first byte."""
        self._number = self._files.index(file) + 1
        self._before = sum(each.size_bytes for each in self._files[: self._number - 1])
        self.restart(stage)

    def restart(self, stage: Stage) -> None:
        """The file begins at its first byte, to be read or to be downloaded."""
        self._stage = stage
        self._done = 0
        self._tell(at_once=True)

    def goes_on(self) -> None:
        """What was kept has been read; the rest is downloaded now."""
        self._stage = "downloading"
        self._tell(at_once=True)

    def advance(self, n_bytes: int) -> None:
        """So many more bytes of the file are there."""
        self._done += n_bytes
        if self._stage == "downloading":
            self._came += n_bytes
        self._tell()

    def complete(self) -> None:
        """The whole file is there."""
        self._done = self._files[self._number - 1].size_bytes
        self._tell(at_once=True)

    def notice(self, sentence: str) -> None:
        """Pass a sentence on."""
        self._listener.notice(sentence)

    def wait(self, seconds: float) -> None:
        """Sleep, and let the listener stop it."""
        until = self._clock() + seconds
        while (left := until - self._clock()) > 0:
            time.sleep(min(left, INTERVAL_S))
            self._tell(at_once=True)

    def _tell(self, *, at_once: bool = False) -> None:
        now = self._clock()
        if not at_once and now - self._told < INTERVAL_S:
            return
        self._told = now
        self._marks.append((now, self._came))
        while now - self._marks[0][0] > WINDOW_S:
            self._marks.popleft()
        file = self._files[self._number - 1]
        self._listener.progress(
            Progress(
                file=file.name,
                number=self._number,
                files=len(self._files),
                stage=self._stage,
                done_bytes=self._done,
                size_bytes=file.size_bytes,
                total_done_bytes=self._before + self._done,
                total_bytes=sum(each.size_bytes for each in self._files),
                bytes_per_second=self._rate(),
            )
        )

    def _rate(self) -> float | None:
        (began, before), (now, came) = self._marks[0], self._marks[-1]
        return (came - before) / (now - began) if now - began >= 5 * INTERVAL_S else None
