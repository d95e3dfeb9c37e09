"""The rounds of an answer as columns of characters, and one of them in words."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple

from textual.content import Content

from specchat.chat.rounds import AnswerRound
from specchat.tui.definitions import figure
from specchat.tui.timeline import Timeline
from specchat.tui.wording import KIND_WORDS, SEPARATOR, percent, seconds, visible

ACCEPTED = "█"
PARTLY = " ▁▂▃▄▅▆▇"
REFUSED = "░"
STYLES_OF_SOURCES = {"ngram": "$primary", "model": "$success", None: "$foreground-muted"}
LETTERS_OF_SOURCES = {"ngram": "n", "model": "d", None: "·"}

Share = Literal["prefill", "draft", "verify", "own"]
SHARES: dict[Share, tuple[str, str, str]] = {
    "prefill": ("▚", "prompt", "$accent"),
    "draft": ("▒", "draft", "$success"),
    "verify": ("█", "target", "$primary"),
    "own": ("░", "our own", "$warning"),
}
"""The glyph, the word and the colour of each part of the time."""
FIGURES_OF_SHARES: dict[Share, str] = {
    "prefill": "prompt seconds",
    "draft": "draft seconds",
    "verify": "verify seconds",
    "own": "overhead seconds",
}
"""What each part of the time is called where it is defined."""
TIMES = "prompt, draft, target, our own"
"""What all of them are called there."""

Cell = tuple[str, str]
"""A glyph and its style."""


class Column(NamedTuple):
    """A round as it is drawn: its cells from the top down."""

    guesses: list[Cell]
    source: Cell
    cursor: Cell
    times: list[Cell]


class Heights(NamedTuple):
    """Lines for the guesses and for the times."""

    guesses: int
    times: int


def heights(lines: int, most_drafted: int) -> Heights:
    """Divide the lines that are left beside the letters and the cursor."""
    rest = max(2, lines - 2)
    room = min(rest - 1, math.ceil(rest * 0.6))
    lines_a_guess = max(1, min(3, room // max(1, most_drafted)))
    guesses = max(1, min(most_drafted * lines_a_guess, room))
    return Heights(guesses, min(10, rest - guesses))


def chart(
    rounds: Sequence[AnswerRound], cursor: int | None, size: Heights, width: int, step: int = 1
) -> Content:
    """The rounds as columns: what was guessed, by whom, and what took the time.

    Args:
        cursor: the round that is pointed at.
        width: cells a line.
        step: cells a round.
    """
    most = max((each.drafted for each in rounds), default=0)
    longest_s = max((each.total_s for each in rounds), default=0.0)
    columns = [
        Column(
            _guesses(each, size.guesses, most),
            (LETTERS_OF_SOURCES[each.source], STYLES_OF_SOURCES[each.source]),
            ("▲", "bold") if index == cursor else (" ", ""),
            _times(each, size.times, longest_s),
        )
        for index, each in enumerate(rounds)
    ]
    lines: list[Content] = []
    for row in range(size.guesses):
        lines.append(_line([column.guesses[row] for column in columns], width, step))
    lines.append(_line([column.source for column in columns], width, step))
    for row in range(size.times):
        lines.append(_line([column.times[row] for column in columns], width, step))
    lines.append(_line([column.cursor for column in columns], width, step))
    return Content("\n").join(lines)


def shares(timeline: Timeline) -> dict[Share, float]:
    """Where the time of an answer went, in seconds."""
    figures = timeline.figures
    return {
        "prefill": timeline.prefill_s,
        "draft": figures.draft_s,
        "verify": figures.verify_s,
        "own": figures.overhead_s,
    }


def share_bar(parts: dict[Share, float], width: int) -> Content:
    """One bar of all the time. A part that took any has a cell at least, where there is room."""
    took = {name: part for name, part in parts.items() if part > 0}
    if not took or width < len(took):
        return Content("")
    spare, total = width - len(took), sum(took.values())
    exact = {name: 1 + spare * (each / total) for name, each in took.items()}
    cells = {name: int(each) for name, each in exact.items()}
    for name in sorted(exact, key=lambda name: cells[name] - exact[name]):
        if sum(cells.values()) < width:
            cells[name] += 1
    return Content.assemble(
        *((SHARES[name][0] * count, SHARES[name][2]) for name, count in cells.items())
    )


def share_legend(parts: dict[Share, float], width: int) -> Content:
    """What the parts of the bar mean, with their shares, and with seconds where there is room."""
    total = sum(parts.values()) or 1.0
    full = _legend_line(parts, lambda took: f"{seconds(took)} {percent(took / total)}")
    if full.cell_length <= width:
        return full
    return _legend_line(parts, lambda took: percent(took / total))


def _legend_line(parts: dict[Share, float], figures: Callable[[float], str]) -> Content:
    pieces = []
    for name, took in parts.items():
        glyph, word, style = SHARES[name]
        text = Content.assemble((glyph, style), f" {word} {figures(took)}")
        pieces.append(figure(FIGURES_OF_SHARES[name], text))
    return Content("  ").join(pieces)


def chart_legend() -> Content:
    """What the columns mean."""
    letters = {"n": "n-gram", "d": "draft", "·": "no guess"}
    accepted = Content.assemble((ACCEPTED, STYLES_OF_SOURCES["model"]), " accepted")
    refused = Content.assemble((REFUSED, "$foreground-muted"), " refused")
    who = "  ".join(f"{letter} {word}" for letter, word in letters.items())
    return Content("  ").join(
        [
            figure("accepted", accepted),
            figure("refused", refused),
            figure("origin of a token", who),
        ]
    )


def summary(timeline: Timeline) -> Content:
    """The answer in a line."""
    figures = timeline.figures
    count = len(timeline.rounds)
    if not count and figures.rounds:
        return Content("The rounds of this answer were not kept.")
    if not count:
        return Content("No rounds yet: ask something, and they show here.")
    emitted = figure("emitted", _count(figures.emitted, "token"))
    rounds = figure("rounds", _count(figures.rounds, "round"))
    parts = [Content(", ").join([emitted, rounds])]
    if figures.acceptance is not None:
        kept = f"{figures.accepted} of {figures.drafted} guesses kept"
        parts.append(figure("accepted", kept))
    parts.append(figure(TIMES, seconds(timeline.prefill_s + figures.decode_s)))
    if count < figures.rounds:
        parts.append(Content(f"the last {_count(count, 'round')} here"))
    if not timeline.ended:
        parts.append(Content("going on"))
    return Content(SEPARATOR).join(parts)


def position(timeline: Timeline, index: int) -> str:
    """Which round that is."""
    return f"round {index + 1} of {len(timeline.rounds)}"


def in_words(timeline: Timeline, index: int) -> list[Content]:
    """The figures of one round, in four lines."""
    each = timeline.rounds[index]
    milliseconds = [
        f"{name} {took * 1e3:.1f}"
        for name, took in (
            ("draft", each.draft_s), ("target", each.verify_s), ("our own", each.own_s)
        )
    ]  # fmt: skip
    text = visible(each.text).replace("\n", "↵")
    return [
        _outcome(each),
        figure("reason", each.reason),
        figure(TIMES, f"{each.total_s * 1e3:.1f} ms: {', '.join(milliseconds)}"),
        Content(f"{KIND_WORDS[each.kind]}: {text}" if text else "no text yet"),
    ]


def _outcome(each: AnswerRound) -> Content:
    if not each.drafted:
        plain = f"no guesses, {_count(each.emitted, 'token')} of the target's own"
        return figure("origin of a token", plain)
    who = "n-gram" if each.source == "ngram" else "draft"
    own = each.emitted - each.accepted
    if each.accepted < each.drafted:
        end = "then corrected"
    else:
        end = f"and {own} of the target's own" if own else "the end among them"
    return Content(", ").join(
        [
            figure("drafted", f"drafted {each.drafted} ({who})"),
            figure("accepted", f"accepted {each.accepted}"),
            figure("origin of a token", end),
        ]
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _guesses(each: AnswerRound, height: int, most: int) -> list[Cell]:
    """Accepted guesses from the bottom, refused ones above, `most` of them as high as the chart."""
    unit = most / height if most else 1.0
    cells: list[Cell] = []
    for row in reversed(range(height)):
        accepted = (each.accepted / unit) - row
        drafted = (each.drafted / unit) - row
        if accepted >= 1:
            cells.append((ACCEPTED, STYLES_OF_SOURCES[each.source]))
        elif accepted >= 1 / 8:
            cells.append((PARTLY[int(accepted * 8)], STYLES_OF_SOURCES[each.source]))
        elif drafted > 0:
            cells.append((REFUSED, "$foreground-muted"))
        else:
            cells.append((" ", ""))
    return cells


def _times(each: AnswerRound, height: int, longest_s: float) -> list[Cell]:
    """Drafting at the bottom, then the target, then our own. Each cell is what its middle is."""
    unit = longest_s / height if longest_s > 0 else 1.0
    parts: list[tuple[Share, float]] = [
        ("draft", each.draft_s), ("verify", each.verify_s), ("own", each.own_s)
    ]  # fmt: skip
    cells: list[Cell] = []
    for row in reversed(range(height)):
        middle = (row + 0.5) * unit if row else min(0.5 * unit, each.total_s / 2)
        end, shown = 0.0, (" ", "")
        for name, took in parts:
            end += took
            if middle < end:
                glyph, _, style = SHARES[name]
                shown = (glyph, style)
                break
        cells.append(shown)
    return cells


def _line(cells: Iterable[Cell], width: int, step: int) -> Content:
    """Cells side by side, those of one style together, filled up to the width."""
    pieces = [
        ("".join(glyph.ljust(step) for glyph, _ in group), style)
        for style, group in groupby(cells, key=itemgetter(1))
    ]
    length = sum(len(text) for text, _ in pieces)
    return Content.assemble(*pieces, " " * max(0, width - length))
