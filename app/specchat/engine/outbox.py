"""What the child has to tell: events in order, several rounds at a time."""

import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import BinaryIO

from specchat.engine.protocol import Event, Round, encode_frame

ROUNDS_S = 0.05
"""How long a round may wait for the next ones. Waking the parent for each would take the cores from
the decoding as often."""


class Outbox:
    """Events to be written by a thread of its own."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Callable[[], Event]] = SimpleQueue()

    def put(self, make: Callable[[], Event]) -> None:
        """Have this event made and written."""
        self._queue.put(make)

    def write_to(self, stream: BinaryIO) -> None:
        """Write events for ever. A round soon after another is sent with those that follow it;
        everything else is sent at once, with the rounds before it.

        Raises:
            OSError: the stream is closed.
            Exception: whatever making an event raised.
        """
        sent_at, is_held = 0.0, False
        while True:
            left = max(0.0, sent_at + ROUNDS_S - time.monotonic()) if is_held else None
            try:
                event = self._queue.get(timeout=left)()
            except Empty:
                is_held = False
            else:
                stream.write(encode_frame(event))
                is_held = isinstance(event, Round) and time.monotonic() < sent_at + ROUNDS_S
            if not is_held:
                stream.flush()
                sent_at = time.monotonic()
