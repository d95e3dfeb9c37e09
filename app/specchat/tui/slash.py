"""What is meant by a command that is written into the prompt.

A line that begins with `/` is a command; a message that does begins with `//`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from specchat.errors import SpecchatError
from specchat.nearest import did_you_mean
from specchat.speculation.settings import (
    MAX_DRAFT_LENGTH,
    DraftLength,
    SamplingSettings,
    SpeculationSettings,
)
from specchat.tui.slash_table import BY_NAME, COMMANDS, NO_SEED, USUAL, Names, SlashCommand, Value
from specchat.tui.suggestions import Suggestion

COMMAND = re.compile(r"/(\S*)(?:\s+([\s\S]*))?")
NUMBER = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
WHOLE_NUMBER = re.compile("-?[0-9]{1,19}")
USUAL_SAMPLING = SamplingSettings()


class SlashProblem(SpecchatError):
    """A line that begins with a slash and is no command that can be obeyed."""

    kind: ClassVar[str] = "slash_command"
    title: ClassVar[str] = "That command does not work"


@dataclass(frozen=True)
class Given:
    """A command that can be obeyed."""

    command: SlashCommand
    argument: str = ""


def is_command(text: str) -> bool:
    """Whether a text is a command and no message."""
    return text.startswith("/") and not text.startswith("//")


def literal(text: str) -> str:
    """The message that is meant: of two slashes that it begins with, one is taken off."""
    return text[1:] if text.startswith("//") else text


def escaped(message: str) -> str:
    """A message as it is written, so that it is no command."""
    return f"/{message}" if message.startswith("/") else message


def parse(text: str, names: Names) -> Given:
    """What a command comes down to.

    Raises:
        SlashProblem: there is no such command, or its argument is missing or wrong.
        InvalidSetting: a number is out of its range.
    """
    name, argument = _parts(text)
    command = BY_NAME.get(name.lower())
    if command is None:
        raise SlashProblem(
            f"Tried /{name}.",
            f"There is no such command.{did_you_mean(name.lower(), BY_NAME, '/')}",
            "/help lists what there is. Write // to begin a message with a slash.",
        )
    if argument and not command.argument:
        raise SlashProblem(
            f"Tried {text.strip()}.", f"/{name} stands alone.", "Leave the rest out."
        )
    if not argument and command.argument and not (command.optional or command.tells):
        raise SlashProblem(
            f"Tried /{name}.", "Something is missing.", f"Write it as {command.shown}."
        )
    if argument and not command.any_text:
        argument = _known_value(command, argument, names)
    if command.name == "length" and argument:
        SpeculationSettings(draft_length=draft_length(argument))
    if command.setting and argument and argument.lower() != USUAL:
        SamplingSettings(**{command.setting: sampling_value(command.setting, argument)})
    return Given(command, argument)


def draft_length(argument: str) -> DraftLength:
    """`auto`, or a number of tokens.

    Raises:
        SlashProblem: it is neither.
    """
    if argument.lower() == "auto":
        return "auto"
    if WHOLE_NUMBER.fullmatch(argument):
        return int(argument)
    raise SlashProblem(
        f"Tried to set the draft length to {argument}.",
        "That is neither auto nor a whole number.",
        f"Give auto, or a number from 0 (plain decoding) to {MAX_DRAFT_LENGTH}.",
    )


def sampling_value(setting: str, argument: str) -> Any:
    """What an argument means for a value of the sampling; None is a fresh seed.

    Raises:
        SlashProblem: it is no number, or has to be a whole one.
    """
    if setting == "seed" and argument.lower() == NO_SEED:
        return None
    is_whole = not isinstance(getattr(USUAL_SAMPLING, setting), float)
    if (WHOLE_NUMBER if is_whole else NUMBER).fullmatch(argument):
        return int(argument) if is_whole else float(argument)
    raise SlashProblem(
        f"Tried to set {setting.replace('_', ' ')} to {argument}.",
        f"That is no {'whole ' if is_whole else ''}number.",
        f"Give one, or {USUAL}.",
    )


def is_whole(text: str, names: Names) -> bool:
    """Whether a text is a command that can be obeyed as it stands, and is not being gone on with:
    after its name and a space a value is about to be written."""
    if not is_command(text):
        return False
    try:
        given = parse(text, names)
    except SpecchatError:
        return False
    return bool(given.argument) or not (given.command.tells and text[-1].isspace())


def complete(typed: str, names: Names) -> list[Suggestion]:
    """What may be meant by a command that has been typed so far, the likeliest first."""
    if not is_command(typed) or "\n" in typed:
        return []
    name, space, rest = typed[1:].partition(" ")
    if not space:
        found = _matching(name, [Value(command.name) for command in COMMANDS])
        return [_of_command(BY_NAME[value.text]) for value in found]
    command = BY_NAME.get(name.lower())
    if command is None:
        return []
    argument = rest.lstrip(" ")
    start = len(typed) - len(argument)
    return [
        Suggestion(value.text, value.means, value.text, start)
        for value in _matching(argument, command.known_values(names))
    ]


def _of_command(command: SlashCommand) -> Suggestion:
    text = f"/{command.name} " if command.argument else f"/{command.name}"
    return Suggestion(command.shown, command.does, text, 0)


def _matching(typed: str, values: Iterable[Value]) -> list[Value]:
    """Those that begin with it, then those that have it in them."""
    low = typed.lower()
    found = [value for value in values if low in value.text.lower()]
    return sorted(found, key=lambda value: not value.text.lower().startswith(low))


def _parts(text: str) -> tuple[str, str]:
    match = COMMAND.fullmatch(text.strip())
    assert match is not None, "is_command has looked at it"
    return match[1], (match[2] or "").strip()


def _known_value(command: SlashCommand, argument: str, names: Names) -> str:
    known = {value.text.lower(): value.text for value in command.known_values(names)}
    found = known.get(argument.lower())
    if found is None:
        listed = ", ".join(value.text for value in command.values)
        raise SlashProblem(
            f"Tried /{command.name} {argument}.",
            f"There is no {argument}.{did_you_mean(argument.lower(), known.values())}",
            f"Write it as {command.shown}" + (f": {listed}." if listed else "."),
        )
    return found
