"""What speculation is worth, live: the panel beside the chat, and its one-line form."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from textual.containers import VerticalScroll
from textual.content import Content

from specchat.chat.parts import PartFigures
from specchat.chat.reasoning import Kind
from specchat.chat.records import AnswerRecord
from specchat.engine.drafter_names import DrafterName
from specchat.engine.protocol import STATEFUL, SteppingBack
from specchat.pairing.machine import Conditions, Machine
from specchat.pairing.memory import MemoryPlan
from specchat.speculation.metrics import NOTHING, Figures
from specchat.tui.definitions import figure
from specchat.tui.memory_lines import main_share, memory_text, total_bytes
from specchat.tui.rate_history import MINUTE_S, RateHistory
from specchat.tui.widgets.defined import Defined
from specchat.tui.widgets.steady import is_drawn, put
from specchat.tui.wording import (
    KIND_WORDS,
    SEPARATOR,
    ago,
    bar,
    percent,
    rate,
    sparkline,
    tokens,
)

REFRESHES_PER_SECOND = 2
BAR_WIDTH = 14
KIND_BAR_WIDTH = 12
WIDTH = 26
"""Cells of a line, until the screen is laid out."""
LEAST_POSITIONS = 3
"""For so many the empty lines give way, then the kinds of text, which scrolling brings."""
WIDE_LINE = 90
"""From so many cells on the one line has the plain rate and the tokens a round too."""

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
    stepping_back: SteppingBack = "cache"
    """How the target takes back what it refused."""
    figures: Figures | None = None
    reason: str = ""
    rates: RateHistory = field(default_factory=RateHistory)
    parts: Mapping[Kind, PartFigures] = field(default_factory=dict)
    """The same by kind of text."""
    n_past: int = 0
    """Tokens in the target's context."""
    left_out: int = 0
    """Messages for which it has no room."""
    conditions: Conditions = Conditions()  # noqa: RUF009 - it is frozen
    """How the machine is."""
    clock: Callable[[], float] = time.monotonic
    """Seconds since some moment."""
    _heard_at: float = 0.0
    """When the figures came."""

    @property
    def plain_age_s(self) -> float | None:
        """How long ago the plain rate was measured, by now."""
        if self.figures is None or self.figures.plain_age_s is None:
            return None
        return self.figures.plain_age_s + self.clock() - self._heard_at

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
        self.figures, self._heard_at = figures, self.clock()
        self.reason = reason
        self.n_past = n_past
        self.parts = parts or {}
        self.rates.add(figures)

    def finish(self, figures: Figures, n_past: int) -> None:
        """Take the last totals of an answer."""
        self.figures, self._heard_at = figures, self.clock()
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


class SpeculationPanel(Defined):
    """Figures of the answer under way, or of the last one."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._live = LiveFigures()
        self._shown = Content("")

    def show(self, live: LiveFigures) -> None:
        """Draw the figures as they are now."""
        self._live = live
        self.draw()

    def draw(self) -> None:
        """The same figures, in the room that there is now."""
        if not is_drawn(self):
            return
        figures = self._live.figures
        if figures is None or not figures.rounds:
            text = _preview(self._live)
        else:
            parent = self.parent
            height = parent.size.height if isinstance(parent, PanelRoom) else 0
            width = self.content_size.width or WIDTH
            text = Content("\n").join(_lines(figures, self._live, width, height))
        if text != self._shown:
            self._shown = text
            put(self, text)


class PanelRoom(VerticalScroll):
    """The room of the panel; where that is too little for all lines, they scroll."""

    HELP = "What speculation is worth. The arrow keys and the mouse wheel bring the other lines."

    def allow_focus(self) -> bool:
        """There is something to do here while not everything is in view."""
        return self.max_scroll_y > 0

    def on_resize(self) -> None:
        """As many lines as there is room for."""
        self.query_one(SpeculationPanel).draw()


class SpeculationLine(Defined):
    """What matters of it in one line, for a narrow terminal: what comes first stays in view."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._live = LiveFigures()
        self._memory = ""
        self._shown = Content("")

    def show_memory(self, plan: MemoryPlan | None, machine: Machine | None) -> None:
        """This is what was planned for the pair."""
        share = main_share(plan) if plan else None
        total = total_bytes(share, machine) if share and machine else 0
        self._memory = memory_text(share, total) if share and machine else ""
        self.show(self._live)

    def show(self, live: LiveFigures) -> None:
        """Draw the figures as they are now."""
        self._live = live
        if not is_drawn(self):
            return
        figures = live.figures
        if figures is None or not figures.rounds:
            text = Content.styled("speculation: figures come with the answer", _MUTED)
            parts = [text, figure("memory", self._memory)]
        else:
            parts = self._parts(figures, live, wide=self.content_size.width >= WIDE_LINE)
        text = Content(SEPARATOR).join(part for part in parts if part)
        if text != self._shown:
            self._shown = text
            put(self, text)

    def on_resize(self) -> None:
        """As much as there is room for."""
        self.show(self._live)

    def _parts(self, figures: Figures, live: LiveFigures, *, wide: bool) -> list[Content]:
        accepted = figures.acceptance
        a_round = f"{figures.tokens_per_round or 0:.1f} a round"
        if accepted is None:
            share = figure("drafted", "nothing drafted")
        else:
            share = figure("acceptance", f"{percent(accepted)} accepted")
        return [
            figure("tok/s", rate(figures.tokens_per_second or 0.0)),
            _speed_up(figures),
            _plain(live) if wide else Content(""),
            share,
            figure("tokens per round", a_round if wide and accepted is not None else ""),
            figure("memory", self._memory),
            figure("reason", Content.styled(live.reason, _MUTED)),
        ]


def _preview(live: LiveFigures) -> Content:
    title, text = _PREVIEW
    lines = [Content(title), Content.styled(text, _MUTED)]
    if live.drafter:
        lines += [Content(""), Content.styled(f"drafter: {DRAFTERS[live.drafter]}", _MUTED)]
    return Content("\n").join([*lines, *_machine(live.conditions)])


def _lines(figures: Figures, live: LiveFigures, width: int, height: int) -> list[Content]:
    """Everything, with as many positions as there is room for.

    Args:
        height: lines that are in view.
    """
    kinds = _by_kind(live.parts)
    for gap in ([Content("")], []):
        first = [*_speed(figures, live, width), *gap, *_acceptance(figures)]
        if figures.acceptance is not None:
            first += gap
        then = [*gap, *_reason(figures, live)]
        last = [*gap, *kinds] if kinds else []
        taken = _rows([*first, *then], width)
        room = height - taken - _rows(last, width)
        if room >= min(LEAST_POSITIONS, len(figures.acceptance_by_position)):
            break
    else:
        room = height - taken
    return [*first, *_positions(figures, max(2, room)), *then, *last]


def _rows(lines: list[Content], width: int) -> int:
    return sum(len(line.wrap(width)) for line in lines)


def _speed(figures: Figures, live: LiveFigures, width: int) -> list[Content]:
    covered = live.rates.covered_s
    now = figure("tok/s", Content.styled(rate(figures.tokens_per_second or 0.0), "bold"))
    plain = _plain(live)
    lines = [
        Content("  ").join(part for part in (now, _speed_up(figures)) if part),
        *([plain] if plain else []),
    ]
    if not covered:
        return [*lines, Content.styled("the last answer here", _MUTED)]
    span = "last minute" if covered >= MINUTE_S else f"last {math.ceil(covered)} s"
    return [
        *lines,
        figure("tok/s", Content.styled(sparkline(live.rates.columns(width)), "$primary")),
        figure("tok/s", Content.styled(span, _MUTED)),
    ]


def _speed_up(figures: Figures) -> Content:
    """What speculation is worth; empty while that is not known."""
    return figure("speed-up", "" if figures.speed_up is None else f"{figures.speed_up:.2f}x plain")


def _plain(live: LiveFigures) -> Content:
    """The rate without drafting, and how old it is; empty while it is not known."""
    plain = live.figures.plain_tokens_per_second if live.figures is not None else None
    if plain is None or live.plain_age_s is None:
        return Content("")
    text = f"plain {rate(plain)} {ago(live.plain_age_s)}"
    return figure("plain tok/s", Content.styled(text, _MUTED))


def _acceptance(figures: Figures) -> list[Content]:
    if figures.acceptance is None:
        return [Content("plain decoding:"), figure("drafted", "nothing was drafted")]
    return [
        figure("tokens per round", f"{figures.tokens_per_round or 0:.1f} tokens a round"),
        figure("acceptance", f"{percent(figures.acceptance)} accepted"),
    ]


def _positions(figures: Figures, rows: int) -> list[Content]:
    """The acceptance at each position, in so many lines."""
    positions = figures.acceptance_by_position
    shown = positions if len(positions) <= rows else positions[: rows - 1]
    lines = [
        Content.assemble(
            (f"at {position:<2} ", _MUTED), (bar(share, BAR_WIDTH), _BAR), percent(share).rjust(5)
        )
        for position, share in enumerate(shown, 1)
    ]
    if len(shown) < len(positions):
        further = f"{len(positions) - len(shown)} further on"
        lines.append(Content.styled(f"and {further}" if shown else further, _MUTED))
    return [figure("acceptance at position i", line) for line in lines]


def _reason(figures: Figures, live: LiveFigures) -> list[Content]:
    """What the controller does and why, what that takes, and who drafts."""
    lines = [figure("reason", live.reason)]
    if figures.draft_share is not None and figures.drafted:
        share = f"{percent(figures.draft_share)} of the time drafting"
        lines.append(figure("draft share", Content.styled(share, _MUTED)))
    beside = SHORT.get(live.drafter) if live.drafter is not None else None
    if beside is not None and figures.ngram_share is not None:
        share = percent(figures.ngram_share)
        rest = percent(1 - figures.ngram_share)
        shares = Content.styled(f"n-gram {share}  {beside} {rest}", _MUTED)
        lines.append(figure("share by drafter", shares))
    elif live.drafter:
        lines.append(Content.styled(f"drafter: {DRAFTERS[live.drafter]}", _MUTED))
    back = _stepping_back(live.stepping_back, figures)
    return [*lines, *back, *_machine(live.conditions)]


def _machine(conditions: Conditions) -> list[Content]:
    """What may slow the machine down; nothing where nobody tells."""
    parts = []
    if conditions.temperature_c is not None:
        parts.append(figure("temperature", f"{conditions.temperature_c:.0f} °C"))
    if conditions.on_battery:
        parts.append(figure("on battery", "on battery"))
    return [Content(SEPARATOR).join(parts).stylize_before(_MUTED)] if parts else []


def _by_kind(parts: Mapping[Kind, PartFigures]) -> list[Content]:
    """Where the guesses land, once they were tested in more than one kind of text."""
    shares = {kind: part.acceptance for kind, part in parts.items() if part.acceptance is not None}
    if len(shares) < 2:
        return []
    lines = [
        Content.assemble(
            (f"{KIND_WORDS[kind]:<9}", _MUTED),
            (bar(share, KIND_BAR_WIDTH), _BAR),
            percent(share).rjust(5),
        )
        for kind, share in shares.items()
    ]
    return [figure("acceptance in thinking, words, code", line) for line in lines]


def _stepping_back(kind: SteppingBack, figures: Figures) -> list[Content]:
    """How a target that keeps a state takes guesses back, and what came of it for the prompt."""
    if kind not in STATEFUL:
        return []
    lines = [Content(f"steps back by {kind}")]
    if figures.step_back_share is not None and figures.drafted:
        shares = [figure("step back share", f"{percent(figures.step_back_share)} of time")]
        if kind == "checkpoints":
            shares.append(figure("replayed", f"{tokens(figures.replayed)} replayed"))
        lines.append(Content(", ").join(shares))
    reused, prompt = tokens(figures.reused_tokens), tokens(figures.prompt_tokens)
    lines.append(figure("reused tokens", f"prompt {reused} of {prompt} reused"))
    return [line.stylize_before(_MUTED) for line in lines]
