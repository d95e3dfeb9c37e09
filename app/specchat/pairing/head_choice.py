"""Which of several heads drafts for a target, where nobody has named one."""

from specchat.pairing.drafter_type import DrafterKind
from specchat.pairing.quants import bits_per_weight

PREFERRED_KINDS: tuple[DrafterKind, ...] = ("mtp_sidecar", "dspark", "dflash", "eagle3")
"""Of several that fit: by what is reported of them (docs/methods.md)."""
LARGEST_SHARE = 0.5
"""Of the target's bytes; a larger file is not looked into."""
ENOUGH_BITS = 4.0
"""A weight: what fewer of them cost in acceptance is more than they save in reading."""


def head_order(quant: str | None, size_bytes: int, target_quant: str | None) -> tuple[int, int]:
    """A key that puts the best of several heads of one kind first.

    It is the one of the target's quantisation, else the smallest of four bits or more, or of a
    quantisation that is not known, as of a publisher's only head; else the largest.
    """
    if quant is not None and target_quant is not None and _plain(quant) == _plain(target_quant):
        return 0, size_bytes
    bits = bits_per_weight(quant) if quant is not None else None
    return (1, size_bytes) if bits is None or bits >= ENOUGH_BITS else (2, -size_bytes)


def _plain(quant: str) -> str:
    return quant.upper().removeprefix("UD-")
