"""What a command changes for the conversation: pure, and each change said in a sentence."""

from dataclasses import dataclass
from typing import cast

from msgspec.structs import replace

from specchat.chat.records import Setup
from specchat.speculation.settings import (
    DrafterChoice,
    DraftLength,
    RuleChoice,
    SamplingSettings,
    SpeculationSettings,
)
from specchat.tui.slash import DRAFTERS, NO_PRESET, NO_SYSTEM, Given, draft_length

CHANGES = (
    "conversation.drafter",
    "conversation.length",
    "conversation.rule",
    "conversation.system",
    "conversation.preset",
)
"""Actions that change the conversation's setup."""


@dataclass(frozen=True)
class Present:
    """What holds for the conversation now, settings, preset and its own setup together."""

    sampling: SamplingSettings
    speculation: SpeculationSettings
    longest_draft: int
    """What the pair was loaded for."""
    has_draft: bool
    """A draft model or head is loaded."""


def change(setup: Setup, given: Given, present: Present) -> tuple[Setup, str]:
    """The setup after a command, and what holds from now on.

    Raises:
        InvalidSetting: the value does not go with the others.
    """
    argument = given.argument
    match given.command.action:
        case "conversation.system":
            system = "" if argument == NO_SYSTEM else argument
            said = "The system prompt is set." if system else "There is no system prompt now."
            return replace(setup, system=system), said
        case "conversation.preset":
            return _preset(argument)
        case "conversation.drafter":
            changed = replace(present.speculation, drafter=cast("DrafterChoice", argument))
            means = DRAFTERS.get(argument, argument)
            said = f"Who guesses: {means}.{_no_draft(changed, present)}"
        case "conversation.rule":
            changed = replace(present.speculation, rule=cast("RuleChoice", argument))
            rule = changed.effective_rule(present.sampling)
            other = f", which is {rule} here" if rule != argument else ""
            said = f"Guesses are kept by the rule {argument}{other}."
        case "conversation.length":
            length = draft_length(argument)
            changed = replace(present.speculation, draft_length=length)
            said = f"{_length_text(length)}{_too_long(length, present)}"
        case other_action:
            raise ValueError(f"{other_action} changes no setup")
    changed.effective_rule(present.sampling)
    return replace(setup, speculation=changed), said


def _preset(name: str) -> tuple[Setup, str]:
    """A preset takes the place of everything that the conversation has set before."""
    if name == NO_PRESET:
        return Setup(), "This conversation is as the settings have it now."
    return Setup(preset=name), f"This conversation is as the preset {name} has it now."


def _length_text(length: DraftLength) -> str:
    if length == "auto":
        return "The draft length follows what pays."
    return "Plain decoding: nothing is guessed." if length == 0 else f"Drafts of {length} tokens."


def _too_long(length: DraftLength, present: Present) -> str:
    if length == "auto" or length <= present.longest_draft:
        return ""
    limit = present.longest_draft
    return (
        f" This pair was loaded for at most {limit}: it stays with that until it is loaded again "
        f"with --draft-length {length}."
    )


def _no_draft(changed: SpeculationSettings, present: Present) -> str:
    if changed.drafter != "model" or present.has_draft:
        return ""
    return " No draft model is loaded, though; F2 has pairs with one."
