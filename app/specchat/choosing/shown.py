"""What this machine has shown about pairs of the catalog, as the planner wants it."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from specchat.engine.stored_costs import MeasuredCosts, last_costs
from specchat.pairing.catalog import Catalog
from specchat.pairing.measured import Measured

LATEST = 100
"""Measurements that are looked at."""


def measured_here(catalog: Catalog) -> tuple[Measured, ...]:
    """Plain speeds of pairs that were loaded on this machine, from what a token cost then."""
    try:
        costs = [each for _, each in last_costs(LATEST)]
    except OSError:
        return ()
    return shown_by(costs, catalog)


def shown_by(costs: Iterable[MeasuredCosts], catalog: Catalog) -> tuple[Measured, ...]:
    """The first of the measurements that there is for each pair.

    Args:
        costs: the newest first.
    """
    token_ms: dict[str, float] = {}
    for each in costs:
        milliseconds = each.verify.get(1, 0.0)
        if milliseconds > 0:
            token_ms.setdefault(each.target, milliseconds)
    return tuple(
        Measured(pair=pair.name, plain=1000 / milliseconds, drafter=pair.draft.type)
        for pair in catalog.pairs.values()
        for file, milliseconds in token_ms.items()
        if fnmatchcase(file, pair.target.file)
    )
