"""What speculation is worth, live: the panel beside the chat, and its one-line form."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from textual.content import Content
from textual.widgets import Static

from specchat.chat.parts import PartFigures
from specchat.chat.reasoning import Kind
from specchat.chat.records import AnswerRecord
from specchat.engine.drafter_names import DrafterName
from specchat.speculation.metrics import NOTHING, Figures
from specchat.tui.rate_history import MINUTE_S, RateHistory
from specchat.tui.wording import KIND_WORDS, SEPARATOR, bar, percent, rate, seconds, sparkline

REFRESHES_PER_SECOND = 4
BAR_WIDTH = 14
KIND_BAR_WIDTH = 12
LINES_BESIDE_POSITIONS = 18
"""What the panel needs for everything but the acceptance by position."""

DRAFTERS: dict[DrafterName, str] = {
    "chain": "n-gram and draft model",
    "model": "draft model",
    "ngram": "n-gram",
    "ngram+mtp": "n-gram and MTP heads",
    "mtp": "MTP heads",
    "ngram+eagle3": "n-gram and EAGLE-3 head",
    "eagle3": "EAGLE-3 head",
    "ngram+dflash": "n-gram and DFlash head",
    "dflash": "DFlash head",
    "ngram+dspark": "n-gram and DSpark head",
    "dspark": "DSpark head",
    "none": "none, plain decoding",
}
SHORT: dict[DrafterName, str] = {
    "chain": "model",
    "ngram+mtp": "MTP",
    "ngram+eagle3": "EAGLE-3",
    "ngram+dflash": "DFlash",
    "ngram+dspark": "DSpark",
}
"""What drafts beside n-grams, in a line that has both."""

_PREVIEW = (
    "Once the model answers:",
    "tokens a second,\ntokens a round,\nthe share of guesses that\nthe target accepted,\n"
    "and how far ahead it pays\nto guess.",
)

_MUTED = "$foreground-muted"
_BAR = "$primary on $boost"


@dataclass
class LiveFigures:
    """What the panel shows: the last totals and where they came from."""

    drafter: DrafterName | None = None
    """Who drafts; None until a pair is loaded."""
    figures: Figures | None = None
    reason: str = ""
    rates: RateHistory = field(default_factory=RateHistory)
    parts: Mapping[Kind, PartFigures] = field(default_factory=dict)
    """The same by kind of text."""
    n_past: int = 0
    """Tokens in the target's context."""
    left_out: int = 0
    """Messages for which it has no room."""

    def begin_answer(self, begun: Figures = NOTHING) -> None:
        """A new answer starts; the last one's figures stay until its first round.

        Args:
            begun: the figures of what it begins with.
        """
        self.rates.begin_answer(begun)

    def add(
        self,
        figures: Figures,
        reason: str,
        n_past: int,
        parts: Mapping[Kind, PartFigures] | None = None,
    ) -> None:
        """Take the totals after a round."""
        self.figures = figures
        self.reason = reason
        self.n_past = n_past
        self.parts = parts or {}
        self.rates.add(figures)

    def finish(self, figures: Figures, n_past: int) -> None:
        """Take the last totals of an answer."""
        self.figures = figures
        self.n_past = n_past

    def recall(self, record: AnswerRecord) -> None:
        """Show an answer of another day."""
        self.figures, self.parts = record.figures, record.parts

    def clear(self) -> None:
        """Nothing was generated in this chat."""
        self.figures = None
        self.reason = ""
        self.parts = {}
        self.rates = RateHistory()
        self.n_past = self.left_out = 0


class SpeculationPanel(Static):
    """Figures of the answer under way, or of the last one."""

    def show(self, live: LiveFigures) -> None:
        """Draw the figures as they are now."""
        figures = live.figures
        if figures is None or not figures.rounds:
            self.update(_preview(live.drafter))
            return
        kinds = _by_kind(live.parts)
        rows = self.content_size.height - LINES_BESIDE_POSITIONS - len(kinds)
        lines = [
            *_speed(figures, live.rates, self.content_size.width or 26),
            Content(""),
            *_acceptance(figures, max(3, rows)),
            *kinds,
            Content(""),
            Content(live.reason),
        ]
        if figures.draft_share is not None and figures.drafted:
            share = f"{percent(figures.draft_share)} of the time drafting"
            lines.append(Content.styled(share, _MUTED))
        beside = SHORT.get(live.drafter) if live.drafter is not None else None
        if beside is not None and figures.ngram_share is not None:
            share = percent(figures.ngram_share)
            rest = percent(1 - figures.ngram_share)
            lines.append(Content.styled(f"n-gram {share}  {beside} {rest}", _MUTED))
        elif live.drafter:
            lines.append(Content.styled(f"drafter: {DRAFTERS[live.drafter]}", _MUTED))
        self.update(Content("\n").join(lines))


class SpeculationLine(Static):
    """The same in one line, for a narrow terminal."""

    def show(self, live: LiveFigures) -> None:
        """Draw the figures as they are now."""
        figures = live.figures
        if figures is None or not figures.rounds:
            self.update(Content.styled("speculation: figures come with the answer", _MUTED))
            return
        parts = []
        if figures.tokens_per_second is not None:
            parts.append(rate(figures.tokens_per_second))
        if figures.acceptance is None:
            parts.append("nothing drafted")
        else:
            parts.append(f"{figures.tokens_per_round or 0:.1f} a round")
            parts.append(f"{percent(figures.acceptance)} accepted")
        self.update(
            Content.assemble(
                SEPARATOR.join(parts),
                (f"{SEPARATOR}{live.reason}" if live.reason else "", _MUTED),
            )
        )


def _preview(drafter: DrafterName | None) -> Content:
    title, text = _PREVIEW
    lines = [Content(title), Content.styled(text, _MUTED)]
    if drafter:
        lines += [Content(""), Content.styled(f"drafter: {DRAFTERS[drafter]}", _MUTED)]
    return Content("\n").join(lines)


def _speed(figures: Figures, rates: RateHistory, width: int) -> list[Content]:
    covered = rates.covered_s
    lines = [Content.styled(rate(figures.tokens_per_second or 0.0), "bold"), *_speed_up(figures)]
    if not covered:
        return [*lines, Content.styled("the last answer here", _MUTED)]
    span = "last minute" if covered >= MINUTE_S else f"last {math.ceil(covered)} s"
    graph = Content.styled(sparkline(rates.columns(width)), "$primary")
    return [*lines, graph, Content.styled(span, _MUTED)]


def _speed_up(figures: Figures) -> list[Content]:
    if figures.speed_up is None or figures.plain_age_s is None:
        return []
    plain = f"{figures.speed_up:.2f}x plain"
    age = f" {seconds(figures.plain_age_s)} ago" if figures.plain_age_s >= 1 else ""
    return [Content.assemble(plain, (age, _MUTED))]


def _acceptance(figures: Figures, rows: int) -> list[Content]:
    if figures.acceptance is None:
        return [Content("plain decoding:"), Content("nothing was drafted")]
    lines = [
        Content(f"{figures.tokens_per_round or 0:.1f} tokens a round"),
        Content(f"{percent(figures.acceptance)} accepted"),
        Content(""),
    ]
    positions = figures.acceptance_by_position
    shown = positions if len(positions) <= rows else positions[: rows - 1]
    for position, share in enumerate(shown, 1):
        lines.append(
            Content.assemble(
                (f"at {position:<2} ", _MUTED),
                (bar(share, BAR_WIDTH), _BAR),
                percent(share).rjust(5),
            )
        )
    if len(shown) < len(positions):
        lines.append(Content.styled(f"and {len(positions) - len(shown)} further on", _MUTED))
    return lines


def _by_kind(parts: Mapping[Kind, PartFigures]) -> list[Content]:
    """Where the guesses land, once they were tested in more than one kind of text."""
    shares = {kind: part.acceptance for kind, part in parts.items() if part.acceptance is not None}
    if len(shares) < 2:
        return []
    rows = [
        Content.assemble(
            (f"{KIND_WORDS[kind]:<9}", _MUTED),
            (bar(share, KIND_BAR_WIDTH), _BAR),
            percent(share).rjust(5),
        )
        for kind, share in shares.items()
    ]
    return [Content(""), *rows]
