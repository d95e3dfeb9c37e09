"""The entries of the list of pairs, as text: what each is, takes, promises, and why it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from specchat.pairing.drafting import HEADS
from specchat.pairing.machine import Machine
from specchat.pairing.memory import MemoryPlan
from specchat.pairing.planned import PlannedPair
from specchat.pairing.wording import context_text, download_text, speed_source, speed_text
from specchat.tui.memory_lines import full_lines
from specchat.tui.wording import SEPARATOR, percent, shorten, visible

if TYPE_CHECKING:
    from specchat.hub.inventory import FoundModel
    from specchat.hub.made_pairs import MadePair
    from specchat.tui.on_disk import Alone

ROOMY_WIDTH = 70
"""Cells of an entry in which there is room for every word."""
_MUTED = "$foreground-muted"
DRAFTERS = {"none": "plain decoding", "ngram": "n-grams guess", "model": "a draft model guesses"}


def planned_entry(pair: PlannedPair, machine: Machine, width: int) -> Content:
    """A pair of the catalog with its memory bars."""
    state = download_text(pair)
    if not pair.on_disk and width >= ROOMY_WIDTH:
        state += " to download"
    lines = [_headline(pair_title(pair), state, width)]
    lines += full_lines(pair.plan, machine, width)
    facts = [f"{context_text(pair.plan.n_ctx)} context", pair.licence, pair.name]
    if pair.speed:
        source = speed_source(pair.speed).removeprefix("speed ").removeprefix("speed: ")
        facts.insert(0, f"{speed_text(pair.speed)} tok/s ({source})")
    lines.append(Content(visible(SEPARATOR.join(facts))))
    reasons = " ".join((pair.why, *pair.verdict) if pair.fits else pair.verdict)
    lines.append(Content.styled(visible(reasons), _MUTED))
    return Content("\n").join(lines)


def pair_title(pair: PlannedPair) -> str:
    """The target, and who guesses for it."""
    if pair.draft is not None and pair.draft.file is None:
        return f"{pair.title}  <-  its {pair.draft.title}"
    if pair.draft is not None:
        return f"{pair.title}  <-  {pair.draft.title} {pair.draft.quant}"
    return f"{pair.title}  <-  {DRAFTERS.get(pair.drafter, pair.drafter)}"


def model_entry(model: FoundModel, alone: Alone, machine: Machine, width: int) -> Content:
    """A model on this disk for which no draft is named, and what drafts for it all the same."""
    from specchat.hub.wording import size_text

    title = f"{model.name}  <-  {_who_drafts(alone)}"
    lines = [_headline(title, size_text(model.size_bytes), width)]
    lines += _planned_lines(alone.plan, machine, width)
    lines += [Content.styled(reason, _MUTED) for reason in alone.reasons]
    paths = filter(None, (model.path, alone.beside))
    lines += [Content.styled(shorten(visible(path), width), _MUTED) for path in paths]
    return Content("\n").join(lines)


def _who_drafts(alone: Alone) -> str:
    if alone.heads is None:
        return DRAFTERS["ngram"]
    head = HEADS[alone.heads]
    return f"its {head}" if alone.beside is None else f"the {head} beside it"


def made_entry(pair: MadePair, plan: MemoryPlan | None, machine: Machine, width: int) -> Content:
    """Two models on this disk: a pair, or why they are none."""
    share = f"draft {percent(pair.draft_share)} of the size"
    head = _headline(f"{pair.target}  <-  {pair.draft}", share, width)
    reason = f"{'' if pair.verdict.usable else '✗ '}{pair.verdict.sentence}"
    words = Content.styled(visible(reason), _MUTED)
    return Content("\n").join([head, *_planned_lines(plan, machine, width), words])


def _planned_lines(plan: MemoryPlan | None, machine: Machine, width: int) -> list[Content]:
    """Bars, and what had to give."""
    if plan is None:
        return []
    steps = [Content.styled(step, _MUTED) for step in plan.steps]
    return [*full_lines(plan, machine, width), *steps]


def _headline(title: str, right: str, width: int) -> Content:
    room = max(12, width - len(right) - 2)
    name = shorten(visible(title), room)
    return Content.assemble((f"{name:<{room}}", "bold"), "  ", right)
