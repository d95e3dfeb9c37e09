"""What is wrong in files of the catalog, each mistake with its line and a way out."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import fields

from specchat.pairing.catalog import (
    CatalogDraft,
    CatalogFile,
    CatalogModel,
    CatalogPair,
    Evidence,
    Family,
)
from specchat.pairing.catalog_rules import Finding, did_you_mean, model_findings, pair_findings
from specchat.pairing.toml_lines import Place, line_numbers

TABLES: dict[str, type[msgspec.Struct]] = {
    "": Family,
    "model": CatalogModel,
    "pair": CatalogPair,
    "target": CatalogFile,
    "draft": CatalogDraft,
    "evidence": Evidence,
}
"""What each table may hold, by the last name in its header."""


class Problem(msgspec.Struct, frozen=True):
    """A mistake in a file of the catalog."""

    file: str
    line: int | None
    says: str

    def __str__(self) -> str:
        return f"{self.file}{'' if self.line is None else f':{self.line}'}: {self.says}"


class CheckedFile(msgspec.Struct, frozen=True):
    """What could be read of a file, by its number there, and what could not."""

    file: Path
    models: Mapping[int, CatalogModel] = {}
    pairs: Mapping[int, CatalogPair] = {}
    lines: Mapping[Place, int] = {}
    problems: tuple[Problem, ...] = ()

    def problem(self, place: Place, says: str) -> Problem:
        """A mistake there, at the line of the nearest table or key around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return Problem(str(self.file), self.lines.get(place), says)


def find_problems(checked: Iterable[CheckedFile], others: Iterable[CheckedFile]) -> list[Problem]:
    """What is wrong in the files, by file and line.

    Args:
        others: files that these may refer to, and whose names they may take over.
    """
    checked = list(checked)
    models = {
        model.name: model for file in [*others, *checked] for model in file.models.values()
    }
    problems = [problem for file in checked for problem in file.problems]
    for file, place, name, findings in _all_findings(checked, models):
        problems += [
            file.problem((*place, *where), f"{place[0]} {name}: {says}") for where, says in findings
        ]
    problems += _duplicates(checked)
    return sorted(problems, key=lambda problem: (problem.file, problem.line or 0))


def check_file(file: Path) -> CheckedFile:
    """Read all tables that are sound, and say what is wrong with the others.

    Raises:
        OSError: the file cannot be read.
    """
    data = file.read_bytes()
    try:
        text = data.decode()
        tables = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return CheckedFile(file, problems=(Problem(str(file), line, "This is no UTF-8."),))
    except tomllib.TOMLDecodeError as error:
        says, _, where = str(error).partition(" (at ")
        found = re.search(r"line (\d+)", where)
        line = int(found[1]) if found else len(text.splitlines())
        return CheckedFile(file, problems=(Problem(str(file), line, f"This is no TOML: {says}."),))
    return _tables(file, line_numbers(text), tables)


def _tables(file: Path, lines: Mapping[Place, int], tables: dict[str, Any]) -> CheckedFile:
    empty = CheckedFile(file, lines=lines)
    models: dict[int, CatalogModel] = {}
    pairs: dict[int, CatalogPair] = {}
    problems: list[Problem] = []
    for kind, type, found in (("model", CatalogModel, models), ("pair", CatalogPair, pairs)):
        several = tables.pop(kind, [])
        if not isinstance(several, list):
            problems.append(empty.problem((kind,), f"Write [[{kind}]], in two brackets."))
            continue
        for number, table in enumerate(several):
            try:
                found[number] = msgspec.convert(table, type)  # type: ignore[index]
            except msgspec.ValidationError as error:
                name = table.get("name", f"number {number + 1}") if isinstance(table, dict) else "?"
                place, says = _in_words(str(error), (kind, number))
                problems.append(empty.problem(place, f"{kind} {name}: {says}"))
    try:
        msgspec.convert(tables, Family)
    except msgspec.ValidationError as error:
        problems.append(empty.problem(*_in_words(str(error), ())))
    return CheckedFile(file, models, pairs, lines, tuple(problems))


def _in_words(message: str, table: Place) -> tuple[Place, str]:
    """Where msgspec's message points to, and what it says, with the nearest key that exists."""
    says, _, path = message.partition(" - at `$")
    inside = re.findall(r"\.(\w+)|\[(\d+)\]", path)
    place = (*table, *(int(number) if number else key for key, number in inside))
    if unknown := re.match(r"Object contains unknown field `(.*)`", says):
        names = [part for part in place if isinstance(part, str)]
        known = [field.name for field in fields(TABLES[names[-1] if names else ""])]
        key = unknown[1]
        return (*place, key), f"There is no key {key} here.{did_you_mean(key, known)}"
    if missing := re.match(r"Object missing required field `(.*)`", says):
        return place, f"The key {missing[1]} is missing."
    key = next((part for part in reversed(place) if isinstance(part, str)), "")
    return place, f"{key}: {says}."


def _all_findings(
    checked: Iterable[CheckedFile], models: Mapping[str, CatalogModel]
) -> Iterator[tuple[CheckedFile, Place, str, Iterator[Finding]]]:
    for file in checked:
        for number, model in file.models.items():
            yield file, ("model", number), model.name, model_findings(model)
        for number, pair in file.pairs.items():
            yield file, ("pair", number), pair.name, pair_findings(pair, models)


def _duplicates(checked: Iterable[CheckedFile]) -> Iterator[Problem]:
    """Names that two tables share; the second one is at fault."""
    first: dict[tuple[str, str], Problem] = {}
    for file in checked:
        for kind, tables in (("model", file.models), ("pair", file.pairs)):
            for number, table in tables.items():
                here = file.problem((kind, number, "name"), "")
                known = first.setdefault((kind, table.name), here)
                if known is not here:
                    there = f"{known.file}:{known.line}"
                    yield Problem(here.file, here.line, f"{kind} {table.name} is there: {there}.")
