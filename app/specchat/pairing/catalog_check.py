"""What is wrong in files of the catalog, each mistake with its line and a way out."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import fields

from specchat.nearest import did_you_mean
from specchat.pairing.catalog import (
    CatalogDraft,
    CatalogFile,
    CatalogModel,
    CatalogPair,
    Evidence,
    Family,
)
from specchat.pairing.catalog_rules import Finding, model_findings, pair_findings
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


Table = TypeVar("Table", bound=msgspec.Struct)


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
    model_names: frozenset[str] = frozenset()
    """Of all models, the unsound ones too."""
    lines: Mapping[Place, int] = {}
    problems: tuple[Problem, ...] = ()

    def problem(self, place: Place, says: str) -> Problem:
        """A mistake there, at the line of the nearest table or key around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return Problem(str(self.file), self.lines.get(place), says)


def find_problems(checked: Sequence[CheckedFile], others: Sequence[CheckedFile]) -> list[Problem]:
    """What is wrong in the files, by file and line.

    Args:
        others: files that these may refer to, and whose names they may take over.
    """
    everything = [*others, *checked]
    models = {model.name: model for file in everything for model in file.models.values()}
    names = frozenset[str]().union(*(file.model_names for file in everything))
    problems = [problem for file in checked for problem in file.problems]
    for file in checked:
        for number, model in file.models.items():
            problems += _at(file, ("model", number), model.name, model_findings(model))
        for number, pair in file.pairs.items():
            problems += _at(file, ("pair", number), pair.name, pair_findings(pair, models, names))
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
    problems: list[Problem] = []
    model_tables = tables.pop("model", [])
    models = dict(_sound(empty, "model", CatalogModel, model_tables, problems))
    pairs = dict(_sound(empty, "pair", CatalogPair, tables.pop("pair", []), problems))
    try:
        msgspec.convert(tables, Family)
    except msgspec.ValidationError as error:
        problems.append(empty.problem(*_in_words(str(error), ())))
    names = frozenset(_names(model_tables))
    return CheckedFile(file, models, pairs, names, lines, tuple(problems))


def _names(tables: object) -> Iterator[str]:
    for table in tables if isinstance(tables, list) else []:
        if isinstance(table, dict) and isinstance(table.get("name"), str):
            yield table["name"]


def _sound(
    file: CheckedFile, kind: str, type: type[Table], tables: object, problems: list[Problem]
) -> Iterator[tuple[int, Table]]:
    """The tables that read, by number; mistakes in the others are added to the problems."""
    if not isinstance(tables, list):
        problems.append(file.problem((kind,), f"Write [[{kind}]], in two brackets."))
        return
    for number, table in enumerate(tables):
        try:
            yield number, msgspec.convert(table, type)
        except msgspec.ValidationError as error:
            name = table.get("name") if isinstance(table, dict) else None
            place, says = _in_words(str(error), (kind, number))
            problems.append(file.problem(place, f"{kind} {name or number + 1}: {says}"))


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


def _at(
    file: CheckedFile, table: Place, name: str, findings: Iterable[Finding]
) -> Iterator[Problem]:
    for where, says in findings:
        yield file.problem((*table, *where), f"{table[0]} {name}: {says}")


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
