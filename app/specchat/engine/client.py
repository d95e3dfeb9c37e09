"""The parent's handle on the engine's process: commands in, typed events out."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec

from specchat.engine.protocol import (
    MAX_FRAME_BYTES,
    Command,
    Event,
    Failed,
    Load,
    Shutdown,
    decode_event,
    encode_frame,
    frame_size,
)
from specchat.errors import EngineCrashed
from specchat.paths import log_folder

ENGINE_COMMAND = (sys.executable, "-m", "specchat.engine")
LOGS_KEPT = 5
LOG_LINES_SHOWN = 12
RPC_SOURCE = "ggml-rpc"
"""llama.cpp's last words name the file in which it gave up."""
GRACE_S = 1.0
"""How long a child that was asked to leave may take."""


class EngineClient:
    """One engine process. It is started by `start` and gone after `close`.

    A child that dies is reported as one `Failed(kind="engine_crashed")`, after which the
    events end; start a new client to go on.
    """

    def __init__(self, process: asyncio.subprocess.Process, log_path: Path) -> None:
        self._process = process
        self.log_path = log_path
        self._closing = False
        self._servers: tuple[str, ...] = ()

    @classmethod
    async def start(cls, command: Sequence[str] = ENGINE_COMMAND) -> "EngineClient":
        """Start the process; it loads nothing yet.

        Its standard error, and whatever the native library prints, goes to a log file.
        """
        log_path = _fresh_log()
        with log_path.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                # asyncio stops reading a pipe of which more than this waits for its reader, and
                # then does not notice the end of the process either.
                limit=MAX_FRAME_BYTES,
                # Ctrl+C in the terminal is for the screen; the engine is told what to do.
                start_new_session=True,
            )
        return cls(process, log_path)

    @property
    def pid(self) -> int:
        """The process id of the engine."""
        return self._process.pid

    async def send(self, command: Command) -> None:
        """Send a command. To a process that is gone it is lost; the events tell of its end."""
        assert self._process.stdin is not None
        if isinstance(command, Load):
            self._servers = command.plan.rpc
            command = msgspec.structs.replace(command, asked_by=os.getpid())
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._process.stdin.write(encode_frame(command))
            await self._process.stdin.drain()

    async def events(self) -> AsyncIterator[Event]:
        """Every event in order, until the process ends."""
        assert self._process.stdout is not None
        stdout = self._process.stdout
        try:
            while True:
                header = await stdout.readexactly(4)
                yield decode_event(await stdout.readexactly(frame_size(header)))
        except (asyncio.IncompleteReadError, ConnectionResetError):
            pass
        code = await self._process.wait()
        if not self._closing:
            yield self._crash(code)

    async def close(self) -> None:
        """End the process, whatever it is doing; its memory is free afterwards."""
        self._closing = True
        if self._process.returncode is None:
            await self.send(Shutdown())
            try:
                await asyncio.wait_for(self._process.wait(), GRACE_S)
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
                await self._process.wait()

    def _crash(self, code: int) -> Failed:
        if code < 0:
            happened = f"Its process was ended by {_signal_name(-code)}."
        else:
            happened = f"Its process left with code {code}."
        lines = self.log_path.read_text(errors="replace").splitlines() if self._has_log() else []
        lines = lines[-LOG_LINES_SHOWN:]
        next_step = "Start it again; if it happens again, use a smaller context or no draft."
        if self._servers and any(RPC_SOURCE in line for line in lines):
            happened += f" It lost the RPC server {' or '.join(self._servers)}."
            next_step = (
                "Check that the server runs and can be reached, and start again; or go on without "
                "--rpc."
            )
        event = Failed.from_error(
            EngineCrashed(
                "The engine was at work.", happened, f"{next_step} The log is {self.log_path}."
            )
        )
        return Failed(
            kind=event.kind,
            title=event.title,
            message=event.message,
            help=event.help,
            exit_code=event.exit_code,
            log=tuple(lines),
        )

    def _has_log(self) -> bool:
        return self.log_path.is_file()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have none
        return f"signal {number}"


def _fresh_log() -> Path:
    """A log file for one engine; of the older ones the newest few stay."""
    folder = log_folder()
    old = sorted(folder.glob("engine-*.log"), key=_last_written)
    for path in old[: -LOGS_KEPT + 1]:
        path.unlink(missing_ok=True)
    number = 0
    while (path := folder / f"engine-{os.getpid()}-{number}.log").exists():
        number += 1
    return path


def _last_written(path: Path) -> float:
    """When a log was last written; another process may just have removed it."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
