"""A download as one changing line on a terminal; elsewhere a line every ten per cent."""

import sys
from typing import TextIO

from specchat.hub.naming import base_name
from specchat.hub.progress import Progress
from specchat.hub.wording import size_text, time_text

WIDTH = 79
NAME_WIDTH = 19
"""What the longest figures leave of the line."""


class DownloadLine:
    """Follows a download for a person, on standard error."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = sys.stderr if out is None else out
        self._terminal = self._out.isatty()
        self._open = False
        self._shown: tuple[int, str, int] | None = None

    def progress(self, progress: Progress) -> None:
        """Show where it is."""
        if self._terminal:
            print(f"\r{progress_line(progress)}\x1b[K", end="", file=self._out, flush=True)
            self._open = True
            return
        tenth = 10 * progress.done_bytes // max(progress.size_bytes, 1)
        shown = (progress.number, progress.stage, tenth)
        if shown != self._shown:
            self._shown = shown
            print(progress_line(progress), file=self._out, flush=True)

    def notice(self, sentence: str) -> None:
        """Show a sentence on a line of its own."""
        self.close()
        print(sentence, file=self._out, flush=True)

    def wipe(self) -> None:
        """Take the changing line away."""
        if self._open:
            print("\r\x1b[K", end="", file=self._out, flush=True)
        self._open = False

    def close(self) -> None:
        """End the changing line; what it shows stays."""
        if self._open:
            print(file=self._out, flush=True)
        self._open = False


def progress_line(progress: Progress) -> str:
    """Such as `1/2 qwen2.5-7b-q4_k_m 1.2 of 4.7 GB, total 22 %, 48.0 MB/s, 2 min left`."""
    name = base_name(progress.file).removesuffix(".gguf")
    if len(name) > NAME_WIDTH:
        end = NAME_WIDTH // 2
        name = name[: NAME_WIDTH - end - 1] + "…" + name[-end:]
    number = f"{progress.number}/{progress.files} " if progress.files > 1 else ""
    parts = [f"{number}{name} {_amount(progress)}"]
    if progress.stage == "checking":
        return f"{parts[0]}, checking its bytes"[:WIDTH]
    percent = 100 * progress.total_done_bytes // max(progress.total_bytes, 1)
    parts.append(f"total {percent} %" if progress.files > 1 else f"{percent} %")
    if progress.bytes_per_second is not None:
        parts.append(f"{size_text(progress.bytes_per_second)}/s")
    if progress.seconds_left is not None and progress.total_done_bytes < progress.total_bytes:
        parts.append(f"{time_text(progress.seconds_left)} left")
    return ", ".join(parts)[:WIDTH]


def _amount(progress: Progress) -> str:
    done, size = size_text(progress.done_bytes), size_text(progress.size_bytes)
    if done == size:
        return size
    if done.rpartition(" ")[2] == size.rpartition(" ")[2]:
        done = done.rpartition(" ")[0]
    return f"{done} of {size}"
