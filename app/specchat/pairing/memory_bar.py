"""A memory plan drawn as bars of text: every part has a glyph and, where there is colour, a colour.

The bars are plain data, pairs of text and role; a terminal and the screen colour them their way.
"""

from typing import Literal, NamedTuple

from specchat.pairing.machine import Machine
from specchat.pairing.memory import DeviceShare, MemoryPlan, Part

Role = Literal["target", "draft", "kv", "compute", "free", "in_use", "over", "text"]

GLYPHS: dict[Role, str] = {
    "target": "█",
    "draft": "▓",
    "kv": "▒",
    "compute": "░",
    "free": "·",
    "in_use": "x",
    "over": "!",
}
NAMES: dict[Role, str] = {
    "target": "target",
    "draft": "draft",
    "kv": "KV cache",
    "compute": "compute",
    "free": "free",
    "in_use": "in use",
    "over": "too much",
}
PART_ROLES: dict[Part, Role] = {
    "target": "target",
    "draft": "draft",
    "target_kv": "kv",
    "draft_kv": "kv",
    "compute": "compute",
}
ANSI: dict[Role, str] = {
    "target": "34",
    "draft": "32",
    "kv": "36",
    "compute": "35",
    "free": "2",
    "in_use": "2",
    "over": "31;1",
}
NAME_WIDTH = 8
FIGURES_WIDTH = 18
LEGEND_INDENT = " " * (NAME_WIDTH + 1)


class Segment(NamedTuple):
    """A run of text of one role."""

    text: str
    role: Role


def memory_bar(share: DeviceShare, total_bytes: int, width: int) -> list[Segment]:
    """One device's memory, `width` characters long.

    The margin counts as free. A plan that needs more than is free makes the bar stand for all that
    is needed, and the part that does not fit is drawn as such.
    """
    sizes: dict[Role, int] = dict.fromkeys(GLYPHS, 0)
    for part, n_bytes in share.parts.items():
        if part in PART_ROLES:
            sizes[PART_ROLES[part]] += n_bytes
    needed = sum(sizes.values())
    sizes["in_use"] = max(0, total_bytes - share.free_bytes)
    if share.used_bytes > share.free_bytes:
        sizes["over"] = share.used_bytes - share.free_bytes
        _take(sizes, max(0, needed - share.free_bytes))
    else:
        sizes["free"] = share.free_bytes - needed
    order: tuple[Role, ...] = ("target", "draft", "kv", "compute", "over", "free", "in_use")
    cells = _cells([sizes[role] for role in order], width)
    return [
        Segment(GLYPHS[role] * count, role)
        for role, count in zip(order, cells, strict=True)
        if count
    ]


def memory_line(share: DeviceShare, total_bytes: int, width: int = 80) -> list[Segment]:
    """A device's name, bar and figures on one line."""
    used = share.used_bytes - share.parts.get("margin", 0)
    figures = f"{_in_gib(used)} of {_in_gib(share.free_bytes)} GiB".rjust(FIGURES_WIDTH)
    name = _cut(share.device, NAME_WIDTH).ljust(NAME_WIDTH) + " "
    bar = memory_bar(share, total_bytes, max(1, width - len(name) - len(figures)))
    return [Segment(name, "text"), *bar, Segment(figures, "text")]


def legend(roles: set[Role]) -> list[Segment]:
    """What the glyphs of these roles mean, on one line."""
    segments: list[Segment] = []
    for role, name in NAMES.items():
        if role in roles:
            gap = "  " if segments else ""
            segments += [Segment(gap, "text"), Segment(GLYPHS[role], role)]
            segments.append(Segment(f" {name}", "text"))
    return [segment for segment in segments if segment.text]


def memory_lines(plan: MemoryPlan, machine: Machine, width: int = 80) -> list[list[Segment]]:
    """All devices that hold something, and a legend."""
    totals = {device.name: device.total_bytes for device in machine.devices}
    shares = [share for share in plan.shares if share.parts]
    lines = [
        memory_line(share, totals.get(share.device, machine.ram_bytes), width) for share in shares
    ]
    roles = {segment.role for line in lines for segment in line}
    return [*lines, [Segment(LEGEND_INDENT, "text"), *legend(roles)]]


def plain(line: list[Segment]) -> str:
    """The text alone."""
    return "".join(segment.text for segment in line)


def coloured(line: list[Segment]) -> str:
    """The text for a terminal with colours."""
    return "".join(
        f"\x1b[{ANSI[segment.role]}m{segment.text}\x1b[0m" if segment.role in ANSI else segment.text
        for segment in line
    )


def _take(sizes: dict[Role, int], excess: int) -> None:
    """Draw what does not fit as such, from the end of the parts on."""
    for role in ("compute", "kv", "draft", "target"):
        taken = min(excess, sizes[role])
        sizes[role] -= taken
        excess -= taken


def _cells(sizes: list[int], width: int) -> list[int]:
    """Whole characters in proportion to the sizes, by largest remainders; what would get none takes
    one from the longest."""
    total = sum(sizes)
    if total == 0:
        return [0] * len(sizes)
    exact = [size * width / total for size in sizes]
    cells = [int(part) for part in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda index: -(exact[index] % 1))
    for index in by_remainder[: width - sum(cells)]:
        cells[index] += 1
    for index, size in enumerate(sizes):
        longest = cells.index(max(cells))
        if size > 0 and cells[index] == 0 and cells[longest] > 1:
            cells[longest] -= 1
            cells[index] = 1
    return cells


def _in_gib(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.1f}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
