"""What a command changes for the conversation, and what holds in it: pure, and said in words."""

from dataclasses import dataclass

from specchat.speculation.settings import DraftLength, SamplingSettings, SpeculationSettings
from specchat.tui.answer_settings import AnswerSettings
from specchat.tui.slash import draft_length, sampling_value
from specchat.tui.slash_table import DRAFTERS, NO_PRESET, NO_SYSTEM, SAMPLING, USUAL, SlashCommand
from specchat.tui.wording import shorten

CHANGES = (
    "conversation.drafter",
    "conversation.length",
    "conversation.rule",
    "conversation.system",
    "conversation.preset",
    *(command.action for command in SAMPLING),
)
"""Actions that change the conversation's setup."""

TOLD_CHARACTERS = 240
"""Of a system prompt."""


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
            return answers.with_speculation(drafter=argument), _drafter_text(argument, loaded)
        case "conversation.rule":
            changed = answers.with_speculation(rule=argument)
            return changed, _rule_text(changed)
        case "conversation.length":
            length = draft_length(argument)
            return answers.with_speculation(draft_length=length), _length_text(length, loaded)
    for command in SAMPLING:
        if command.action == action:
            return _sampling(answers, command, argument)
    raise ValueError(f"{action} changes no setup")


def present(answers: AnswerSettings, action: str, loaded: LoadedFor) -> str:
    """What holds now of that which a command changes, and who says so."""
    speculation = answers.speculation
    match action:
        case "conversation.system":
            prompt = " ".join((answers.system or "").split())
            if not prompt:
                return "There is no system prompt."
            return f"{_set_by(answers, 'chat', 'system')}: {shorten(prompt, TOLD_CHARACTERS)}"
        case "conversation.preset":
            if answers.lost_preset:
                return f"The preset {answers.lost_preset} is not in the settings any more."
            return f"The preset {answers.preset} holds." if answers.preset else "No preset holds."
        case "conversation.drafter":
            said = _drafter_text(speculation.drafter, loaded)
            return f"{said} {_set_by(answers, 'speculation', 'drafter')}."
        case "conversation.rule":
            return f"{_rule_text(answers)} {_set_by(answers, 'speculation', 'rule')}."
        case "conversation.length":
            said = _length_text(speculation.draft_length, loaded)
            return f"{said} {_set_by(answers, 'speculation', 'draft_length')}."
    for command in SAMPLING:
        if command.action == action:
            said = _sampling_text(command, getattr(answers.sampling, command.setting))
            return f"{said} {_set_by(answers, 'sampling', command.setting)}."
    raise ValueError(f"{action} changes no setup")


def in_force(answers: AnswerSettings) -> list[str]:
    """What holds otherwise than where nothing is set, in a few words each."""
    default, now = SpeculationSettings(), answers.speculation
    found = [
        (f"preset {answers.preset}", answers.preset),
        (f"no preset {answers.lost_preset}", answers.lost_preset),
        ("system prompt", answers.system),
        (f"drafter {now.drafter}", now.drafter != default.drafter),
        (f"length {now.draft_length}", now.draft_length != default.draft_length),
        (f"rule {now.rule}", now.rule != default.rule),
    ]
    usual, sampling = SamplingSettings(), answers.sampling
    for command in SAMPLING:
        value = getattr(sampling, command.setting)
        differs = value != getattr(usual, command.setting)
        found.append((f"{command.title.lower()} {_number(value or 0)}", differs))
    return [words for words, holds in found if holds]


def _set_by(answers: AnswerSettings, table: str, name: str) -> str:
    found = answers.instead(table, name)
    return f"Set by {found[1]}" if found is not None else "As in the settings"


def _drafter_text(drafter: str, loaded: LoadedFor) -> str:
    return f"Who guesses: {DRAFTERS.get(drafter, drafter)}.{_no_draft(drafter, loaded)}"


def _rule_text(answers: AnswerSettings) -> str:
    asked = answers.speculation.rule
    rule = answers.speculation.effective_rule(answers.sampling)
    here = f", which is {rule} here" if rule != asked else ""
    return f"Guesses are kept by the rule {asked}{here}."


def _sampling(
    answers: AnswerSettings, command: SlashCommand, argument: str
) -> tuple[AnswerSettings, str]:
    if argument.lower() == USUAL:
        value = getattr(answers.usual_sampling, command.setting)
    else:
        value = sampling_value(command.setting, argument)
    changed = answers.with_sampling(**{command.setting: value})
    said = _sampling_text(command, value)
    rule = answers.speculation.rule
    if changed.speculation.rule != rule:
        said += f" The rule {rule} does not go with that; the rule is auto."
    return changed, said


def _sampling_text(command: SlashCommand, value: float | None) -> str:
    if value is None:
        return "Each answer has a fresh seed."
    return f"{command.title}: {_number(value)}."


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def _preset(answers: AnswerSettings, name: str) -> tuple[AnswerSettings, str]:
    """A preset takes the place of everything that the conversation has set before."""
    if name == NO_PRESET:
        return answers.with_preset(""), "This conversation is as the settings have it now."
    return answers.with_preset(name), f"This conversation is as the preset {name} has it now."


def _length_text(length: DraftLength, loaded: LoadedFor) -> str:
    if length == "auto":
        return "The draft length follows what pays."
    if length == 0:
        return "Plain decoding: nothing is guessed."
    return f"Drafts of {length} tokens.{_too_long(length, loaded)}"


def _too_long(length: int, loaded: LoadedFor) -> str:
    if length <= loaded.longest_draft:
        return ""
    return (
        f" This pair is loaded for at most {loaded.longest_draft}, though; begin specchat with "
        f"--draft-length {length} for more."
    )


def _no_draft(drafter: str, loaded: LoadedFor) -> str:
    if drafter != "model" or loaded.has_draft:
        return ""
    return " None is loaded, though; F2 has pairs with one."
