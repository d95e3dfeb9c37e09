"""Reading and writing `settings.toml`: mistakes with their line, changes without disturbing it."""

import contextlib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar, get_args, get_origin

import msgspec
from msgspec.structs import fields

from specchat.errors import InvalidSetting, SpecchatError
from specchat.nearest import did_you_mean
from specchat.pairing.toml_lines import Place, line_numbers
from specchat.settings import Preset, Settings, settings_path

Table = TypeVar("Table", bound=msgspec.Struct)

WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text in quotes",
    "bool": "true or false",
    "array": "a list in brackets",
    "object": "a table",
}
"""What msgspec calls a type, and what people write in the file."""


class SettingsProblem(SpecchatError):
    """The settings file has a mistake, or cannot be read or written."""

    kind = "settings_problem"
    title = "The settings have a mistake"


class Mistake(Exception):
    """Something in the file that cannot be, and where."""

    def __init__(self, place: Place, says: str) -> None:
        super().__init__(says)
        self.place = place
        self.says = says


Check = Callable[[Settings], Iterable[Mistake]]
"""Finds what only another part of the program can know, such as that no theme has this name."""


def read_settings(path: Path | None = None, check: Check | None = None) -> Settings:
    """The settings; all defaults where there is no file.

    Args:
        path: by default the one in the config folder.
        check: looks for more mistakes.

    Raises:
        SettingsProblem: the first mistake, with its line.
    """
    path = path or settings_path()
    return _parse(path, _text(path), check)


def try_setting(
    place: tuple[str, ...], value: object, path: Path | None = None, check: Check | None = None
) -> Settings:
    """The settings as `write_setting` would leave them, or its error; nothing is written."""
    path = path or settings_path()
    text = _text(path)
    _parse(path, text, check)
    tables = table = tomllib.loads(text)
    *names, key = place
    for name in names:
        table = table.setdefault(name, {})
    table.pop(key, None)
    if value is not None:
        table[key] = _without_none(msgspec.to_builtins(value))
    return _accepted(tables, place, value, check)


def write_setting(
    place: tuple[str, ...], value: object, path: Path | None = None, check: Check | None = None
) -> Settings:
    """Change one setting in the file; the rest of it, comments too, stays as it is.

    Args:
        place: such as `("sampling", "temperature")` or `("keys", "chat.stop")`.
        value: a mapping writes a whole table; None removes it, so that the default holds.

    Returns:
        The settings as they are then.

    Raises:
        SettingsProblem: the file has a mistake, or cannot be written.
        InvalidSetting: the value does not fit there.
    """
    import tomlkit

    path = path or settings_path()
    text = _text(path)
    _parse(path, text, check)
    document = tomlkit.parse(text)
    _change(document, place, msgspec.to_builtins(value))
    changed = tomlkit.dumps(document)
    settings = _accepted(tomllib.loads(changed), place, value, check)
    _write(path, changed)
    return settings


def _accepted(
    tables: dict[str, Any], place: tuple[str, ...], value: object, check: Check | None
) -> Settings:
    """The settings after a change of this one."""
    try:
        return _settings(tables, check)
    except Mistake as mistake:
        raise InvalidSetting(
            f"Tried to set {'.'.join(place)} to {value}.",
            mistake.says,
            "Give another value.",
        ) from mistake


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise SettingsProblem(
            "Tried to read the settings.",
            f"The file {path} cannot be read: {error.strerror}.",
            "Make it readable, or move it away to go on with the defaults.",
        ) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _refuse(path, data[: error.start].count(b"\n") + 1, "This is no UTF-8.", error)


def _parse(path: Path, text: str, check: Check | None) -> Settings:
    try:
        return _settings(tomllib.loads(text), check)
    except tomllib.TOMLDecodeError as error:
        says, _, where = str(error).partition(" (at ")
        found = re.search(r"line (\d+)", where)
        line = int(found[1]) if found else len(text.splitlines())
        _refuse(path, line, f"This is no TOML: {says}.", error)
    except Mistake as mistake:
        lines, place = line_numbers(text), mistake.place
        if place[:1] == ("keys",):  # an id may be written in quotes
            quoted = ("keys", ".".join(map(str, place[1:])))
            place = quoted if quoted in lines else place
        _refuse(path, _line_of(place, lines), mistake.says, mistake)


def _line_of(place: Place, lines: Mapping[Place, int]) -> int | None:
    """Where it is in the file; where it is not, what it is in."""
    while place:
        inside = [line for each, line in lines.items() if each[: len(place)] == place]
        if inside:
            return min(inside)
        place = place[:-1]
    return None


def _refuse(path: Path, line: int | None, says: str, cause: Exception) -> NoReturn:
    raise SettingsProblem(
        "Tried to read the settings.",
        f"{path}{'' if line is None else f', line {line}'}: {says}",
        "Correct it, or remove it to get the default.",
    ) from cause


def _settings(tables: dict[str, Any], check: Check | None) -> Settings:
    """The settings in a file that is TOML."""
    if isinstance(tables.get("keys"), dict):
        tables["keys"] = _flat(tables["keys"])
    presets = tables.pop("presets", {})
    settings = _struct(tables, Settings, ())
    if not isinstance(presets, dict):
        raise Mistake(("presets",), "presets: expected a table, such as [presets.code].")
    named = {
        name: _struct(_over(tables, preset), Preset, ("presets", name))
        for name, preset in presets.items()
    }
    settings = msgspec.structs.replace(settings, presets=named)
    for mistake in _disagreements(settings):
        raise mistake
    for mistake in check(settings) if check is not None else ():
        raise mistake
    return settings


def _disagreements(settings: Settings) -> Iterator[Mistake]:
    """Settings that make no sense together."""
    chosen, presets = settings.chat.preset, settings.presets
    if chosen is not None and chosen not in presets:
        hint = did_you_mean(chosen, presets)
        yield Mistake(("chat", "preset"), f"There is no preset {chosen}.{hint}")
    tables: list[tuple[Place, Settings | Preset]] = [(("speculation", "rule"), settings)]
    tables += [(("presets", name), preset) for name, preset in presets.items()]
    for place, table in tables:
        try:
            table.speculation.effective_rule(table.sampling)
        except InvalidSetting as error:
            temperature = f"{table.sampling.temperature:g}"
            yield Mistake(place, f"rule: {error.happened} The temperature here is {temperature}.")


def _flat(keys: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Ids of actions have dots, which TOML takes for tables unless they are quoted."""
    flat: dict[str, Any] = {}
    for name, value in keys.items():
        action = f"{before}{name}"
        if isinstance(value, dict):
            flat |= _flat(value, f"{action}.")
        elif isinstance(value, str):
            flat[action] = value
        else:
            raise Mistake(("keys", *action.split(".")), f"{action}: expected text in quotes.")
    return flat


def _over(tables: Mapping[str, Any], preset: Any) -> Any:
    """A preset's tables, with what they leave out taken from the tables outside."""
    if not isinstance(preset, dict):
        return preset
    merged = dict(preset)
    for name in ("sampling", "speculation"):
        inside = preset.get(name, {})
        merged[name] = {**tables.get(name, {}), **inside} if isinstance(inside, dict) else inside
    system = tables.get("chat", {}).get("system")
    return {"system": system, **merged} if system is not None else merged


def _struct(value: Any, type: type[Table], place: Place) -> Table:
    """A table as a struct; every mistake in it is at the place of its own key."""
    name = place[-1] if place else "settings"
    if not isinstance(value, dict):
        raise Mistake(place, f"{name}: expected a table, such as [{name}].")
    known = {field.name: field.type for field in fields(type)}
    for key in value:
        if key not in known:
            hint = did_you_mean(key, known)
            raise Mistake((*place, key), f"There is no setting {key} here.{hint}")
    read = {key: _value(each, known[key], (*place, key)) for key, each in value.items()}
    for key, each in read.items():
        _built(type, {key: each}, (*place, key))
    return _built(type, read, place)


def _value(value: Any, kind: Any, place: Place) -> Any:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct(value, kind, place)
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise Mistake(place, f"{place[-1]}: {_in_words(str(error), kind)}.") from error


def _built(type: type[Table], values: Mapping[str, Any], place: Place) -> Table:
    """The struct; what it refuses by itself is a mistake in this place."""
    try:
        return type(**values)
    except InvalidSetting as error:
        says = error.tried.removeprefix("Tried to set the ").rstrip(".")
        happened = error.happened[:1].lower() + error.happened[1:]
        raise Mistake(place, f"{says}: {happened}") from error


def _in_words(message: str, kind: Any) -> str:
    """What msgspec says, with the words of the file."""
    says = message.partition(" - at ")[0]
    allowed = _choices(kind)
    if allowed and ("enum" in says or "Expected `" in says):
        number = ["a whole number"] if int in get_args(kind) else []
        return "expected " + " or ".join(number + [f'"{choice}"' for choice in allowed])
    for name, words in WORDS.items():
        says = re.sub(rf"`{name}( \| null)?`", words, says)
    return says[:1].lower() + says[1:].replace(", got ", ", not ")


def _choices(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    return [each for part in get_args(kind) for each in _choices(part)]


def _change(document: Any, place: tuple[str, ...], value: Any) -> None:
    import tomlkit

    *tables, key = place
    if place[0] == "keys" and len(place) == 2 and key not in document.get("keys", {}):
        *inner, last = key.split(".")
        if _inside(document, ["keys", *inner], last):  # written with dots and no quotes
            tables, key = ["keys", *inner], last
    for name in tables:
        if name not in document:
            if value is None:
                return
            # A table of tables has no header of its own.
            document[name] = tomlkit.table(is_super_table=name == "presets")
        document = document[name]
    if value is None:
        if key in document:
            del document[key]
    else:
        document[key] = _without_none(value)


def _inside(document: Any, tables: list[str], key: str) -> bool:
    for name in tables:
        document = document.get(name) if isinstance(document, Mapping) else None
    return isinstance(document, Mapping) and key in document


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _without_none(each) for key, each in value.items() if each is not None}
    return value


def _write(path: Path, text: str) -> None:
    """Put the text in place of the file at once; a link to a file elsewhere stays one."""
    target = Path(os.path.realpath(path))
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            unfinished.chmod(target.stat().st_mode & 0o777)
        unfinished.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise SettingsProblem(
            "Tried to write the settings.",
            f"The file {path} cannot be written: {error.strerror}.",
            "Make it writable, or free some space; the settings hold until you leave.",
        ) from error
