"""When the child's events are sent."""

import io
import threading
from collections.abc import Callable
from functools import partial

import pytest

from specchat.engine.outbox import Outbox
from specchat.engine.protocol import (
    Event,
    Failed,
    Round,
    decode_event,
    frame_size,
)
from specchat.speculation.metrics import NOTHING
from support.engine_process import wait_until


class Closed(Exception):
    """Nothing more comes."""


class Pipe(io.BytesIO):
    """Remembers what was sent at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[list[Event]] = []

    def flush(self) -> None:
        data = self.getvalue()
        events = []
        while data:
            size = frame_size(data[:4])
            events.append(decode_event(data[4 : 4 + size]))
            data = data[4 + size :]
        if events:
            self.sent.append(events)
        self.seek(0)
        self.truncate()


def a_round(number: int) -> Event:
    return Round(
        id=number, text="", tokens=(), drafted=0, accepted=0, reason="", reason_kind="plain",
        n_past=0, figures=NOTHING,
    )  # fmt: skip


FAILED = Failed(kind="no_model", title="", message="", help="", exit_code=1)


def end() -> Event:
    raise Closed


def sent(*makes: Callable[[], Event]) -> list[list[Event]]:
    """What is sent together."""
    outbox, pipe = Outbox(), Pipe()
    for make in (*makes, end):
        outbox.put(make)
    with pytest.raises(Closed):
        outbox.write_to(pipe)
    return pipe.sent


def test_the_first_round_is_sent_at_once_and_those_soon_after_it_together() -> None:
    rounds = [a_round(number) for number in range(10)]
    together = sent(*[partial(a_round, number) for number in range(10)], lambda: FAILED)

    assert together == [rounds[:1], [*rounds[1:], FAILED]]


def test_what_is_no_round_is_sent_at_once() -> None:
    assert sent(lambda: FAILED, lambda: FAILED) == [[FAILED], [FAILED]]


def test_rounds_do_not_wait_for_what_does_not_come() -> None:
    outbox, pipe = Outbox(), Pipe()

    def write() -> None:
        with pytest.raises(Closed):
            outbox.write_to(pipe)

    writing = threading.Thread(target=write)
    writing.start()
    for number in range(3):
        outbox.put(partial(a_round, number))
    wait_until(lambda: sum(map(len, pipe.sent)) == 3, "all three")
    outbox.put(end)
    writing.join()

    assert [each for part in pipe.sent for each in part] == [a_round(n) for n in range(3)]
