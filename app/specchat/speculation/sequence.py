"""Comparing sequences of tokens."""

from collections.abc import Sequence


def shared_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many leading tokens two sequences have in common."""
    length = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        length += 1
    return length
