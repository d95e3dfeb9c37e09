"""`specchat pairs`: the catalog's pairs as they would run on a machine, the best first."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from specchat.pairing.wording import (
    context_text,
    download_text,
    machine_text,
    speed_source,
    speed_text,
)

if TYPE_CHECKING:
    from specchat.pairing.catalog import Backend
    from specchat.pairing.machine import Machine
    from specchat.pairing.planned import PlannedFile, PlannedPair

SHOWN = 5
"""Pairs of the table; `--all` shows the rest."""
NARROWEST, WIDEST = 80, 140
INDENT = "   "
COLUMNS = "{name:<22} {target:<28} {drafter:<7} {size:>7} {context:>4} {speed:>7}"
DRAFTERS = {
    "none": "none",
    "ngram": "n-grams",
    "model": "model",
    "mtp": "MTP",
    "eagle3": "EAGLE-3",
    "dflash": "DFlash",
    "dspark": "DSpark",
}


def pairs(
    vram: tuple[str, ...],
    ram: str | None,
    device: Backend | None,
    show_all: bool,
    as_json: bool,
) -> int:
    """Print the pairs for this machine, or for one described by the options.

    Returns:
        The exit code.

    Raises:
        InvalidSetting: the options describe no machine.
        InvalidCatalog: the person's own catalog does not read.
        LibraryProblem, EngineCrashed: llama.cpp cannot be asked for devices.
    """
    from specchat.choosing.disk import files_here
    from specchat.choosing.machine_now import machine_now
    from specchat.choosing.shown import measured_here
    from specchat.host import machine_with
    from specchat.pairing.catalog import read_all
    from specchat.pairing.planned import PairsReport, report_json
    from specchat.pairing.planner import rank_pairs
    from specchat.pairing.what_if import described_machine

    described = bool(vram or ram or device)
    # Where a device is described, only the size of main memory is asked of this machine.
    machine = machine_with(()) if vram or device else machine_now()
    if described:
        machine = described_machine(machine, vram, ram, device)
    catalog = read_all()
    ranked = rank_pairs(
        catalog,
        machine,
        measured=() if described else measured_here(catalog),
        on_disk=files_here(catalog).keys(),
    )
    if as_json:
        listed = tuple(pair for pair in ranked if show_all or pair.fits)
        print(report_json(PairsReport(machine=machine, pairs=listed)))
        return 0
    width = min(WIDEST, max(NARROWEST, shutil.get_terminal_size((NARROWEST, 24)).columns))
    print("\n".join(table(machine, ranked, show_all=show_all, described=described, width=width)))
    return 0


def table(
    machine: Machine,
    ranked: Sequence[PlannedPair],
    *,
    show_all: bool,
    described: bool,
    width: int,
) -> Iterator[str]:
    """The lines of the table: without `show_all`, the best pair of each of the best models."""
    from specchat.pairing.planner import best_of_each_model

    fitting = [pair for pair in ranked if pair.fits]
    shown = ranked if show_all else best_of_each_model(fitting)[:SHOWN]
    yield from textwrap.wrap(machine_line(machine, described=described), width)
    yield ""
    if not shown:
        yield "No pair of the catalog fits. With --all you see what each of them lacks."
        return
    yield COLUMNS.format(
        name="PAIR", target="TARGET", drafter="DRAFT", size="SIZE", context="CTX", speed="TOK/S"
    )
    for pair in shown:
        yield from _entry(pair, machine, width)
        yield ""
    yield from textwrap.wrap(_rest(ranked, fitting, shown), width)


def machine_line(machine: Machine, *, described: bool) -> str:
    """The machine in a sentence."""
    which = "A machine like this" if described else "This machine"
    return f"{which}: {machine_text(machine)}."


def _entry(pair: PlannedPair, machine: Machine, width: int) -> Iterator[str]:
    """One pair: its figures in columns, what it takes of each memory, and why it is here."""
    from specchat.pairing.memory_bar import memory_line, plain

    yield COLUMNS.format(
        name=pair.name,
        target=pair.title,
        drafter=DRAFTERS[pair.drafter],
        size=download_text(pair),
        context=context_text(pair.plan.n_ctx),
        speed=speed_text(pair.speed),
    ).rstrip()
    totals = {device.name: device.total_bytes for device in machine.devices}
    for share in pair.plan.shares:
        if share.parts:
            total = totals.get(share.device, machine.ram_bytes)
            yield INDENT + plain(memory_line(share, total, width - len(INDENT)))
    facts = [pair.licence, speed_source(pair.speed), *_draft(pair)]
    reasons = (pair.why, *pair.verdict) if pair.fits else pair.verdict
    for words in (" · ".join(filter(None, facts)), *reasons):
        yield from textwrap.wrap(
            words, width, initial_indent=INDENT, subsequent_indent=INDENT + "  "
        )


def _draft(pair: PlannedPair) -> Iterator[str]:
    draft: PlannedFile | None = pair.draft
    if draft is not None and draft.file is None:
        yield f"draft: the {draft.title} in its own file"
    elif draft is not None:
        yield f"draft: {draft.title} {draft.quant}"


def _rest(
    ranked: Sequence[PlannedPair], fitting: Sequence[PlannedPair], shown: Sequence[PlannedPair]
) -> str:
    """What is not shown, and how to see it."""
    more = sum(pair not in shown for pair in fitting)
    lacking = sum(pair not in shown for pair in ranked if not pair.fits)
    if not more and not lacking:
        return "Get one with: specchat pull PAIR"
    return (
        f"{more} more fit, other files of these models among them, and {lacking} "
        f"{'does' if lacking == 1 else 'do'} not: --all. Get one with: specchat pull PAIR"
    )
