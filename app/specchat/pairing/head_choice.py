"""Which of several heads drafts for a target, where nobody has named one."""

from specchat.pairing.drafter_type import DrafterKind
from specchat.pairing.quants import bits_per_weight

PREFERRED_KINDS: tuple[DrafterKind, ...] = ("mtp_sidecar", "dspark", "dflash", "eagle3")
"""Of several that fit: by what is reported of them (docs/methods.md)."""
LARGEST_SHARE = 0.5
"""Of the target's bytes; a larger file is not looked into."""
ENOUGH_BITS = 4.0
"""A weight; with fewer a head is expected to guess worse by more than it reads less."""


def head_order(quant: str | None, size_bytes: int, target_quant: str | None) -> tuple[int, int]:
    """A key that puts the best of several heads of one kind first.

    It is the one without a quantisation in its name, with which publishers mark the one for all
    files of a model; else the one of the target's quantisation; else the smallest of four bits or
    more; else the largest.

    Args:
        quant: in the head's name.
        target_quant: in the target's.
    """
    if quant is None:
        return 0, size_bytes
    if target_quant is not None and _plain(quant) == _plain(target_quant):
        return 1, size_bytes
    bits = bits_per_weight(quant)
    return (2, size_bytes) if bits is None or bits >= ENOUGH_BITS else (3, -size_bytes)


def _plain(quant: str) -> str:
    return quant.upper().removeprefix("UD-")
