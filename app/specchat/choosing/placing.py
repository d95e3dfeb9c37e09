"""A choice fitted to this machine: the memory plan, and what it means for the engine."""

import msgspec

from specchat.choosing.choice import Choice
from specchat.engine.protocol import Load, Notice
from specchat.pairing.machine import Machine
from specchat.pairing.memory import MemoryPlan


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A pair ready to be loaded."""

    load: Load
    """For the engine, as it is."""
    plan: MemoryPlan | None
    """None: a header cannot be read, and the engine says why."""
    machine: Machine
    notices: tuple[Notice, ...] = ()
    """What had to give (kind `memory`), and why it is not drafted as the catalog suggests."""


async def place(choice: Choice, machine: Machine | None = None) -> Placed:
    """Read the headers and the free memory, and decide what goes where.

    Right before a load: the free memory is that of now. Nothing of ours may be loaded meanwhile,
    since its memory would count as taken.

    Args:
        machine: None: the one that it runs on, as it is now.

    Raises:
        NotEnoughMemory: it does not fit, and was not forced by --gpu-layers.
        DraftMismatch: the draft does not fit the target, and is required.
        LibraryProblem, RpcServerProblem, EngineCrashed: the devices cannot be known.
    """
    raise NotImplementedError
