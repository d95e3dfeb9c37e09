"""Writes docs/pairs.md anew: what the planner picks for fourteen machines, and how it decides.

python scripts/pairs_table.py > docs/pairs.md
"""

from pathlib import Path
from typing import NamedTuple

from specchat.commands.pairs import DRAFTERS
from specchat.pairing.catalog import Backend, read_catalog
from specchat.pairing.machine import Machine
from specchat.pairing.planned import PlannedPair
from specchat.pairing.planner import best_of_each_model, rank_pairs
from specchat.pairing.what_if import described_machine
from specchat.pairing.wording import context_text, speed_text


class WhatIf(NamedTuple):
    """A machine by the options that describe it."""

    name: str
    device: Backend
    ram: str
    vram: str | None = None

    @property
    def command(self) -> str:
        """What a person types to ask about it."""
        vram = f" --vram {self.vram}" if self.vram else ""
        return f"specchat pairs --device {self.device}{vram} --ram {self.ram}"

    def machine(self) -> Machine:
        """As the planner sees it."""
        nowhere = Machine(devices=(), ram_bytes=0, free_ram_bytes=0)
        return described_machine(nowhere, [self.vram] if self.vram else [], self.ram, self.device)


MACHINES = (
    WhatIf("4 GB card, 16 GB", "cuda", "16GiB", "4GiB"),
    WhatIf("6 GB card, 16 GB", "cuda", "16GiB", "6GiB"),
    WhatIf("8 GB card, 16 GB", "cuda", "16GiB", "8GiB"),
    WhatIf("12 GB card, 32 GB", "cuda", "32GiB", "12GiB"),
    WhatIf("16 GB card, 32 GB", "cuda", "32GiB", "16GiB"),
    WhatIf("24 GB card, 64 GB", "cuda", "64GiB", "24GiB"),
    WhatIf("laptop, 8 GB", "cpu", "8GiB"),
    WhatIf("laptop, 16 GB", "cpu", "16GiB"),
    WhatIf("laptop, 32 GB", "cpu", "32GiB"),
    WhatIf("Apple, 16 GB", "metal", "16GiB"),
    WhatIf("Apple, 24 GB", "metal", "24GiB"),
    WhatIf("Apple, 32 GB", "metal", "32GiB"),
    WhatIf("Apple, 64 GB", "metal", "64GiB"),
    WhatIf("old laptop, 4 GB", "cpu", "4GiB"),
)

PAGE = Path(__file__).parents[1] / "docs" / "pairs.md"
HEAD = """\
| machine | pick | draft | size | context | tok/s | then |
| --- | --- | --- | --- | --- | --- | --- |
"""


def page() -> str:
    """The whole of docs/pairs.md, with its table of machines and their commands made anew."""
    catalog = read_catalog()
    rows = []
    for what_if in MACHINES:
        ranked = rank_pairs(catalog, what_if.machine())
        rows.append(_row(what_if.name, best_of_each_model(pair for pair in ranked if pair.fits)))
    commands = [what_if.command for what_if in MACHINES]
    before, _, rest = PAGE.read_text().partition(HEAD)
    middle, fence, _ = rest.partition("\n\n")[2].rpartition("```sh\n")
    lines = (before + HEAD.rstrip("\n"), *rows, "", middle + fence.rstrip("\n"), *commands, "```")
    return "\n".join(lines) + "\n"


def _row(machine: str, best: tuple[PlannedPair, ...]) -> str:
    pick, *others = best
    cells = (
        machine,
        f"{pick.name}: {pick.title}",
        DRAFTERS[pick.drafter],
        f"{pick.target.size_bytes / 1e9:.1f} GB",
        context_text(pick.plan.n_ctx),
        speed_text(pick.speed),
        ", ".join(f"{other.name} ({speed_text(other.speed)})" for other in others[:3]),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page())
