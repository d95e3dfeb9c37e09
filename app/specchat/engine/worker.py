"""The child's side: takes commands, owns the models, sends events."""

import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import BinaryIO

from specchat.engine.machine import examine
from specchat.engine.outbox import Outbox
from specchat.engine.protocol import (
    Devices,
    Event,
    Failed,
    Generate,
    Load,
    Shutdown,
    Stop,
    decode_command,
    encode_frame,
    read_frame,
)
from specchat.engine.session import Session
from specchat.errors import NoModel, SpecchatError
from specchat.llama.library import AbortFlag, Library, open_library


class Stopper:
    """Ends the answer that a `Stop` names, and no other, whenever the command arrives."""

    def __init__(self, flag: AbortFlag) -> None:
        self.flag = flag
        self._lock = threading.Lock()
        self._running: int | None = None
        self._stopped: set[int] = set()

    def stop(self, id: int) -> None:
        """Called by the thread that reads commands."""
        with self._lock:
            self._stopped.add(id)
            if id == self._running:
                self.flag.set()

    @contextmanager
    def running(self, id: int) -> Iterator[None]:
        """While the block runs, this answer can be stopped; it may have been already."""
        with self._lock:
            self._running = id
            # Ids grow: a smaller one belongs to an answer that has ended.
            self._stopped = {stopped for stopped in self._stopped if stopped >= id}
            if id in self._stopped:
                self.flag.set()
        try:
            yield
        finally:
            with self._lock:
                self._running = None
                self.flag.clear()


class Worker:
    """Runs commands one by one. One more thread reads them, another writes the events."""

    def __init__(self, commands: BinaryIO, events: BinaryIO) -> None:
        self._commands = commands
        self._events = events
        self._outbox = Outbox()
        self._queue: SimpleQueue[Load | Generate | Devices] = SimpleQueue()
        self._library: Library = open_library()
        self._library.log.echo = sys.stderr
        self._stopper = Stopper(AbortFlag(self._library))
        self._session: Session | None = None

    def run(self) -> None:
        """Until the parent says Shutdown or is gone; then the process ends here."""
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._write, daemon=True).start()
        while True:
            command = self._queue.get()
            try:
                self._carry_out(command)
            except SpecchatError as error:
                answer = command.id if isinstance(command, Generate) else None
                self._emit(partial(Failed.from_error, error, answer))

    def _listen(self) -> None:
        try:
            self._read_commands()
        except Exception:  # no command of ours: who sends it can be told nothing
            traceback.print_exc()
            os._exit(1)
        # Leaving without a farewell frees all memory, whatever llama.cpp is doing.
        os._exit(0)

    def _read_commands(self) -> None:
        """Until the parent says Shutdown or is gone."""
        while (frame := read_frame(self._commands)) is not None:
            match decode_command(frame):
                case Load() | Generate() | Devices() as command:
                    self._queue.put(command)
                case Stop(id=id):
                    self._stopper.stop(id)
                case Shutdown():
                    return

    def _carry_out(self, command: Load | Generate | Devices) -> None:
        if isinstance(command, Devices):
            found = examine(self._library, command.rpc)
            self._emit(lambda: found)
            return
        if isinstance(command, Load):
            if self._session is not None:
                self._session.close()
                self._session = None
            self._session = Session(self._library, command, self._stopper.flag, self._emit)
            self._emit(self._session.loaded)
            return
        if self._session is None:
            raise NoModel("Tried to answer.", "No model is loaded.", "Load one first.")
        with self._stopper.running(command.id):
            self._session.answer(command, self._emit)

    def _emit(self, make: Callable[[], Event]) -> None:
        self._outbox.put(make)

    def _write(self) -> None:
        """Beside the decoding, so that neither making an event nor a slow reader holds it up."""
        try:
            self._outbox.write_to(self._events)
        except BrokenPipeError:  # the parent is gone
            os._exit(0)
        except Exception:  # nothing more could be told: end as any other fault does
            traceback.print_exc()
            os._exit(1)


def main() -> None:
    """Serve on the standard streams, which from now on belong to the protocol alone.

    Whatever prints on standard output, the native library included, goes to standard error,
    which the parent has pointed at a log file.
    """
    commands = os.fdopen(os.dup(0), "rb")
    events = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    try:
        Worker(commands, events).run()
    except SpecchatError as error:
        events.write(encode_frame(Failed.from_error(error)))
        events.flush()
        raise SystemExit(error.exit_code) from error
