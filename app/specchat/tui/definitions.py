"""What every figure means: the words of docs/numbers.md, which a test holds against these.

F1 lists all of them. Where a figure is shown, its text is made by `figure`, and the mouse brings
its definition.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from textual.content import Content
from textual.style import Style

from specchat.tui.wording import SEPARATOR

_FIGURE = "figure"
"""Under which a style has the name of a figure."""


class Definition(NamedTuple):
    """One figure."""

    name: str
    meaning: str


FIGURES = (
    Definition("drafted", "tokens proposed by a drafter and sent to the target"),
    Definition(
        "tested",
        "accepted, plus one in every round that refused a drafted token (the first refused "
        "one); tokens after it were never tested",
    ),
    Definition("accepted", "tested tokens kept"),
    Definition(
        "refused",
        "drafted tokens that were not kept: the first one that the target refused in a round, and "
        "those after it",
    ),
    Definition("acceptance", "accepted / tested; none while nothing was tested"),
    Definition(
        "emitted",
        "tokens of the answer, the end-of-generation token included; tokens of a stop string "
        "are not",
    ),
    Definition(
        "rounds",
        "decode calls of the target after the prompt, those with nothing drafted included",
    ),
    Definition(
        "tokens per round",
        "emitted / rounds; 1 + accepted / rounds where no round was cut by an end",
    ),
    Definition("acceptance at position i", "accepted at i / tested at i"),
    Definition("accepted histogram", "entry i: rounds that kept exactly i drafted tokens"),
    Definition(
        "decode seconds",
        "the wall time of all rounds, from the end of the prompt's prefill on",
    ),
    Definition("draft seconds", "the part of it in which a drafter worked"),
    Definition("verify seconds", "the part of it in which the target decoded"),
    Definition(
        "draft decode seconds",
        "the part of draft seconds inside decode calls of a draft model or of heads",
    ),
    Definition(
        "of the limit",
        "(verify + draft decode seconds) / decode seconds: the rate against what it would be if "
        "nothing but decode calls took time",
    ),
    Definition("overhead seconds", "round time that is neither: our own, and stepping back"),
    Definition(
        "tok/s",
        "emitted / decode seconds, cumulative; the graph shows a sliding window of 2 s",
    ),
    Definition(
        "step back seconds",
        "the part of decode seconds in which memories were marked and went back: the target's, and "
        "that of a draft model",
    ),
    Definition(
        "snapshots seconds",
        "the part of verify seconds that the target's snapshots of its state took of rounds with "
        "nothing drafted, by what was measured when it was loaded; 0 where it keeps none, or where "
        "that was not measured",
    ),
    Definition(
        "step back share",
        "step back seconds / decode seconds; shown for a target that keeps a state",
    ),
    Definition(
        "replayed",
        "tokens that the target decoded once more, because its memory went back further than "
        "asked; their time is part of verify seconds",
    ),
    Definition(
        "prompt seconds",
        "from the request to the start of the first round: prefill of target and draft",
    ),
    Definition("draft share", "draft seconds / decode seconds"),
    Definition(
        "accepted by n-gram",
        "accepted tokens that the n-gram drafter proposed; the draft model or the heads proposed "
        "the others",
    ),
    Definition(
        "share by drafter",
        "n-gram: accepted by n-gram / accepted; beside it the rest, which the draft model or the "
        "heads brought",
    ),
    Definition(
        "reason",
        "what was done in the last round and why; costs and saves are milliseconds: those that a "
        "draft of this length is expected to add to a round, and those that the tokens expected "
        "to be kept of it would take at the rate of late",
    ),
    Definition(
        "prompt, draft, target, our own",
        "in the timeline: prompt, draft, verify and overhead seconds; in the bar, and added up in "
        "the line above it, those of the answer, below the columns those of a round",
    ),
    Definition(
        "origin of a token",
        "n-gram or draft: a guess of that drafter which was kept; corrected: the target's own in "
        "place of a refused guess; plain: the target's own where nothing was refused",
    ),
    Definition(
        "acceptance in thinking, words, code",
        "accepted / tested over the rounds whose text begins there",
    ),
    Definition(
        "thought for",
        "decode seconds of the rounds whose text begins in the thinking",
    ),
    Definition(
        "plain tok/s",
        "the same without drafting: from rounds of this conversation in which nothing was "
        "drafted, at a context depth within 1,024 tokens; less snapshots seconds",
    ),
    Definition(
        "speed-up",
        "tok/s / plain tok/s, shown under 1 too, with how long ago the plain rate was measured;"
        " none where nothing was drafted. Between two answers, as in a comparison and in "
        "`specchat bench`: tok/s of the one / tok/s of the plain one without its snapshots "
        "seconds",
    ),
    Definition("log probability", "of a token, by the target itself, before any sampling setting"),
    Definition("prompt tokens", "all tokens of the prompt"),
    Definition("reused tokens", "those of them that were in the target's KV cache already"),
    Definition(
        "time to first token",
        "from the request to the end of the first round, prefill of target and draft included",
    ),
    Definition(
        "state copy seconds",
        "the part of time to first token in which states of the target were copied to main memory "
        "for later turns, or from there",
    ),
    Definition(
        "context",
        "tokens in the target's KV cache, of those that it has room for; left out: the first "
        "messages, where not all of them fit",
    ),
    Definition(
        "memory",
        "bytes that the plan gives the pair on a device: weights, KV cache and compute buffers, of "
        "all that the device has; the bar shows what others use, too",
    ),
    Definition(
        "temperature",
        "the hottest sensor of processor and graphics that the system tells of, read every 5 s; "
        "nothing where it tells of none",
    ),
    Definition(
        "on battery",
        "the machine lives on its battery, and most then compute more slowly to save it",
    ),
)

_MEANINGS = dict(FIGURES)


def definition(name: str) -> Content:
    """A figure's name and what it means, for a tooltip."""
    return Content.assemble((name, "bold"), f": {_MEANINGS[name]}")


def figure(name: str, text: Content | str) -> Content:
    """A text that shows this figure."""
    return (text if isinstance(text, Content) else Content(text)).stylize(_style(name))


def figures_line(figures: Iterable[tuple[str, str]]) -> Content:
    """Figures in a line, given by their names and how they are shown."""
    return Content(SEPARATOR).join(figure(name, text) for name, text in figures)


def defined_by(meta: Mapping[str, Any]) -> Content | None:
    """What the figure means whose text has this in its style; None where there is none."""
    name = meta.get(_FIGURE)
    return definition(name) if name is not None else None


@cache
def _style(name: str) -> Style:
    assert name in _MEANINGS, f"{name} is not defined"
    return Style.from_meta({_FIGURE: name})
