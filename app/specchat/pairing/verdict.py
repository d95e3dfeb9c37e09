"""Whether one file can draft for another, before either is loaded, and what to do instead."""

import re
from typing import Literal

import msgspec

from specchat.pairing.compatibility import Difference, compare
from specchat.pairing.drafter_type import (
    DRAFTER_NAMES,
    DrafterKind,
    drafter_kind,
    mtp_heads,
    promised_mtp_heads,
    why_no_text,
)
from specchat.pairing.findings import (
    Finding,
    count,
    findings_of_head,
    findings_of_pair,
    findings_of_target,
    size_ratio,
)
from specchat.pairing.gguf_file import GgufFile
from specchat.pairing.head_fit import HEADS, built_in_heads, misfit
from specchat.pairing.vocabulary import vocabulary_of

VerdictKind = Literal[
    "fits",
    "too_large",
    "target_alone",
    "no_target",
    "no_draft",
    "other_target",
    "other_vocabulary",
]
LEAVE_IT_OUT = "leave it out: n-grams of the conversation draft for any model."


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a person should know before loading a pair, or a target alone."""

    usable: bool
    """The draft can guess for the target, or the target alone can answer."""
    kind: VerdictKind
    drafter: DrafterKind
    """What the draft is; of a target alone, what it is itself."""
    sentence: str
    advice: str
    findings: tuple[Finding, ...]
    """More to know, the most important first; empty where the files make no pair at all."""


def judge(target: GgufFile, draft: GgufFile | None = None) -> Verdict:
    """The verdict on a target and a draft, or on a target alone."""
    return _judge_target(target) if draft is None else _judge_pair(target, draft)


def short_name(file: GgufFile) -> str:
    """The file's name without its folder or repository."""
    return re.split(r"[/\\:]", file.path)[-1]


def _judge_target(target: GgufFile) -> Verdict:
    obstacle = _not_a_target(target)
    if obstacle is not None:
        return obstacle
    return Verdict(
        usable=True,
        kind="target_alone",
        drafter=drafter_kind(target),
        sentence=f"{short_name(target)} can answer. {_own_drafter(target)}",
        advice="Start the chat with --target."
        if built_in_heads(target)
        else "Name a small model of the same family as DRAFT to see whether it fits.",
        findings=findings_of_target(target),
    )


def _own_drafter(target: GgufFile) -> str:
    heads, promised = len(mtp_heads(target)), promised_mtp_heads(target)
    if built_in_heads(target):
        verb = "drafts" if heads == 1 else "draft"
        built_in = f"It has {count(heads, 'MTP head')} built in"
        return f"{built_in}, which {verb} for it beside n-grams of the conversation."
    own = "It brings no drafter of its own"
    if heads:
        own = f"llama.cpp has no way to run its {count(heads, 'MTP head')}"
    elif promised:
        own = f"Its header promises {count(promised, 'MTP head')}, but the file has none"
    return f"{own}; n-grams of the conversation draft for it."


def _judge_pair(target: GgufFile, draft: GgufFile) -> Verdict:
    obstacle = _not_a_target(target) or _no_pair(target, draft)
    if obstacle is not None:
        return obstacle
    vocabularies = vocabulary_of(target), vocabulary_of(draft)
    is_head = drafter_kind(draft) in HEADS
    comparison = compare(*vocabularies, is_head=is_head)
    kind, sentence, advice = _pair_in_words(target, draft, comparison.ours)
    return Verdict(
        usable=kind in ("fits", "too_large"),
        kind=kind,
        drafter=drafter_kind(draft),
        sentence=sentence,
        advice=advice,
        findings=(findings_of_head if is_head else findings_of_pair)(
            target, draft, vocabularies, comparison
        ),
    )


def _pair_in_words(
    target: GgufFile, draft: GgufFile, difference: Difference | None
) -> tuple[VerdictKind, str, str]:
    """The verdict on a target, and a model or a head that could draft for it."""
    names, kind = (short_name(draft), short_name(target)), drafter_kind(draft)
    cannot = f"{names[0]} cannot draft for {names[1]}."
    if difference is not None:
        made = "Choose a head that was made for this model"
        other = made if kind in HEADS else "Choose a draft of the same family"
        if difference.topic in ("begin", "end"):
            other = "Look for a newer file of the draft, as this is often a publisher's mistake"
        return "other_vocabulary", f"{cannot} {difference.sentence}", f"{other}, or {LEAVE_IT_OUT}"
    if size_ratio(target, draft) >= 1:
        return (
            "too_large",
            f"{names[0]} can draft for {names[1]}, but it is too large to save time.",
            f"Choose a draft of a tenth of the target's size, or {LEAVE_IT_OUT}",
        )
    what = f", {DRAFTER_NAMES[kind]}," if kind in HEADS else ""
    return (
        "fits",
        f"{names[0]}{what} can draft for {names[1]}.",
        "Start the chat with --target and --draft.",
    )


def _not_a_target(target: GgufFile) -> Verdict | None:
    """Why a file can answer nobody."""
    kind, name = drafter_kind(target), short_name(target)
    if kind in HEADS:
        words = f"{name} is {DRAFTER_NAMES[kind]}: it guesses for its target and answers nobody."
        return _dead_end("no_target", kind, words, "Name the model that it was made for as TARGET.")
    reason = why_no_text(target)
    if reason is not None:
        words = f"{name} cannot answer. {reason}"
        return _dead_end("no_target", kind, words, "Choose a chat model as TARGET.")
    return None


def _no_pair(target: GgufFile, draft: GgufFile) -> Verdict | None:
    """Why a file cannot draft for this target, whatever its vocabulary."""
    kind = drafter_kind(draft)
    cannot = f"{short_name(draft)} cannot draft for {short_name(target)}."
    if kind in HEADS:
        problem = misfit(target, draft)
        if problem is None:
            return None
        words = (
            f"{short_name(draft)}, {DRAFTER_NAMES[kind]}, cannot draft for {short_name(target)}."
        )
        advice = f"Choose a head that was made for this model, or {LEAVE_IT_OUT}"
        return _dead_end("other_target", kind, f"{words} {problem}", advice)
    reason = why_no_text(draft)
    if reason is None:
        return None
    stand_in = LEAVE_IT_OUT[0].upper() + LEAVE_IT_OUT[1:]
    return _dead_end("no_draft", kind, f"{cannot} {reason}", stand_in)


def _dead_end(kind: VerdictKind, drafter: DrafterKind, sentence: str, advice: str) -> Verdict:
    return Verdict(
        usable=False, kind=kind, drafter=drafter, sentence=sentence, advice=advice, findings=()
    )
