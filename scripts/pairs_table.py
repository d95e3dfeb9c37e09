"""Writes docs/pairs.md anew: what the planner picks for fourteen machines, and how it decides.

python scripts/pairs_table.py > docs/pairs.md
"""

from typing import NamedTuple

from specchat.commands.pairs import DRAFTERS, HEADS, context_text, speed_text
from specchat.pairing.catalog import Backend, read_catalog
from specchat.pairing.machine import Machine
from specchat.pairing.planned import PlannedPair
from specchat.pairing.planner import best_of_each_model, rank_pairs
from specchat.pairing.what_if import described_machine


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

PAGE = """\
# Which pair for which machine: `specchat pairs`

```sh
specchat pairs                                  # for this machine
specchat pairs --vram 8GiB --ram 32GiB          # what if: a card of 8 GB
specchat pairs --device metal --ram 24GiB       # what if: a Mac
specchat pairs --all                            # those that do not fit too, and what they lack
specchat pairs --json                           # one object; its schema is docs/pairs.schema.json
```

`--vram` may be given once for each card. Memory counts in powers of two, as it is sold: 8GB and
8GiB are the same. What the options do not say is taken from this machine. In the JSON the pairs
are in the same order, with `--all` those that do not fit as well.

## How they are ordered

By one number, the quality of the target that fits:

| part | counts |
| --- | --- |
| size | billions of parameters; of a mixture of experts (total² x active)^(1/3); embeddings that are only looked up do not count |
| age | a year newer is worth twice the size |
| quantisation | 8 bits 1, Q5 0.97, Q4_K 0.96, IQ4 0.93, Q3 0.82, IQ3 0.75, IQ2 0.3 |
| standing | our own judgement, in the catalog: below 1 for models that are weaker than all that suggests |
| placement | 0.9 where layers beside a card are in main memory, because prompts become slow, too |
| speed | under {reading:.0f} tok/s times (speed / {reading:.0f})^{impatience}; above it twice the speed is worth 7 % |
| context | half of what the catalog suggests costs 7 % |

It is a rule of thumb for the order of a list and no benchmark. A file whose size nobody has noted
is taken as large as its parameters make likely; such a pair, and one whose files nobody has seen,
counts 0.95.

## What the speed is

Plain tok/s is memory bandwidth by class of device, times the share of it that decoding reaches
(0.7; mixtures 0.35 on cards and 0.5 on CPUs), by the bytes that a token reads. The drafter's part
is the lowest and the highest ratio that the catalog's evidence reports for such a device; where
there is none, nothing is promised. What was measured on this machine replaces both, and a pair
that was measured corrects the estimates of the others.

## When a draft is refused

- Its drafter cannot be run by this version: heads (MTP, EAGLE-3, DFlash, DSpark) so far. n-grams
  guess instead. A hybrid, whose layers keep a state, is decoded plainly.
- The target has 3B or less: a draft was slower at 0.8B (0.58 times) and 2B (0.82).
- There is no card: a draft model was slower on CPUs; heads lose on fewer than 8 cores, and for a
  mixture, where every guess reads other experts.
- MTP on Metal: 25.3 to 19-22 tok/s, and 25 to 5.5 for a mixture.
- It lost when it was measured on this machine.
- It does not fit beside the target.

The addresses are in `app/specchat/pairing/drafting.py` and in the evidence of each pair.

## Fourteen machines

What-if machines have 0.5 GB of a card in use, and 40 % of main memory, from 2 to 6 GB. On a Mac
the GPU may have two thirds of it, from 36 GB on three quarters.

| machine | pick | draft | size | context | tok/s | then |
| --- | --- | --- | --- | --- | --- | --- |
{rows}

This page is written by `python scripts/pairs_table.py > docs/pairs.md`, and a test compares it
with what the planner says. The commands of the machines:

```sh
{commands}
```
"""


def page() -> str:
    """The whole of docs/pairs.md."""
    from specchat.pairing.planner import IMPATIENCE, READING_SPEED

    catalog = read_catalog()
    rows = []
    for what_if in MACHINES:
        ranked = rank_pairs(catalog, what_if.machine())
        rows.append(_row(what_if.name, best_of_each_model(pair for pair in ranked if pair.fits)))
    return PAGE.format(
        rows="\n".join(rows),
        commands="\n".join(what_if.command for what_if in MACHINES),
        reading=READING_SPEED,
        impatience=IMPATIENCE,
    )


def _row(machine: str, best: tuple[PlannedPair, ...]) -> str:
    pick, *others = best
    cells = (
        machine,
        f"{pick.name}: {pick.title}",
        DRAFTERS.get(pick.drafter, HEADS),
        f"{pick.target.size_bytes / 1e9:.1f} GB",
        context_text(pick.plan.n_ctx),
        speed_text(pick.speed),
        ", ".join(f"{other.name} ({speed_text(other.speed)})" for other in others[:3]),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(page(), end="")
