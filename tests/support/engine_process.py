"""The engine as a real child process, listened to with deadlines."""

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import psutil

from specchat.engine.client import ENGINE_COMMAND, EngineClient
from specchat.engine.protocol import (
    Command,
    Event,
    Failed,
    Finished,
    Generate,
    Load,
    Message,
    Pair,
    Plan,
    Round,
)
from specchat.speculation.settings import SamplingSettings

DEADLINE_S = 30.0
"""How long a test waits for what should take a moment, on a busy machine."""
POLL_S = 0.01

GREEDY = SamplingSettings(temperature=0)
FEW = Plan(n_ctx=1024, measure_costs=False)
"""A context that is made in no time."""
ROOMY = Plan(n_ctx=8192, measure_costs=False)
"""A context in which a byte model writes for seconds."""

Wanted = TypeVar("Wanted", bound=Event)


class Engine:
    """A client, and the events it gives."""

    def __init__(self, client: EngineClient) -> None:
        self.client = client
        self._events = client.events()

    async def send(self, *commands: Command) -> None:
        """Send commands without waiting for what they bring."""
        for command in commands:
            await self.client.send(command)

    async def next(self) -> Event:
        """The next event.

        Raises:
            StopAsyncIteration: the events have ended.
        """
        return await asyncio.wait_for(anext(self._events), DEADLINE_S)

    async def until(self, *kinds: type[object]) -> list[Event]:
        """The events up to the first of these kinds, which is the last one."""
        events = [await self.next()]
        while not isinstance(events[-1], kinds):
            events.append(await self.next())
        return events

    async def first(self, kind: type[Wanted]) -> Wanted:
        """The first event of a kind; those before it are passed over."""
        event = (await self.until(kind))[-1]
        assert isinstance(event, kind)
        return event

    async def rest(self) -> list[Event]:
        """Every event until the process is gone."""
        async with asyncio.timeout(DEADLINE_S):
            return [event async for event in self._events]

    async def answer(self, request: Generate) -> Finished:
        """The finished answer to a request that cannot fail."""
        await self.send(request)
        return await self.first(Finished)

    async def close(self) -> None:
        """Close the client."""
        async with asyncio.timeout(DEADLINE_S):
            await self.client.close()


@asynccontextmanager
async def running_engine(command: Sequence[str] = ENGINE_COMMAND) -> AsyncIterator[Engine]:
    """An engine that is gone after the block."""
    engine = Engine(await EngineClient.start(command))
    try:
        yield engine
    finally:
        await engine.close()


def engine_with(changes: str) -> tuple[str, ...]:
    """The engine's command, with Python statements run in the child before it serves."""
    script = f"from specchat.engine import session, worker\n{changes}\nworker.main()\n"
    return (sys.executable, "-c", script)


def load(target: Path, draft: Path | None = None, plan: Plan = FEW) -> Load:
    """The command that loads these files."""
    return Load(Pair(str(target), None if draft is None else str(draft)), plan)


def ask(
    id: int,
    text: str = "abcd",
    *,
    max_tokens: int | None = None,
    sampling: SamplingSettings = GREEDY,
) -> Generate:
    """The command that answers one message."""
    return Generate(
        id=id, conversation=(Message("user", text),), sampling=sampling, max_tokens=max_tokens
    )


def rounds_in(events: Sequence[Event]) -> list[Round]:
    """The rounds among events."""
    return [event for event in events if isinstance(event, Round)]


def is_gone(pid: int) -> bool:
    """Whether no such process runs; one that nobody has collected yet does not run."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Look again and again until it holds."""
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, f"waited {DEADLINE_S:.0f} s for {what}"
        time.sleep(POLL_S)


def assert_in_words(failed: Failed) -> None:
    """What was tried, what happened and what to do next, as sentences without Python in them."""
    assert failed.title
    assert re.fullmatch(r"Tried to .+\. ([A-Z]|llama\.cpp ).+\.", failed.message, re.DOTALL), (
        failed.message
    )
    assert re.fullmatch(r"[A-Z].+\.", failed.help, re.DOTALL), failed.help
    for text in (failed.title, failed.message, failed.help):
        assert not re.search(r"Traceback|\w(Error|Exception)\b|\bNone\b|<class|Errno|ctypes", text)
