"""What a person chooses about sampling and speculation. Plain data, checked when built."""

import math
from typing import Literal

import msgspec

from specchat.errors import InvalidSetting

MAX_DRAFT_LENGTH = 64
"""Longest draft that can be asked for: one verification batch stays small."""

MAX_INTEGER = 2**31 - 1
"""The largest number that llama.cpp takes for a count."""

DrafterChoice = Literal["auto", "model", "ngram", "none"]
RuleChoice = Literal["auto", "greedy", "token", "block", "coupled"]
Rule = Literal["greedy", "token", "block", "coupled"]
DraftLength = int | Literal["auto"]


class SamplingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the next token is drawn from the logits, in llama.cpp's order of stages:

    logit bias, penalties, top-k, top-p, min-p, temperature.
    """

    temperature: float = 0.8
    """0 takes the most likely token (greedy)."""
    top_k: int = 40
    """Keep the k most likely tokens; 0 keeps all."""
    top_p: float = 0.95
    """Keep the smallest set with at least this probability; 1 keeps all."""
    min_p: float = 0.05
    """Drop tokens under this fraction of the most likely one; 0 keeps all."""
    repetition_penalty: float = 1.0
    """Divides positive (multiplies negative) logits of recent tokens; 1 is off."""
    presence_penalty: float = 0.0
    """Subtracted once from the logit of each recent token."""
    frequency_penalty: float = 0.0
    """Subtracted from the logit of a recent token, once for each time it occurs."""
    penalty_window: int = 64
    """How many of the last tokens count as recent."""
    logit_bias: dict[int, float] = {}
    """Added to the logits of these token ids."""
    seed: int | None = None
    """Of the draws; without it, a fresh one for each answer. The one used is reported."""

    def __post_init__(self) -> None:
        require_setting(
            0 <= self.temperature <= 100, "temperature", self.temperature, "from 0 to 100"
        )
        require_setting(self.top_k >= 0, "top-k", self.top_k, "0 (all) or more")
        require_at_most(MAX_INTEGER, "top-k", self.top_k)
        require_setting(0 < self.top_p <= 1, "top-p", self.top_p, "above 0 and at most 1")
        require_setting(0 <= self.min_p <= 1, "min-p", self.min_p, "from 0 to 1")
        require_setting(
            0.01 <= self.repetition_penalty <= 100,
            "repetition penalty",
            self.repetition_penalty,
            "from 0.01 to 100",
        )
        for name in ("presence_penalty", "frequency_penalty"):
            value = getattr(self, name)
            require_setting(-100 <= value <= 100, name.replace("_", " "), value, "from -100 to 100")
        for token, bias in self.logit_bias.items():
            require_setting(token >= 0, "biased token", token, "the id of a token, 0 or more")
            require_setting(bias < math.inf, "logit bias", bias, "a number, or -inf for never")
        require_setting(
            self.penalty_window >= 0, "penalty window", self.penalty_window, "0 or more"
        )
        require_setting(
            self.seed is None or 0 <= self.seed < 2**63, "seed", self.seed, "from 0 to 2^63-1"
        )

    @property
    def is_greedy(self) -> bool:
        """Whether the most likely token is always taken."""
        return self.temperature == 0

    @property
    def has_penalties(self) -> bool:
        """Whether the logits depend on the tokens before them through a penalty."""
        return self.penalty_window > 0 and (
            self.repetition_penalty != 1.0
            or self.presence_penalty != 0.0
            or self.frequency_penalty != 0.0
        )


class SpeculationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who drafts, how far, and by which rule drafted tokens are kept."""

    drafter: DrafterChoice = "auto"
    """`auto`: n-grams of the conversation, and the draft model where there is one."""
    draft_length: DraftLength = "auto"
    """Tokens drafted a round at most; 0 is plain decoding; `auto`: as far as it pays."""
    rule: RuleChoice = "auto"
    """`auto`: greedy at temperature 0, block verification above it."""

    def __post_init__(self) -> None:
        require_setting(
            self.draft_length == "auto" or 0 <= self.draft_length <= MAX_DRAFT_LENGTH,
            "draft length",
            self.draft_length,
            f"auto, or from 0 (plain decoding) to {MAX_DRAFT_LENGTH}",
        )

    def effective_rule(self, sampling: SamplingSettings) -> Rule:
        """The rule that runs with this sampling.

        Raises:
            InvalidSetting: `greedy` was asked for above temperature 0.
        """
        if sampling.is_greedy:
            return "greedy"
        if self.rule == "greedy":
            raise InvalidSetting(
                f"Tried to verify greedily at temperature {sampling.temperature:g}.",
                "The greedy rule is lossless at temperature 0 only.",
                "Use --temperature 0, or leave --rule out.",
            )
        return "block" if self.rule == "auto" else self.rule


def require_at_most(largest: int, name: str, value: int | None) -> None:
    """Refuse a number that is larger, as `require_setting` does; None is no number.

    Raises:
        InvalidSetting: with the largest one that is allowed.
    """
    require_setting(value is None or value <= largest, name, value, f"at most {largest}")


def require_setting(holds: bool, name: str, value: object, allowed: str) -> None:
    """Refuse a setting's value unless the condition holds.

    Raises:
        InvalidSetting: with the values that are allowed.
    """
    if not holds:
        raise InvalidSetting(
            f"Tried to set the {name} to {value}.",
            f"It has to be {allowed}.",
            "Give a value in that range.",
        )
