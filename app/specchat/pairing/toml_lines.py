"""Where in a TOML file a table or a key stands: the reader of the standard library does not say."""

import re

HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\-\s]+?)\s*\]\]?\s*(#.*)?$")
KEY = re.compile(r"\s*([\w\-]+)\s*=")

Place = tuple[str | int, ...]
"""Such as `("pair", 0, "target", "quant")`: the first pair's target's quant."""


def line_numbers(text: str) -> dict[Place, int]:
    """The first line of every table and key, counted from 1.

    It knows tables, arrays of tables and plain keys, which is what a catalog is written in.
    """
    lines: dict[Place, int] = {}
    counts: dict[Place, int] = {}
    table: Place = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := HEADER.match(line):
            table = _resolve(header[2], header[1] == "[[", counts)
            lines.setdefault(table, number)
        elif key := KEY.match(line):
            lines.setdefault((*table, key[1]), number)
    return lines


def _resolve(name: str, is_array: bool, counts: dict[Place, int]) -> Place:
    """The place that a header opens; a part that names an array means its last element."""
    place: Place = ()
    parts = [part.strip() for part in name.split(".")]
    for depth, part in enumerate(parts):
        place = (*place, part)
        if depth == len(parts) - 1 and is_array:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place
