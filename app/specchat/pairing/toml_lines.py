"""Where in a TOML file a table or a key stands: the reader of the standard library does not say."""

import re

PART = re.compile(r"""[\w\-]+|"[^"]*"|'[^']*'""")
NAME = rf"(?:{PART.pattern})(?:\s*\.\s*(?:{PART.pattern}))*"
HEADER = re.compile(rf"\s*(\[\[?)\s*({NAME})\s*\]\]?\s*(#.*)?$")
KEY = re.compile(rf"\s*({NAME})\s*=")

Place = tuple[str | int, ...]
"""Such as `("pair", 0, "target", "quant")`: the first pair's target's quant."""


def line_numbers(text: str) -> dict[Place, int]:
    """The first line of every table and key, counted from 1.

    It knows tables, arrays of tables and keys, quoted and with dots too, but not what is inside of
    an inline table.
    """
    lines: dict[Place, int] = {}
    counts: dict[Place, int] = {}
    table: Place = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := HEADER.match(line):
            table = _resolve(header[2], header[1] == "[[", counts)
            lines.setdefault(table, number)
        elif key := KEY.match(line):
            lines.setdefault((*table, *_parts(key[1])), number)
    return lines


def _resolve(name: str, is_array: bool, counts: dict[Place, int]) -> Place:
    """The place that a header opens; a part that names an array means its last element."""
    place: Place = ()
    parts = _parts(name)
    for depth, part in enumerate(parts):
        place = (*place, part)
        if depth == len(parts) - 1 and is_array:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place


def _parts(name: str) -> list[str]:
    """The names in a dotted one, without quotes."""
    return [part.strip("\"'") for part in PART.findall(name)]
