"""What made an answer slower than it need be, in words: the traps that nothing else would show."""

from dataclasses import dataclass

import psutil

from specchat.engine.protocol import Notice
from specchat.neighbours import are_busy
from specchat.speculation.metrics import Figures

FEWEST_TOKENS = 32
"""A shorter answer says little about speed."""
FEWEST_TESTED = 16
"""Guesses of the draft model that an opinion on it needs."""
SLOWER = 0.95
"""Of the plain rate; what is closer to it is noise."""
HOT = 1.1
"""From this temperature on the target is asked to say what a draft cannot guess."""


@dataclass(frozen=True)
class AnswerFacts:
    """What the alarms are raised by."""

    figures: Figures
    temperature: float
    fixed_length: int | None
    """None: the controller chose."""
    model_tested: int
    model_accepted: int
    break_even: float | None
    """The acceptance from which the draft model pays; infinite: never; None: not known."""
    others: float | None
    """Cores that other programs used."""


def alarms(facts: AnswerFacts) -> tuple[Notice, ...]:
    """All that a person could do something about, the gravest first."""
    found = (_busy(facts), _slower_than_plain(facts), _draft_does_not_pay(facts))
    return tuple(alarm for alarm in found if alarm is not None)


def _busy(facts: AnswerFacts) -> Notice | None:
    cores = psutil.cpu_count() or 1
    if facts.figures.emitted < FEWEST_TOKENS or not are_busy(facts.others, cores):
        return None
    return Notice(
        kind="busy_machine",
        title="Other programs are busy",
        message=f"They used {facts.others:.1f} of {cores} cores during this answer.",
        help="End them, or leave them a core with --threads.",
    )


def _slower_than_plain(facts: AnswerFacts) -> Notice | None:
    figures = facts.figures
    speed_up, plain = figures.speed_up, figures.plain_tokens_per_second
    if speed_up is None or figures.emitted < FEWEST_TOKENS or speed_up >= SLOWER:
        return None
    advice = (
        "It is drafting less now; longer answers make up for what finding out has cost."
        if facts.fixed_length is None
        else "Use --draft-length auto, which stops drafting where it does not pay."
    )
    return Notice(
        kind="slower_than_plain",
        title="Slower than plain decoding",
        message=f"This answer came at {figures.tokens_per_second:.1f} tok/s; "
        f"without guesses it was {plain:.1f}.",
        help=advice,
    )


def _draft_does_not_pay(facts: AnswerFacts) -> Notice | None:
    needed = facts.break_even
    if needed is None or facts.model_tested < FEWEST_TESTED:
        return None
    acceptance = facts.model_accepted / facts.model_tested
    if acceptance >= needed:
        return None
    if needed > 1:
        return Notice(
            kind="draft_too_slow",
            title="The draft model is too slow for this target",
            message="It would cost more than it saves even if all of its guesses were kept.",
            help="Choose a smaller draft, or a larger target.",
        )
    message = (
        f"{acceptance:.0%} of its guesses were kept; below {needed:.0%} they cost more than "
        "they save."
    )
    if facts.temperature >= HOT:
        return Notice(
            kind="temperature_too_high",
            title="The temperature is too high to guess",
            message=f"At {facts.temperature:g} the draft model is seldom right: {message}",
            help="Choose a lower temperature, or decode such answers without a draft.",
        )
    return Notice(
        kind="under_break_even",
        title="The draft model does not pay here",
        message=message,
        help="Choose a draft that is smaller or closer to the target.",
    )
