"""`specchat` as a person runs it: a process of its own, with pipes or a terminal."""

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from support.engine_process import DEADLINE_S, wait_until
from support.processes import Process

SPECCHAT = (sys.executable, "-m", "specchat")
BUSY_S = 0.3
"""CPU time after which an engine that was loaded is surely in the middle of its answer."""


def specchat(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[str]:
    """What a command that ends of its own accord prints; `given` is its standard input."""
    done = subprocess.run(
        [*SPECCHAT, *arguments], input=given, capture_output=True, timeout=2 * DEADLINE_S
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def running_specchat(*arguments: str, stdout: int = subprocess.PIPE) -> Process[str]:
    """A command that runs until something happens to it; it is gone after its block."""
    return Process(
        [*SPECCHAT, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


def first_notice(process: Process[str]) -> str:
    """The first line on standard error; for the byte model a notice, once it is loaded."""
    assert process.stderr is not None
    return process.stderr.readline()


def wait_until_answering(process: Process[str]) -> None:
    """Wait until the engine of a command that has loaded has worked for a while."""
    [engine] = psutil.Process(process.pid).children()
    loaded = engine.cpu_times().user
    wait_until(lambda: engine.cpu_times().user > loaded + BUSY_S, "an answer in the making")


def wait_until_asleep(pid: int) -> None:
    """Wait until a command waits for something.

    Python looks for signals before it goes to sleep, and one that comes in between does not wake
    it: nobody's fingers are that quick, but a test is.
    """
    sleeper = psutil.Process(pid)
    wait_until(lambda: sleeper.status() == psutil.STATUS_SLEEPING, "a command that waits")


def wait_until_waiting_for_more(process: Process[bytes]) -> None:
    """Wait until a command has read all of its standard input so far and sleeps for more."""
    assert process.stdin is not None
    pipe, reader = process.stdin.fileno(), psutil.Process(process.pid)

    def waits() -> bool:
        unread = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
        return unread == 0 and reader.status() == psutil.STATUS_SLEEPING

    wait_until(waits, "a command that waits for its input")


def wait_until_loading(pipe: Path) -> int:
    """Wait until somebody reads the named pipe; returns its other end, which keeps them reading."""
    found: list[int] = []

    def opened() -> bool:
        try:
            found.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # nobody reads yet
            return False
        return True

    wait_until(opened, "a load")
    return found[0]


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """A terminal: our end and the end that a process takes for its output."""
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)
        os.close(theirs)


def next_piece(ours: int) -> bytes:
    """What a process writes next on a terminal."""
    ready, _, _ = select.select([ours], [], [], DEADLINE_S)
    assert ready, f"waited {DEADLINE_S:.0f} s for something on the terminal"
    return os.read(ours, 4096)
