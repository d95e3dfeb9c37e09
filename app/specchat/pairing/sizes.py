"""Sizes of memory, as people write and read them."""

import re

from specchat.errors import InvalidSetting

KIB, MIB, GIB = 2**10, 2**20, 2**30
UNITS = {"K": KIB, "M": MIB, "G": GIB, "T": 2**40}
LARGEST = 2**44
"""16 TiB: more than a machine of one person has."""


def parse_size(text: str, option: str) -> int:
    """Bytes of a size such as `8GiB`, `8 GB`, `8g` or `512MiB`.

    Memory is counted in powers of two, as it is sold: a card of 8 GB has 8 GiB.

    Raises:
        InvalidSetting: it is no size, or one that no machine has.
    """
    tried = f"Tried to read the size '{text}' of {option}."
    found = re.fullmatch(
        r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*([KMGT])(?:I?B)?\s*", text.upper(), re.ASCII
    )
    if found is None:
        raise InvalidSetting(tried, "It is not a number with a unit.", f"Write {option} 8GiB.")
    size = round(float(found[1]) * UNITS[found[2]])
    if not MIB <= size <= LARGEST:
        raise InvalidSetting(
            tried, "No machine has that much or that little.", f"Write {option} 8GiB."
        )
    return size


def gib(size: float) -> str:
    """GiB with one digit after the point: `7.6`."""
    return f"{size / GIB:.1f}"
