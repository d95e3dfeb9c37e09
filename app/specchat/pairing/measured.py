"""What this machine has shown about pairs, whoever measured it: the bench, or a chat."""

import msgspec

from specchat.pairing.catalog import DraftType


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A pair's speed on this machine."""

    pair: str
    """Its name in the catalog."""
    plain: float
    """Tokens per second without drafting."""
    drafter: DraftType
    speed_up: float | None = None
    """Of that drafter; None: it was not compared."""
