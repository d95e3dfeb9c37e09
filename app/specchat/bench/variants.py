"""The ways of decoding that are compared. A variant is data: a name and settings."""

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

import msgspec

from specchat.engine.drafter_names import WITH_NGRAMS
from specchat.errors import InvalidSetting
from specchat.nearest import did_you_mean
from specchat.pairing.drafter_type import DraftKind
from specchat.speculation.settings import (
    DrafterChoice,
    RuleChoice,
    SamplingSettings,
    SpeculationSettings,
)

PLAIN = "plain"
AUTO = "auto"
FIXED_LENGTHS = (1, 2, 3, 5, 8)
USUAL_LENGTH = 3
LONGEST_AUTO = 16
"""Tokens that a draft of automatic length may have: the engine's own default."""


class Variant(msgspec.Struct, frozen=True):
    """One way of decoding."""

    name: str
    """As it is written on the command line: `plain`, `auto`, or drafter:length[:rule]."""
    speculation: SpeculationSettings


def drafters_of(kind: DraftKind | None) -> dict[str, DrafterChoice]:
    """The drafters of a pair by name (`DrafterName`, or `auto`), and how each is asked for.

    Args:
        kind: what drafts beside n-grams; None: nothing.
    """
    always: dict[str, DrafterChoice] = {
        "ngram": "ngram",
        "auto": "auto",
        "none": "none",
    }
    return always if kind is None else {kind: "model", WITH_NGRAMS[kind]: "auto", **always}


def parse_variant(name: str, drafters: Mapping[str, DrafterChoice]) -> Variant:
    """The variant that is written so.

    Args:
        drafters: those of the pair, by name.

    Raises:
        InvalidSetting: it is not written as drafter:length or drafter:length:rule, or the pair has
            no such drafter.
    """
    if name == PLAIN:
        return Variant(name, SpeculationSettings(drafter="none", draft_length=0))
    if name == AUTO:  # what happens when a person chooses nothing
        return Variant(name, SpeculationSettings())
    drafter, length, rule, *rest = [*name.split(":"), "", ""]
    if drafter not in drafters:
        raise _no_such_drafter(name, drafter, drafters)
    fields = {
        "drafter": drafters[drafter],
        "draft_length": int(length) if length.isdecimal() else length,
        "rule": rule or AUTO,
    }
    try:
        if any(rest):
            raise msgspec.ValidationError("too many parts")
        return Variant(name, msgspec.convert(fields, SpeculationSettings))
    except msgspec.ValidationError as error:
        raise InvalidSetting(
            f"Tried to measure the variant '{name}'.",
            f"It cannot be read: {error}.",
            "Write plain, auto, or a drafter, a length and perhaps a rule, such as "
            f"{drafter}:3, {drafter}:auto or {drafter}:3:token.",
        ) from error


def default_variants(
    kind: DraftKind | None, sampling: SamplingSettings, *, quick: bool = False
) -> list[Variant]:
    """What is compared when nothing is named: plain, each drafter, fixed lengths, rules, auto.

    Args:
        kind: what drafts beside n-grams; None: nothing.
        sampling: above temperature 0 every other lossless rule is measured too.
        quick: only one length, and no other rules.
    """
    names = [PLAIN, f"ngram:{USUAL_LENGTH}"]
    if kind is not None:
        lengths = (USUAL_LENGTH,) if quick else FIXED_LENGTHS
        names += [f"{kind}:{length}" for length in lengths]
    if not quick and not sampling.is_greedy:
        names += [f"{kind or 'ngram'}:{USUAL_LENGTH}:{rule}" for rule in _other_rules(sampling)]
    return [parse_variant(name, drafters_of(kind)) for name in [*names, AUTO]]


def chosen_variants(names: Iterable[str], kind: DraftKind | None) -> list[Variant]:
    """The named ones, each once, after plain: without it there is nothing to compare with.

    Raises:
        InvalidSetting: a name cannot be read, or the pair has no such drafter.
    """
    drafters = drafters_of(kind)
    return [parse_variant(name, drafters) for name in dict.fromkeys([PLAIN, *names])]


def longest_draft(variants: Sequence[Variant]) -> int:
    """The longest draft that any of them can ask for, in tokens."""
    lengths = [variant.speculation.draft_length for variant in variants]
    return max(length if isinstance(length, int) else LONGEST_AUTO for length in lengths)


def _no_such_drafter(name: str, drafter: str, drafters: Iterable[str]) -> InvalidSetting:
    known = [PLAIN, *drafters]
    return InvalidSetting(
        f"Tried to measure the variant '{name}'.",
        f"This pair has no drafter '{drafter}'.{did_you_mean(drafter, known)}",
        f"It has {', '.join(known[:-1])} and {known[-1]}; behind a drafter comes a length, such as "
        f"{known[1]}:3.",
    )


def _other_rules(sampling: SamplingSettings) -> list[str]:
    """The rules beside the one that runs when none is named."""
    usual = SpeculationSettings().effective_rule(sampling)
    return [rule for rule in get_args(RuleChoice) if rule not in (AUTO, "greedy", usual)]
