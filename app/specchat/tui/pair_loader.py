"""The pair that is to be loaded: placed in memory as it is now, then handed to a fresh engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from specchat.engine.protocol import Event, Failed, Load, Notice
from specchat.errors import SpecchatError
from specchat.pairing.machine import Machine
from specchat.pairing.memory import MemoryPlan
from specchat.tui.engine_link import EngineLink
from specchat.tui.world import World

if TYPE_CHECKING:
    from specchat.choosing.choice import Choice
    from specchat.choosing.less import Less


class PairLoader:
    """Loads a choice; after a crash it knows what to try with less memory.

    Args:
        choice: the first one.
        world: how it is placed, and how engines are started.
        deliver: called with every event of the engine, and with a `Failed` when placing fails.
    """

    def __init__(self, choice: Choice, world: World, deliver: Callable[[Event], None]) -> None:
        self.choice = choice
        self.engine = EngineLink(world.engine_command, deliver)
        self.plan: MemoryPlan | None = None
        """What was planned for it; None while that is not known."""
        self.machine: Machine | None = None
        self._world = world
        self._deliver = deliver
        self._load: Load | None = None
        self._first_plan: MemoryPlan | None = None
        self._less: Less | None = None
        self._notices: tuple[Notice, ...] = ()
        self._told: set[Notice] = set()

    def take(self, choice: Choice) -> None:
        """This one from now on."""
        if choice != self.choice:
            self._told.clear()
        self.choice = choice

    async def load(self) -> None:
        """Load the choice, and deliver events until its engine ends.

        The old engine goes first: what it holds would count as taken.
        """
        await self.engine.close()
        self._load = self._less = self.plan = self._first_plan = None
        try:
            placed = await self._world.place(self.choice)
        except SpecchatError as error:
            self._deliver(Failed.from_error(error))
            return
        self._load, self.plan, self.machine = placed.load, placed.plan, placed.machine
        self._first_plan = placed.plan
        self._notices = placed.notices
        await self.engine.run(placed.load)

    def less(self) -> Less | None:
        """What would take less memory than what was loaded last."""
        from specchat.choosing.less import with_less

        if self._load is None:
            return None
        self._less = with_less(self._load, self._first_plan)
        return self._less

    @property
    def has_less(self) -> bool:
        """Whether there is anything to try with less memory."""
        return self._less is not None

    async def load_less(self) -> None:
        """Load what `less` has found, and deliver events until its engine ends."""
        from specchat.choosing.less import memory_of

        less = self._less
        if less is None or self.machine is None:
            await self.load()
            return
        await self.engine.close()
        self._load, self._less = less.load, None
        self.plan = await asyncio.to_thread(memory_of, less.load, self.machine)
        self._notices = (
            Notice("less", "Started with less", less.sentence, "F2 shows other pairs."),
        )
        await self.engine.run(less.load)

    def loaded(self, more: tuple[Notice, ...]) -> list[Notice]:
        """The pair is loaded, and is the one for the next start too.

        Returns:
            What a person should know about it and was not told before.
        """
        from specchat.choosing.last_pair import remember

        remember(self.choice)
        found = [notice for notice in (*self._notices, *more) if notice not in self._told]
        self._told.update(found)
        return found
