"""Looks now and then how the machine is: never while anything is drawn, and never often."""

import asyncio
from collections.abc import Callable

from specchat.pairing.machine import Conditions

PAUSE_S = 5.0
"""Between two looks, in seconds."""


async def watch_machine(
    read: Callable[[], Conditions], tell: Callable[[Conditions], None], pause_s: float = PAUSE_S
) -> None:
    """Go on for as long as the machine tells anything.

    Args:
        read: takes its time, and is called in a thread.
        tell: called when something has changed.
    """
    before = Conditions()
    while (now := await asyncio.to_thread(read)).are_known:
        if now != before:
            tell(now)
        before = now
        await asyncio.sleep(pause_s)
