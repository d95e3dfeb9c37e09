"""The settings one by one, as the structs of `settings.py` have them, for the screen to show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from specchat.described import explanations
from specchat.settings import Settings

Kind = Literal["choice", "switch", "line", "text", "lines"]
"""How it is set: one of a few; on or off; in a line; in several; several, one a line."""

LONG = {("chat", "system")}
"""Settings whose text may have several lines."""
AT_ONCE, NEXT_ANSWER = "At once.", "With the next answer."
NEXT_LOAD, NEXT_START = "At the next load (/reload).", "At the next start."
EFFECTS = {
    "chat": NEXT_ANSWER,
    "sampling": NEXT_ANSWER,
    "speculation": NEXT_ANSWER,
    "loading": NEXT_LOAD,
    "models": NEXT_START,
    "screen": AT_ONCE,
}
OTHER_EFFECTS = {
    ("speculation", "drafter"): "With the next answer; a draft that is not loaded: at the next "
    "load (/reload).",
    ("models", "folders"): "When the pairs (F2) are listed again.",
}


@dataclass(frozen=True)
class SettingField:
    """One setting."""

    table: str
    name: str
    explanation: str
    kind: Kind
    choices: tuple[str, ...]
    types: frozenset[Any]
    """What it may be, with the words that are allowed."""
    default: Any
    effect: str
    """When a change of it is felt."""

    @property
    def place(self) -> tuple[str, str]:
        """In the file."""
        return self.table, self.name

    def value_in(self, settings: Settings) -> Any:
        """What the settings have."""
        return getattr(getattr(settings, self.table), self.name)

    def written(self, value: Any) -> str:
        """The value as a person writes it; nothing for none."""
        match value:
            case None:
                return ""
            case dict():
                return ", ".join(f"{key}: {_number(each)}" for key, each in value.items())
            case tuple():
                return "\n".join(value)
            case float():
                return _number(value)
        return str(value)

    def read(self, text: str) -> Any:
        """What a person wrote, as `write_setting` takes it; None where nothing was written.

        What makes no sense stays text: the settings refuse it in words.
        """
        if not text.strip():
            return None
        if self.kind == "lines":
            return [line.strip() for line in text.splitlines() if line.strip()]
        if dict in self.types:
            return _pairs(text)
        if {int, float} & self.types:
            return _as_number(text.strip())
        return text if self.kind == "text" else text.strip()


def tables() -> tuple[str, ...]:
    """The tables that have settings, in the order of the file."""
    return tuple(EFFECTS)


def fields_of(table: str) -> tuple[SettingField, ...]:
    """The settings of a table, in order."""
    struct = next(each.type for each in msgspec.structs.fields(Settings) if each.name == table)
    words = explanations(struct)
    return tuple(
        _field(table, each, words.get(each.name, "")) for each in msgspec.structs.fields(struct)
    )


def about(table: str) -> str:
    """What a table is for."""
    struct = next(each.type for each in msgspec.structs.fields(Settings) if each.name == table)
    return explanations(Settings).get(table) or (struct.__doc__ or "").partition("\n")[0]


def _field(table: str, field: msgspec.structs.FieldInfo, explanation: str) -> SettingField:
    parts = _parts(field.type)
    default = field.default
    if default is msgspec.NODEFAULT:
        default = field.default_factory() if callable(field.default_factory) else None
    place = (table, field.name)
    return SettingField(
        table=table,
        name=field.name,
        explanation=explanation,
        kind=_kind(place, frozenset(parts)),
        choices=tuple(part for part in parts if isinstance(part, str)),
        types=frozenset(parts),
        default=default,
        effect=OTHER_EFFECTS.get(place, EFFECTS[table]),
    )


def _kind(place: tuple[str, str], types: frozenset[Any]) -> Kind:
    values = types - {type(None)}
    if all(isinstance(each, str) for each in values):
        return "choice"
    if values == {bool}:
        return "switch"
    if tuple in values:
        return "lines"
    return "text" if place in LONG else "line"


def _parts(kind: Any) -> list[Any]:
    """The types and words that an annotation allows, as they are written there."""
    if get_origin(kind) is Annotated:
        return _parts(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    if get_origin(kind) in (Union, UnionType):
        return [each for part in get_args(kind) for each in _parts(part)]
    return [get_origin(kind) or kind]


def _number(value: float) -> str:
    """As short as it can be."""
    return str(int(value)) if math.isfinite(value) and value == int(value) else str(value)


def _as_number(text: str) -> int | float | str:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _pairs(text: str) -> Mapping[str, Any]:
    """`128: -inf, 42: 1.5`."""
    pairs = {}
    for part in text.split(","):
        key, _, value = part.partition(":")
        pairs[key.strip()] = _as_number(value.strip())
    return pairs
