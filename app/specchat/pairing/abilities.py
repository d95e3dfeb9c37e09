"""What this version of specchat can run: the one list that says so, for the planner to go by.

A pair that asks for more stays in the catalog; it is offered with less, and says what is missing.
"""

import msgspec

from specchat.pairing.catalog import CacheType, DraftType


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine can do."""

    drafters: frozenset[DraftType]
    plain_only: frozenset[str]
    """Architectures that are decoded plainly: their state cannot drop a refused draft."""
    cache_types: frozenset[CacheType]
    """Of the KV cache."""
    experts_in_ram: bool
    """It can keep the experts of a mixture in main memory, and all else on a card."""


THIS_VERSION = Abilities(
    drafters=frozenset({"model", "ngram", "mtp", "eagle3", "dflash", "dspark"}),
    plain_only=frozenset(),
    cache_types=frozenset({"f16", "q8_0", "q4_0"}),
    experts_in_ram=True,
)
