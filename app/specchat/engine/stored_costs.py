"""The file in which a pair's measured costs are kept, for the engine and for who reports them."""

from pathlib import Path

import msgspec

from specchat.paths import data_folder


class MeasuredCosts(msgspec.Struct, frozen=True):
    """Milliseconds of decode calls by number of tokens, with an empty context."""

    verify: dict[int, float]
    draft: dict[int, float]
    target: str = ""
    """File name of the target."""
    draft_model: str | None = None
    """File name of the draft."""
    rereading: dict[int, float] = {}
    """Of heads whose guesses after the first take in the draft before them once more: such a call,
    by the number of the guess."""
    snapshots_ms: float | None = None
    """What the target's snapshots of its state take of a call of one token; None: it keeps none, or
    that is not known."""


def costs_folder() -> Path:
    """Where measured costs are kept."""
    return data_folder() / "costs"


def last_costs(count: int) -> list[tuple[float, MeasuredCosts]]:
    """The newest measurements and when they were made, in seconds since 1970; the newest first."""
    found = []
    for path in costs_folder().glob("*.json"):
        try:
            costs = msgspec.json.decode(path.read_bytes(), type=MeasuredCosts)
            found.append((path.stat().st_mtime, costs))
        except (OSError, msgspec.DecodeError):  # the engine will measure anew
            continue
    return sorted(found, key=lambda one: one[0], reverse=True)[:count]
