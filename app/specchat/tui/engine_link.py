"""Keeps one engine for the screen: starts it, loads, and hands over what it says."""

from collections.abc import Callable, Sequence

import msgspec

from specchat.engine.client import EngineClient
from specchat.engine.protocol import Command, Event, Failed, Load
from specchat.errors import EngineCrashed


class EngineLink:
    """The engine that serves the screen now.

    Args:
        command: how the engine's process is started.
        deliver: called with every event, in order.
    """

    def __init__(self, command: Sequence[str], deliver: Callable[[Event], None]) -> None:
        self._command = command
        self._deliver = deliver
        self._client: EngineClient | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the running engine."""
        return self._client.pid if self._client else None

    async def run(self, load: Load) -> None:
        """Start a process, load, and deliver its events until it ends."""
        try:
            client = await EngineClient.start(self._command)
        except OSError as error:
            self._deliver(_crashed("Tried to start the engine.", f"{error}."))
            return
        self._client = client
        await client.send(load)
        try:
            async for event in client.events():
                if isinstance(event, Failed) and event.kind == EngineCrashed.kind:
                    self._client = None
                self._deliver(event)
        except (msgspec.MsgspecError, ValueError) as error:
            self._client = None
            await client.close()
            self._deliver(
                _crashed("Listened to the engine.", f"It said something unreadable: {error}.")
            )

    async def send(self, command: Command) -> None:
        """Send a command, if an engine is there; its end has been told by an event."""
        if self._client:
            await self._client.send(command)

    async def close(self) -> None:
        """End the engine, whatever it is doing."""
        client, self._client = self._client, None
        if client:
            await client.close()


def _crashed(tried: str, happened: str) -> Failed:
    return Failed.from_error(EngineCrashed(tried, happened, "Start it again."))
