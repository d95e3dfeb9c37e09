"""The ways of decoding that are compared. A variant is data: a name and settings."""

from collections.abc import Iterable, Sequence
from typing import get_args

import msgspec

from specchat.errors import InvalidSetting
from specchat.speculation.settings import RuleChoice, SamplingSettings, SpeculationSettings

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


def parse_variant(name: str) -> Variant:
    """The variant that is written so.

    Raises:
        InvalidSetting: it is not written as drafter:length or drafter:length:rule.
    """
    if name == PLAIN:
        return Variant(name, SpeculationSettings(drafter="none", draft_length=0))
    if name == AUTO:  # what happens when a person chooses nothing
        return Variant(name, SpeculationSettings())
    drafter, length, rule, *rest = [*name.split(":"), "", ""]
    fields = {
        "drafter": drafter,
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
            "Write plain, auto, or a drafter, a length and perhaps a rule, such as model:3, "
            "ngram:auto or model:3:token.",
        ) from error


def default_variants(
    *, has_draft: bool, sampling: SamplingSettings, quick: bool = False
) -> list[Variant]:
    """What is compared when nothing is named: plain, each drafter, fixed lengths, rules, auto.

    Args:
        has_draft: a draft model or heads are loaded.
        sampling: above temperature 0 every other lossless rule is measured too.
        quick: only one length, and no other rules.
    """
    names = [PLAIN, f"ngram:{USUAL_LENGTH}"]
    if has_draft:
        lengths = (USUAL_LENGTH,) if quick else FIXED_LENGTHS
        names += [f"model:{length}" for length in lengths]
    if not quick and not sampling.is_greedy:
        drafter = "model" if has_draft else "ngram"
        names += [f"{drafter}:{USUAL_LENGTH}:{rule}" for rule in _other_rules(sampling)]
    return [parse_variant(name) for name in [*names, AUTO]]


def chosen_variants(names: Iterable[str]) -> list[Variant]:
    """The named ones, each once, after plain: without it there is nothing to compare with.

    Raises:
        InvalidSetting: a name cannot be read.
    """
    return [parse_variant(name) for name in dict.fromkeys([PLAIN, *names])]


def longest_draft(variants: Sequence[Variant]) -> int:
    """The longest draft that any of them can ask for, in tokens."""
    lengths = [variant.speculation.draft_length for variant in variants]
    return max(length if isinstance(length, int) else LONGEST_AUTO for length in lengths)


def _other_rules(sampling: SamplingSettings) -> list[str]:
    """The rules beside the one that runs when none is named."""
    usual = SpeculationSettings().effective_rule(sampling)
    return [rule for rule in get_args(RuleChoice) if rule not in (AUTO, "greedy", usual)]
