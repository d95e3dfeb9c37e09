"""What the screen asks of the rest of specchat; tests bring an engine and a machine of their own.

The modules behind it are imported when they are needed: the screen is up before that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specchat.engine.client import ENGINE_COMMAND

if TYPE_CHECKING:
    from specchat.choosing.choice import Asked, Choice
    from specchat.choosing.offers import Offers
    from specchat.choosing.placing import Placed
    from specchat.hub.made_pairs import MadePair
    from specchat.pairing.machine import Machine


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


def pairs_on_disk() -> tuple[MadePair, ...]:
    """What can be made of the models on this disk, with verdicts."""
    import os
    import sys
    from pathlib import Path

    from specchat.choosing.disk import hugging_face_cache
    from specchat.hub.inventory import take_inventory
    from specchat.hub.made_pairs import made_pairs
    from specchat.hub.shelves import shelves

    home = Path.home()
    places = shelves(hugging_face_cache(os.environ, home), os.environ, home, sys.platform)
    return made_pairs(take_inventory(places))


@dataclass(frozen=True)
class World:
    """How the engine is started, and who answers questions about this machine.

    `choose`, `find_offers` and `find_pairs` take their time and are called in a thread.
    """

    engine_command: Sequence[str] = ENGINE_COMMAND
    choose: Callable[[Asked], Choice] = choose_here
    place: Callable[[Choice], Awaitable[Placed]] = place_here
    find_offers: Callable[[int, tuple[str, ...], Machine | None], Offers] = offers_here
    find_pairs: Callable[[], tuple[MadePair, ...]] = pairs_on_disk
