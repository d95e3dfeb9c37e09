"""`specchat bench`: from its options to a report, files and an exit code."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specchat.bench.export import as_csv, as_json, require_writable, write_file
from specchat.bench.machine import Before
from specchat.bench.measure import measure
from specchat.bench.plan import BenchPlan, make_plan
from specchat.bench.problems import BusyMachine, EngineFailed
from specchat.bench.progress import Progress
from specchat.bench.realistic import realistic_pair
from specchat.bench.record import Record
from specchat.bench.report_html import report_html
from specchat.bench.report_text import report
from specchat.choosing.choice import Asked, choose
from specchat.errors import InvalidSetting
from specchat.hub.builtin import built_in_model
from specchat.pairing.head_fit import drafts_with

CANCELLED_EXIT_CODE = 130
REALISTIC = "realistic"
"""The name of a pair that is no catalog's: it is built."""


def bench(options: Mapping[str, Any]) -> int:
    """Measure, and show and keep the result.

    Args:
        options: by the names of `MODEL_OPTIONS` of the command line and `BENCH_OPTIONS` of here.

    Returns:
        The exit code.

    Raises:
        SpecchatError: an option makes no sense, llama-server or the pair cannot be had, or
            (`BusyMachine`) files were asked for and the machine was busy.
    """
    files = _files(options)
    require_writable(files)
    progress = Progress()
    before = Before()
    _say(*before.busy)
    if before.busy and _wants_files(options) and not options["even_if_busy"]:
        _say("The result will be shown, but no file will be written.")
    plan = _plan(options, progress)
    try:
        record = measure(plan, before, progress)
    except EngineFailed as failure:
        event = failure.event
        _say(f"{event.title}: {event.message}\n{event.help}", *event.log)
        return event.exit_code
    except KeyboardInterrupt:
        _say("Stopped. Nothing was kept.")
        return CANCELLED_EXIT_CODE
    print(report(record, colour=_has_colour()), flush=True)
    _keep(record, files, even_if_busy=options["even_if_busy"])
    return 0


def _plan(options: Mapping[str, Any], progress: Progress) -> BenchPlan:
    """The plan; it is checked before a pair is built for it."""
    name = options["pair"]
    if name is None:
        target = options["target"] or str(built_in_model())
        return _plan_of_files(options, target, options["draft"])
    if name != REALISTIC:
        chosen = choose(
            Asked(pair=name, target=options["target"], draft=options["draft"], keeps_draft=True)
        )
        return _plan_of_files(options, chosen.files.target, chosen.files.draft)
    if options["target"] or options["draft"]:
        raise InvalidSetting(
            "Tried to measure a pair that is built for it.",
            "A target or a draft was named as well.",
            "Use --pair, or --target and --draft.",
        )
    make_plan(options, "target", "draft", "model")
    target_path, draft_path = realistic_pair(progress.phase)
    return make_plan(options, str(target_path), str(draft_path), "model")


def _plan_of_files(options: Mapping[str, Any], target: str, draft: str | None) -> BenchPlan:
    """The plan for files that are here; their headers say what drafts."""
    return make_plan(options, target, draft, drafts_with(target, draft))


def _keep(record: Record, files: Mapping[str, Path | None], *, even_if_busy: bool) -> None:
    """Write the files, unless the figures cannot be relied on."""
    wanted = {option: path for option, path in files.items() if path is not None}
    if not wanted:
        return
    if record.quietness.busy and not even_if_busy:
        raise BusyMachine(
            "Tried to keep the result.",
            " ".join(record.quietness.busy),
            "End other programs and run it again, or use --even-if-busy to keep it, marked as "
            "measured on a busy machine.",
        )
    forms = {"--json": as_json, "--csv": as_csv, "--html": report_html}
    for option, path in wanted.items():
        write_file(path, forms[option](record))
        _say(f"Wrote {path}")


def _files(options: Mapping[str, Any]) -> dict[str, Path | None]:
    return {
        "--json": options["json_path"],
        "--csv": options["csv_path"],
        "--html": options["html_path"],
    }


def _wants_files(options: Mapping[str, Any]) -> bool:
    return any(path is not None for path in _files(options).values())


def _has_colour() -> bool:
    """Colour on a terminal, unless NO_COLOR (https://no-color.org) is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _say(*lines: str) -> None:
    for line in lines:
        print(line, file=sys.stderr, flush=True)
