"""`specchat models`: what is on this disk, whether it is whole, and deleting what is ours."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from specchat.commands.download_line import DownloadLine
from specchat.commands.lines import wrapped
from specchat.errors import InvalidSetting
from specchat.hub.inventory import FoundModel, Inventory, take_inventory
from specchat.hub.library import cache_folder
from specchat.hub.made_pairs import MadePair, made_pairs
from specchat.hub.pulled import Pulled, pulled_files
from specchat.hub.removal import bytes_of, delete, how_to_delete, is_called, ours, refuse
from specchat.hub.shelves import OWN_FOLDERS, OWNER_TITLES, Owner, Shelf, shelves
from specchat.hub.verify import verify_models
from specchat.hub.wording import size_text
from specchat.pairing.findings import count
from specchat.settings_file import read_settings

SHOWN_PAIRS = 3
"""For each target; --json has all."""


class Folder(msgspec.Struct, frozen=True):
    """A folder that was looked at."""

    owner: Owner
    path: str


class Interrupted(msgspec.Struct, frozen=True, kw_only=True):
    """A download that can go on."""

    wanted: str
    """For `specchat pull`."""
    file: str
    kept_bytes: int
    size_bytes: int


class ModelsReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `specchat models --json` prints."""

    models: tuple[FoundModel, ...]
    pairs: tuple[MadePair, ...]
    """Those that fit first, the largest targets first."""
    interrupted: tuple[Interrupted, ...]
    folders: tuple[Folder, ...]
    notes: tuple[str, ...]
    """What could not be looked at."""


def report_schema() -> bytes:
    """The JSON Schema of `ModelsReport`, as published in docs/models.schema.json."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(ModelsReport)), indent=2)


def show(*, as_json: bool) -> int:
    """List the models and the pairs; returns the exit code."""
    report = models_report()
    if as_json:
        print(msgspec.json.encode(report).decode())
    else:
        print(*report_lines(report), sep="\n")
    return 0


def models_report() -> ModelsReport:
    """Look at this disk. Nothing is asked of the network."""
    places = _shelves()
    inventory = take_inventory(places)
    return ModelsReport(
        models=inventory.models,
        pairs=made_pairs(inventory),
        interrupted=tuple(
            Interrupted(
                wanted=entry.wanted,
                file=entry.file.name,
                kept_bytes=bytes_of(entry),
                size_bytes=entry.file.size_bytes,
            )
            for entry in pulled_files()
            if not entry.complete
        ),
        folders=tuple(Folder(shelf.owner, str(shelf.folder)) for shelf in places),
        notes=inventory.notes,
    )


def report_lines(report: ModelsReport) -> list[str]:
    """The report in lines of a terminal."""
    lines = []
    for owner, title in OWNER_TITLES.items():
        there = [model for model in report.models if model.owner == owner]
        if there:
            lines += [title, *(line for model in there for line in _model_lines(model)), ""]
    for each in report.interrupted:
        kept = f"{size_text(each.kept_bytes)} of {size_text(each.size_bytes)}"
        lines += _lines(
            f"{each.file} is half here ({kept}); go on with: specchat pull {each.wanted}"
        )
    lines += [
        *_pair_lines(report),
        *(line for note in report.notes for line in _lines(note)),
    ]
    places = ", ".join(dict.fromkeys(OWNER_TITLES[folder.owner] for folder in report.folders))
    looked = f"Looked at: {places}." if places else "No other program keeps models here."
    add = f"To add folders, set {OWN_FOLDERS}, written as PATH is, or folders in settings.toml."
    return [*lines, *_lines(f"{looked} {add}")]


def _model_lines(model: FoundModel) -> list[str]:
    facts = [size_text(model.size_bytes)]
    if model.kind == "model" and model.architecture:
        facts.append(model.architecture)
    if model.built_in_heads:
        facts.append(count(model.built_in_heads, "MTP head"))
    if len(model.parts) > 1:
        facts.append(f"{len(model.parts)} parts")
    if model.pulled:
        facts.append("pulled")
    if model.note:
        facts.append(f"cannot chat: {model.note}" if model.kind != "incomplete" else model.note)
    facts += [f"also in {each.replace('_', ' ', 1)}" for each in model.also]
    path = model.path.replace(str(Path.home()), "~", 1)
    return [
        *_lines(f"{model.name}  {', '.join(facts)}", "  ", "      "),
        f"      {path}",
    ]


def _pair_lines(report: ModelsReport) -> list[str]:
    pairs = report.pairs
    if not pairs:
        return []
    own = {model.path: model.built_in_heads for model in report.models if model.built_in_heads}
    targets = dict.fromkeys(pair.target_path for pair in pairs)
    lines = ["Pairs that can be made"]
    for path in targets:
        of_target = [pair for pair in pairs if pair.target_path == path]
        usable = [pair for pair in of_target if pair.verdict.usable]
        lines.append(f"  {of_target[0].target}")
        if path in own:
            lines.append(f"    <- {count(own[path], 'MTP head')} in its own file")
        for pair in usable[:SHOWN_PAIRS]:
            share = f"{pair.draft_share:.0%} of its size"
            lines += _lines(f"<- {pair.draft}, {share}", "    ", "       ")
        if not usable and path not in own:
            lines += _lines(f"no draft: {_reason(of_target[0])}", "    ", "       ")
        hidden = len(of_target) - len(usable[:SHOWN_PAIRS]) - (0 if usable or path in own else 1)
        if hidden:
            lines.append(f"    {hidden} more in --json, with reasons")
    return [*lines, ""]


def _reason(pair: MadePair) -> str:
    return f"{pair.verdict.sentence} {pair.verdict.advice}"


def verify(name: str | None) -> int:
    """Compare files with their checksums; returns 1 if one is damaged.

    Raises:
        InvalidSetting: nothing has this name.
    """
    models = [model for model in _inventory().models if name is None or _is_meant(model, name)]
    if not models:
        raise InvalidSetting(
            f"Tried to find {name or 'models'} on this disk.",
            "There is nothing of this name.",
            "`specchat models` lists what is here, with names.",
        )
    line = DownloadLine()
    damaged = False
    try:
        for result in verify_models(models, line):
            line.wipe()
            word = {"whole": "whole", "damaged": "DAMAGED", "unknown": "not known"}[result.outcome]
            print(f"{word:<10}{result.model.name}")
            if result.outcome == "damaged":
                damaged = True
                advice = _repair(result.model)
                print(*_lines(f"{result.sentence} {advice}", " " * 10, " " * 10), sep="\n")
    except KeyboardInterrupt:
        line.close()
        return 130
    return 1 if damaged else 0


def _repair(model: FoundModel) -> str:
    if model.pulled:
        return f"Run: specchat models rm {model.name}, then: specchat pull {model.name}"
    return f"{how_to_delete(model)} Then get it anew."


def remove(name: str, *, yes: bool) -> int:
    """Delete what specchat downloaded under this name; returns the exit code.

    Raises:
        NotOurs: it belongs to another program.
        InvalidSetting: nothing has this name, or there is nobody to ask.
    """
    entries = ours(name)
    if not entries:
        raise refuse(name, _inventory().models)
    print(*_entry_lines(entries), sep="\n", file=sys.stderr)
    total = f"these {size_text(sum(bytes_of(entry) for entry in entries))}"
    if not yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise InvalidSetting(
                f"Tried to ask whether to delete {total}.",
                "There is no terminal to ask on.",
                f"Add --yes: specchat models rm {name} --yes",
            )
        if not click.confirm(f"Delete {total}?", default=False, err=True):
            return 0
    print(f"Deleted; {size_text(delete(entries))} are free again.", file=sys.stderr)
    return 0


def _entry_lines(entries: Sequence[Pulled]) -> list[str]:
    return [
        f"  {entry.file.repo}  {entry.file.name}  {size_text(bytes_of(entry))}"
        + ("" if entry.complete else ", interrupted")
        for entry in entries
    ]


def _is_meant(model: FoundModel, name: str) -> bool:
    paths = {str(entry.place.pointer) for entry in ours(name)}
    return is_called(model, name) or not paths.isdisjoint(model.parts)


def _inventory() -> Inventory:
    return take_inventory(_shelves())


def _shelves() -> list[Shelf]:
    own = read_settings().models.folders
    return shelves(cache_folder(), os.environ, Path.home(), sys.platform, own)


def _lines(text: str, first: str = "", later: str = "") -> list[str]:
    """Names and commands stay whole, to be copied."""
    return wrapped(text, first, later, cut_long_words=False)
