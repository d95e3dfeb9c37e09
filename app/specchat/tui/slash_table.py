"""The commands that can be written into the prompt, as one table."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from specchat.speculation.settings import DrafterChoice, RuleChoice

NO_PRESET = "none"
NO_SYSTEM = "none"
NO_SEED = "none"
USUAL = "default"


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
