"""What the screen asks of the rest of specchat; tests bring an engine and a machine of their own.

The modules behind it are imported when they are needed: the screen is up before that.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specchat.engine.client import ENGINE_COMMAND

if TYPE_CHECKING:
    from specchat.chat.store import Store
    from specchat.choosing.choice import Asked, Choice
    from specchat.choosing.offers import Offers
    from specchat.choosing.placing import Placed
    from specchat.pairing.machine import Conditions, Machine
    from specchat.tui.on_disk import OnDisk


def choose_here(asked: Asked) -> Choice:
    """The pair that was asked for, of those on this disk."""
    from specchat.choosing.choice import choose

    return choose(asked)


async def place_here(choice: Choice) -> Placed:
    """Fit a choice to this machine, as it is now."""
    from specchat.choosing.placing import place

    return await place(choice)


def offers_here(count: int, rpc: tuple[str, ...], machine: Machine | None) -> Offers:
    """So many pairs for this machine, and what is on its disk."""
    from specchat.choosing.offers import find_offers

    return find_offers(count, rpc, machine)


def disk_here(machine: Machine) -> OnDisk:
    """What can be loaded from this disk beside the catalog."""
    from specchat.tui.on_disk import look_at_disk

    return look_at_disk(machine)


def store_here() -> Store:
    """The conversations of this person."""
    from specchat.chat.store import open_store

    return open_store()


def conditions_here() -> Conditions:
    """Temperature and power of this machine."""
    from specchat.host import conditions

    return conditions()


@dataclass(frozen=True)
class World:
    """How the engine is started, and who answers questions about this machine.

    `choose`, `find_offers`, `look_at_disk` and `read_conditions` take their time and are called in
    a thread.
    """

    engine_command: Sequence[str] = ENGINE_COMMAND
    choose: Callable[[Asked], Choice] = choose_here
    place: Callable[[Choice], Awaitable[Placed]] = place_here
    find_offers: Callable[[int, tuple[str, ...], Machine | None], Offers] = offers_here
    look_at_disk: Callable[[Machine], OnDisk] = disk_here
    open_store: Callable[[], Store] = store_here
    read_conditions: Callable[[], Conditions] = conditions_here
    clock: Callable[[], float] = time.monotonic
    """Seconds since some moment."""
