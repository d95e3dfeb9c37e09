"""What to try after the engine died: the draft left out, then less context, then fewer layers."""

from typing import NamedTuple

from specchat.engine.protocol import Load
from specchat.pairing.memory import MemoryPlan


class Less(NamedTuple):
    """A load that takes less memory."""

    load: Load
    sentence: str
    """What is less, such as `Without the draft model.`"""


def with_less(load: Load, plan: MemoryPlan | None = None) -> Less | None:
    """The next smaller load, or None where there is nothing left to give.

    Args:
        load: what was loaded when the engine died; the result is to be sent as it is, not placed
            again.
        plan: its memory plan, which knows how many layers there are.
    """
    raise NotImplementedError
