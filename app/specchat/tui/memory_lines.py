"""The memory plan's bars as Textual's content; `pairing.memory_bar` draws them."""

from collections.abc import Iterable

from textual.content import Content

from specchat.pairing.machine import Machine
from specchat.pairing.memory import DeviceShare, MemoryPlan
from specchat.pairing.memory_bar import Role, Segment, legend, memory_bar, memory_line
from specchat.pairing.sizes import gib

STYLES: dict[Role, str] = {
    "target": "$primary",
    "draft": "$success",
    "kv": "$accent",
    "compute": "$secondary",
    "free": "$foreground-muted",
    "in_use": "$foreground-muted",
    "over": "bold $error",
}
"""Each part has its own glyph too."""


def full_lines(plan: MemoryPlan, machine: Machine, width: int) -> list[Content]:
    """A line for every device that holds something: name, bar, figures."""
    return [
        _content(memory_line(share, total_bytes(share, machine), width))
        for share in plan.shares
        if share.parts
    ]


def narrow_lines(plan: MemoryPlan, machine: Machine, width: int) -> list[Content]:
    """The same in two short lines a device."""
    lines = []
    for share in plan.shares:
        if share.parts:
            total = total_bytes(share, machine)
            figures = memory_text(share, total)
            name = share.device[: max(3, width - len(figures) - 1)]
            lines.append(Content(f"{name:<{width - len(figures)}}{figures}"))
            lines.append(_content(memory_bar(share, total, width)))
    return lines


def legend_line() -> Content:
    """What the glyphs mean."""
    return _content(legend(set(STYLES)))


def memory_text(share: DeviceShare, total: int) -> str:
    """What the pair takes of all that the device has: `6.8 of 8.0 GiB`."""
    return f"{gib(share.used_bytes - share.parts.get('margin', 0))} of {gib(total)} GiB"


def total_bytes(share: DeviceShare, machine: Machine) -> int:
    """All memory of a device."""
    totals = {device.name: device.total_bytes for device in machine.devices}
    return totals.get(share.device, machine.ram_bytes)


def main_share(plan: MemoryPlan) -> DeviceShare | None:
    """The device that holds most of the target."""
    shares = [share for share in plan.shares if share.parts.get("target")]
    return max(shares, key=lambda share: share.parts["target"], default=None)


def _content(segments: Iterable[Segment]) -> Content:
    return Content.assemble(
        *(
            (segment.text, STYLES[segment.role]) if segment.role in STYLES else segment.text
            for segment in segments
        )
    )
