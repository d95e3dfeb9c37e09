"""What the screen asks of the rest of specchat; the tests bring an engine and a machine of their own.

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


def choose_here(asked: Asked) -> Choice:
    """The pair that was asked for, of those on this disk."""
    from specchat.choosing.choice import choose

    return choose(asked)


async def place_here(choice: Choice) -> Placed:
    """Fit a choice to this machine, as it is now."""
    from specchat.choosing.placing import place

    return await place(choice)


def offers_here(count: int) -> Offers:
    """So many pairs for this machine, and what is on its disk."""
    from specchat.choosing.offers import find_offers

    return find_offers(count)


def pairs_on_disk() -> tuple[MadePair, ...]:
    """What can be made of the models on this disk, with verdicts."""
    import os
    import sys
    from pathlib import Path

    from specchat.hub.inventory import take_inventory
    from specchat.hub.library import cache_folder
    from specchat.hub.made_pairs import made_pairs
    from specchat.hub.shelves import shelves

    places = shelves(cache_folder(), os.environ, Path.home(), sys.platform)
    return made_pairs(take_inventory(places))


@dataclass(frozen=True)
class World:
    """How the engine is started, and who answers questions about this machine.

    `choose`, `find_offers` and `find_pairs` take their time and are called in a thread.
    """

    engine_command: Sequence[str] = ENGINE_COMMAND
    choose: Callable[[Asked], Choice] = choose_here
    place: Callable[[Choice], Awaitable[Placed]] = place_here
    find_offers: Callable[[int], Offers] = offers_here
    find_pairs: Callable[[], tuple[MadePair, ...]] = pairs_on_disk
