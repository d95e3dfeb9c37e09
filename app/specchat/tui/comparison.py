"""Two answers to one question, plain and with drafts: whether they say the same, and how fast."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from specchat.engine.protocol import Finished, FinishReason, Message, Round
from specchat.speculation.metrics import Figures
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from specchat.tui.wording import SEPARATOR, percent, rate, seconds, visible

BEFORE, AFTER = 16, 28
"""Characters of a text that are shown before and after the place where two texts part."""

NEAR_TIE = (
    "With the same seed the target draws the same tokens, with drafts and without. But several "
    "tokens decoded at a time round otherwise than one: where two tokens are equal to rounding, "
    "either can come. From there on the texts differ, and both are the target's own."
)
"""What it means when they part."""


class Asked(NamedTuple):
    """What is answered twice."""

    conversation: tuple[Message, ...]
    """Up to the question."""
    sampling: SamplingSettings
    speculation: SpeculationSettings
    """How drafts are made."""
    max_tokens: int | None
    question: int = 0
    """What the store calls the question."""


@dataclass
class Side:
    """One of the two answers, as far as it has come."""

    parts: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    figures: Figures = field(default_factory=Figures)
    ended: FinishReason | None = None
    """How it ended; None while it goes on."""

    @property
    def text(self) -> str:
        """What was said."""
        return "".join(self.parts)

    @property
    def is_whole(self) -> bool:
        """Whether nothing would come after it."""
        return self.ended in ("stop", "length")

    def add(self, event: Round) -> None:
        """Take what a round brought."""
        self.parts.append(event.text)
        self.tokens += event.tokens
        self.figures = event.figures

    def finish(self, event: Finished) -> None:
        """It has ended."""
        self.parts = [event.text]
        self.tokens = list(event.tokens)
        self.figures = event.figures
        self.ended = event.finish_reason


class Parting(NamedTuple):
    """Where two texts say something different for the first time."""

    tokens: int
    """So many are the same before it."""
    plain: str
    drafted: str
    """A piece of each, from a little before it."""


def up_to_question(messages: Sequence[Message], at: int) -> tuple[Message, ...]:
    """The conversation as it was when this was asked, or what this answers; empty if nothing was.

    Args:
        at: the place of a question or an answer.
    """
    asked = next((each for each in reversed(range(at + 1)) if messages[each].role == "user"), -1)
    return tuple(messages[: asked + 1])


def settings_for(
    sampling: SamplingSettings, speculation: SpeculationSettings
) -> tuple[SamplingSettings, SpeculationSettings, SpeculationSettings]:
    """How both are drawn, and how the plain and the drafted one are written: the same seed, and the
    rule by which the text depends on nothing else."""
    seed = int.from_bytes(os.urandom(4), "big") if sampling.seed is None else sampling.seed
    return (
        replace(sampling, seed=seed),
        SpeculationSettings(drafter="none", rule="coupled"),
        SpeculationSettings(
            drafter="auto" if speculation.drafter == "none" else speculation.drafter,
            draft_length=speculation.draft_length or "auto",
            rule="coupled",
        ),
    )


def parting(plain: Side, drafted: Side) -> Parting | None:
    """Where they part; None where they are the same as far as both have come."""
    one, other = plain.text, drafted.text
    at = _common(one, other)
    if at == len(one) and (at == len(other) or not plain.is_whole):
        return None
    if at == len(other) and not drafted.is_whole:
        return None
    same = _common(plain.tokens, drafted.tokens)
    return Parting(same, _piece(one, at), _piece(other, at))


def agreement(plain: Side, drafted: Side) -> str:
    """Whether they say the same, in words; empty while there is nothing to compare."""
    parted = parting(plain, drafted)
    if parted is not None:
        return f"the same for {_tokens(parted.tokens)}, then they part"
    if plain.is_whole and drafted.is_whole:
        counts = plain.figures.emitted, drafted.figures.emitted
        if counts[0] != counts[1]:
            return f"identical text, in {counts[0]:,} and {_tokens(counts[1])}"
        return f"identical, {_tokens(counts[0])}"
    same = _common(plain.tokens, drafted.tokens)
    if not same:
        return ""
    so_far = "so far" if drafted.ended is None else "as far as both go"
    return f"the same {so_far}, {_tokens(same)}"


def speed_up(plain: Side, drafted: Side) -> float | None:
    """How many times as fast the drafted one is written, as far as both have come.

    Both are written with the same snapshots, which plain decoding would do without.
    """
    slow, fast = plain.figures.plain_answer_per_second, drafted.figures.tokens_per_second
    return fast / slow if slow and fast else None


def summary(plain: Side, drafted: Side) -> str:
    """The speed-up and the agreement in one line."""
    parts = []
    factor = speed_up(plain, drafted)
    if factor is not None:
        slower = " (slower)" if factor < 0.995 else ""
        parts.append(f"{factor:.2f}x plain with drafts{slower}")
    if drafted.ended is not None and drafted.figures.rounds and not drafted.figures.drafted:
        parts.append("nothing was drafted, because it does not pay here")
    parts.append(agreement(plain, drafted))
    return SEPARATOR.join(filter(None, parts))


def figures_of(side: Side) -> str:
    """The speed of one of them, in little room."""
    figures = side.figures
    parts = []
    if figures.tokens_per_second is not None:
        parts += [rate(figures.tokens_per_second), seconds(figures.decode_s)]
    if figures.acceptance is not None:
        parts.append(f"{percent(figures.acceptance)} accepted")
    if side.ended == "cancelled":
        parts.append("stopped")
    return SEPARATOR.join(parts)


def _common(one: Sequence[object], other: Sequence[object]) -> int:
    """How much both begin with."""
    shorter = min(len(one), len(other))
    if one[:shorter] == other[:shorter]:
        return shorter
    pairs = zip(one, other, strict=False)
    return next(at for at, (mine, theirs) in enumerate(pairs) if mine != theirs)


def _piece(text: str, at: int) -> str:
    """The text around this place, from the beginning of a word, in a line."""
    word = max(text.rfind(" ", 0, at), text.rfind("\n", 0, at)) + 1
    start = max(word, at - BEFORE)
    before, after = "…" if start else "", "…" if at + AFTER < len(text) else ""
    if at == len(text):
        after = " (ends here)"
    piece = text[start : at + AFTER].strip("\n")
    return visible(f"{before}{piece}{after}".replace("\n", "⏎"))


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count:,} tokens"
