"""What a command changes for the conversation: pure, and each change said in a sentence."""

from dataclasses import dataclass

from specchat.speculation.settings import DraftLength
from specchat.tui.answer_settings import AnswerSettings
from specchat.tui.slash import (
    DRAFTERS,
    NO_PRESET,
    NO_SYSTEM,
    SAMPLING,
    USUAL,
    SlashCommand,
    draft_length,
    sampling_value,
)

CHANGES = (
    "conversation.drafter",
    "conversation.length",
    "conversation.rule",
    "conversation.system",
    "conversation.preset",
    *(command.action for command in SAMPLING),
)
"""Actions that change the conversation's setup."""


@dataclass(frozen=True)
class LoadedFor:
    """What the pair that is loaded allows, as far as a change might ask for more."""

    longest_draft: int
    has_draft: bool
    """A draft model or head is loaded."""


def change(
    answers: AnswerSettings, action: str, argument: str, loaded: LoadedFor
) -> tuple[AnswerSettings, str]:
    """The settings after a command, and what holds from now on.

    Raises:
        SpecchatError: the value is wrong, or does not go with the others.
    """
    match action:
        case "conversation.system":
            system = "" if argument == NO_SYSTEM else argument
            said = "The system prompt is set." if system else "There is no system prompt now."
            return answers.with_system(system), said
        case "conversation.preset":
            return _preset(answers, argument)
        case "conversation.drafter":
            means = DRAFTERS.get(argument, argument)
            said = f"Who guesses: {means}.{_no_draft(argument, loaded)}"
            return answers.with_speculation(drafter=argument), said
        case "conversation.rule":
            changed = answers.with_speculation(rule=argument)
            rule = changed.speculation.effective_rule(changed.sampling)
            here = f", which is {rule} here" if rule != argument else ""
            return changed, f"Guesses are kept by the rule {argument}{here}."
        case "conversation.length":
            length = draft_length(argument)
            said = f"{_length_text(length)}{_too_long(length, loaded)}"
            return answers.with_speculation(draft_length=length), said
    for command in SAMPLING:
        if command.action == action:
            return _sampling(answers, command, argument)
    raise ValueError(f"{action} changes no setup")


def _sampling(
    answers: AnswerSettings, command: SlashCommand, argument: str
) -> tuple[AnswerSettings, str]:
    if argument.lower() == USUAL:
        value = getattr(answers.usual_sampling, command.setting)
    else:
        value = sampling_value(command.setting, argument)
    changed = answers.with_sampling(**{command.setting: value})
    written = f"{value:g}" if isinstance(value, float) else f"{value}"
    said = "Each answer has a fresh seed." if value is None else f"{command.title}: {written}."
    rule = answers.speculation.rule
    if changed.speculation.rule != rule:
        said += f" The rule {rule} does not go with that; the rule is auto."
    return changed, said


def _preset(answers: AnswerSettings, name: str) -> tuple[AnswerSettings, str]:
    """A preset takes the place of everything that the conversation has set before."""
    if name == NO_PRESET:
        return answers.with_preset(""), "This conversation is as the settings have it now."
    return answers.with_preset(name), f"This conversation is as the preset {name} has it now."


def _length_text(length: DraftLength) -> str:
    if length == "auto":
        return "The draft length follows what pays."
    return "Plain decoding: nothing is guessed." if length == 0 else f"Drafts of {length} tokens."


def _too_long(length: DraftLength, loaded: LoadedFor) -> str:
    if length == "auto" or length <= loaded.longest_draft:
        return ""
    return (
        f" This pair is loaded for at most {loaded.longest_draft}, though; begin specchat with "
        f"--draft-length {length} for more."
    )


def _no_draft(drafter: str, loaded: LoadedFor) -> str:
    if drafter != "model" or loaded.has_draft:
        return ""
    return " None is loaded, though; F2 has pairs with one."
