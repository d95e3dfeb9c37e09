"""What makes answers slower than they need be, in words: the traps that nothing else would show.

Some are known when a pair is loaded, others after an answer.
"""

from dataclasses import dataclass

import psutil

from specchat.engine.protocol import Notice
from specchat.neighbours import are_busy
from specchat.pairing.memory_estimate import CacheType
from specchat.speculation.metrics import Figures

FEWEST_TOKENS = 32
"""A shorter answer says little about speed."""
FEWEST_TESTED = 16
"""Guesses of the draft model that an opinion on it needs."""
SLOWER = 0.95
"""Of the plain rate; what is closer to it is noise."""
HOT = 1.1
"""From this temperature on the target is asked to say what a draft cannot guess."""


@dataclass(frozen=True, kw_only=True)
class Loading:
    """What the alarms of a load are raised by."""

    target: str
    offloaded_to: tuple[str, ...]
    """The devices beside the CPU that have layers of the target."""
    has_experts: bool
    experts_in_ram: bool
    """Asked for."""
    draft: str | None
    draft_offloaded_to: tuple[str, ...]
    draft_cache_type: CacheType


@dataclass(frozen=True)
class AnswerFacts:
    """What the alarms of an answer are raised by."""

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
    what_drafts: str = "draft model"
    """A model or a head, in words."""
    snapshots_ms: float = 0.0
    """What the target's snapshots of its state take of a call; 0 where that is not known."""


def load_alarms(loading: Loading) -> tuple[Notice, ...]:
    """What stands in the way of speed before anything is asked."""
    found = (_draft_on_cpu(loading), _quantised_draft_cache(loading), _no_experts(loading))
    return tuple(alarm for alarm in found if alarm is not None)


def alarms(facts: AnswerFacts) -> tuple[Notice, ...]:
    """All that a person could do something about, the gravest first."""
    found = (_busy(facts), _slower_than_plain(facts), _draft_does_not_pay(facts))
    return tuple(alarm for alarm in found if alarm is not None)


def _draft_on_cpu(loading: Loading) -> Notice | None:
    if loading.draft is None or not loading.offloaded_to or loading.draft_offloaded_to:
        return None
    where = loading.offloaded_to[0]
    return Notice(
        kind="draft_on_cpu",
        title="The draft is on the CPU",
        message=f"{loading.target} is on {where}, and {loading.draft}, which has to be much "
        "quicker, is not.",
        help=f"Make room for it on {where} with a smaller --ctx or fewer --gpu-layers, or leave "
        "the draft out.",
    )


def _quantised_draft_cache(loading: Loading) -> Notice | None:
    if loading.draft is None or loading.draft_cache_type == "f16":
        return None
    return Notice(
        kind="quantised_draft_cache",
        title="The draft's KV cache is quantised",
        message=f"In {loading.draft_cache_type} the guesses of {loading.draft} are kept less "
        "often; the memory saved is small.",
        help="Use --draft-cache-type f16.",
    )


def _no_experts(loading: Loading) -> Notice | None:
    if not loading.experts_in_ram or loading.has_experts:
        return None
    return Notice(
        kind="no_experts",
        title="No experts to keep in main memory",
        message=f"{loading.target} is no mixture of experts: --experts-in-ram changes nothing.",
        help="To put less of it on the GPU use --gpu-layers.",
    )


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
    figures, price = facts.figures, facts.snapshots_ms
    rate, plain = figures.tokens_per_second, figures.plain_tokens_per_second
    if rate is None or plain is None or figures.emitted < FEWEST_TOKENS or rate >= SLOWER * plain:
        return None
    if rate * (1 / plain + price / 1000) >= SLOWER:  # by the rate of rounds that keep them
        advice = (
            f"Snapshots of its state, to undo refused guesses, take {price:.1f} ms of every call: "
            "load it with --draft-length 0, which asks for none."
        )
    elif not figures.drafted:
        return None
    elif facts.fixed_length is None:
        advice = "It is drafting less now; longer answers make up for what finding out has cost."
    else:
        advice = "Use --draft-length auto, which stops drafting where it does not pay."
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
            title=f"The {facts.what_drafts} is too slow for this target",
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
            message=f"At {facts.temperature:g} the {facts.what_drafts} is seldom right: {message}",
            help="Choose a lower temperature, or decode such answers without a draft.",
        )
    return Notice(
        kind="under_break_even",
        title=f"The {facts.what_drafts} does not pay here",
        message=message,
        help="Choose a draft that is smaller or closer to the target.",
    )
