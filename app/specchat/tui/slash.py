"""Commands that are written into the prompt: one table, and what of it is meant.

A line that begins with `/` is a command; a message that does begins with `//`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

from specchat.errors import SpecchatError
from specchat.nearest import did_you_mean
from specchat.speculation.settings import (
    MAX_DRAFT_LENGTH,
    DrafterChoice,
    DraftLength,
    RuleChoice,
    SamplingSettings,
    SpeculationSettings,
)
from specchat.tui.suggestions import Suggestion

COMMAND = re.compile(r"/(\S*)(?:\s+([\s\S]*))?")
NUMBER = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
WHOLE_NUMBER = re.compile("-?[0-9]{1,19}")
NO_PRESET = "none"
NO_SYSTEM = "none"
NO_SEED = "none"
USUAL = "default"
USUAL_SAMPLING = SamplingSettings()


class SlashProblem(SpecchatError):
    """A line that begins with a slash and is no command that can be obeyed."""

    kind: ClassVar[str] = "slash_command"
    title: ClassVar[str] = "That command does not work"


class Value(NamedTuple):
    """Something that an argument can be."""

    text: str
    means: str = ""


Source = Literal["presets", "pairs"]
Names = Mapping[Source, Callable[[], Iterable[Value]]]
"""Values that depend on the person's settings and catalog; asked for when they are needed."""


@dataclass(frozen=True)
class SlashCommand:
    """One row of the table."""

    name: str
    title: str
    """In the list of all commands."""
    action: str
    """The id of what it does, as in the keys and in the list of all commands."""
    does: str
    argument: str = ""
    """How the argument is called; without one there is none."""
    optional: bool = False
    """It works without its argument too."""
    tells: bool = False
    """Without its argument it tells what holds."""
    values: tuple[Value, ...] = ()
    source: Source | None = None
    """Where further values come from."""
    any_text: bool = False
    """The values are only some of those that the argument can be."""
    setting: str = ""
    """Of the sampling: the one that the argument is a value of."""

    @property
    def shown(self) -> str:
        """The command as it is written."""
        argument = f"[{self.argument}]" if self.optional or self.tells else self.argument
        return f"/{self.name} {argument}".rstrip()

    def known_values(self, names: Names) -> tuple[Value, ...]:
        """Everything that can be listed."""
        more = names.get(self.source) if self.source else None
        return (*self.values, *more()) if more else self.values


DRAFTERS = {
    "auto": "n-grams of the conversation, and the draft model or head if any",
    "model": "the draft model or head alone",
    "ngram": "text that was seen before",
    "none": "nobody: plain decoding",
}
RULES = {
    "auto": "greedy at temperature 0, else block",
    "greedy": "the likeliest token, at temperature 0",
    "token": "each token by itself",
    "block": "the draft as a whole",
    "coupled": "the same seed gives the same text, with any draft and none",
}
LENGTHS = (
    Value("auto", "as far as it pays"),
    Value("0", "plain decoding"),
    *(Value(str(length), "tokens guessed a round") for length in (2, 4, 8, 16)),
)


def _of_sampling(setting: str, title: str, does: str, *values: Value) -> SlashCommand:
    """A command that sets one value of the sampling."""
    usual = Value(USUAL, "as in the settings, or the preset")
    name, action = setting.replace("_", "-"), f"conversation.{setting}"
    return SlashCommand(
        name,
        title,
        action,
        does,
        "N",
        values=(*values, usual),
        any_text=True,
        setting=setting,
        tells=True,
    )


SAMPLING = (
    _of_sampling(
        "temperature",
        "Temperature",
        "How freely tokens are drawn, in this conversation",
        Value("0", "always the likeliest token"),
        Value("0.7", "rather the likely ones"),
        Value("1", "as the model has it"),
    ),
    _of_sampling("top_k", "Top-k", "Keep the k likeliest tokens", Value("0", "all of them")),
    _of_sampling("top_p", "Top-p", "Keep the likeliest tokens up to this share", Value("1", "all")),
    _of_sampling("min_p", "Min-p", "Drop tokens under this share of the best", Value("0", "off")),
    _of_sampling(
        "repetition_penalty", "Repetition penalty", "Hold back what came before", Value("1", "off")
    ),
    _of_sampling(
        "presence_penalty", "Presence penalty", "Hold back what came at all", Value("0", "off")
    ),
    _of_sampling(
        "frequency_penalty", "Frequency penalty", "Hold back what came often", Value("0", "off")
    ),
    _of_sampling(
        "penalty_window", "Penalty window", "How many of the last tokens the penalties look at"
    ),
    _of_sampling(
        "seed", "Seed", "Of the draws; the same one draws the same", Value(NO_SEED, "a fresh one")
    ),
)

COMMANDS = (
    SlashCommand(
        "draft",
        "Drafter",
        "conversation.drafter",
        "Who guesses, in this conversation",
        "NAME",
        values=tuple(Value(name, DRAFTERS.get(name, "")) for name in get_args(DrafterChoice)),
        tells=True,
    ),
    SlashCommand(
        "length",
        "Draft length",
        "conversation.length",
        "How many tokens are guessed a round",
        "N|auto",
        values=LENGTHS,
        any_text=True,
        tells=True,
    ),
    SlashCommand(
        "rule",
        "Rule",
        "conversation.rule",
        "How guesses are kept; all rules are lossless",
        "NAME",
        values=tuple(Value(name, RULES.get(name, "")) for name in get_args(RuleChoice)),
        tells=True,
    ),
    SlashCommand(
        "system",
        "System prompt",
        "conversation.system",
        "Instructions that come before the conversation",
        "TEXT",
        values=(Value(NO_SYSTEM, "no instructions"),),
        any_text=True,
        tells=True,
    ),
    SlashCommand(
        "preset",
        "Preset",
        "conversation.preset",
        "Sampling, speculation and system prompt by a name",
        "NAME",
        values=(Value(NO_PRESET, "as in the settings"),),
        source="presets",
        tells=True,
    ),
    SlashCommand(
        "pair",
        "Pairs",
        "app.pairs",
        "Load another model and draft; without a name: choose",
        "NAME",
        optional=True,
        source="pairs",
    ),
    SlashCommand(
        "reload",
        "Load again",
        "engine.reload",
        "Load the present pair anew, with the settings as they are now",
    ),
    SlashCommand(
        "compare",
        "Compare",
        "app.compare",
        "The last question twice, plain and with drafts: speeds and texts",
    ),
    SlashCommand("timeline", "Timeline", "app.timeline", "The last answer round by round"),
    SlashCommand(
        "origins", "Origins", "chat.origins", "Mark where each token of the last answer came from"
    ),
    *SAMPLING,
    SlashCommand("bench", "Bench", "app.bench", "The command that measures this pair"),
    SlashCommand(
        "export",
        "Export",
        "chat.export",
        "Write the conversation into a file",
        "md|json",
        optional=True,
        values=(Value("md", "to be read"), Value("json", "the whole tree, for programs")),
    ),
    SlashCommand(
        "copy",
        "Copy answer",
        "chat.copy",
        "Copy the last answer, or its last code block",
        "code",
        optional=True,
        values=(Value("code", "its last code block"),),
    ),
    SlashCommand(
        "details",
        "Details",
        "chat.details",
        "All figures of the last answer, and how it came about",
    ),
    SlashCommand("chats", "Chats", "app.conversations", "All conversations: search, open, rename"),
    SlashCommand("settings", "Settings", "app.settings", "Sampling, speculation, keys, colours"),
    SlashCommand("clear", "New chat", "chat.new", "Begin a new chat"),
    SlashCommand("help", "Help", "app.help", "Keys, and what the figures mean"),
    SlashCommand("quit", "Quit", "app.quit", "Leave specchat"),
)
BY_NAME = {command.name: command for command in COMMANDS}


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
