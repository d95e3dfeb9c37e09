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
    number,
    promised_mtp_heads,
    why_no_text,
)
from specchat.pairing.findings import (
    Finding,
    count,
    findings_of_pair,
    findings_of_target,
    size_ratio,
)
from specchat.pairing.gguf_file import GgufFile
from specchat.pairing.vocabulary import vocabulary_of

VerdictKind = Literal[
    "fits",
    "too_large",
    "target_alone",
    "no_target",
    "no_draft",
    "drafter_unsupported",
    "other_vocabulary",
]
RUNS: set[DrafterKind] = {"model", "mtp"}
"""Drafters that this build can run; a model with MTP heads drafts as a model."""
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
    name, own = short_name(target), "It brings no drafter of its own"
    heads, promised = len(mtp_heads(target)), promised_mtp_heads(target)
    if heads:
        own = f"It has {count(heads, 'MTP head')} built in, which this build cannot run yet"
    elif promised:
        own = f"Its header promises {count(promised, 'MTP head')}, but the file has none"
    return Verdict(
        usable=True,
        kind="target_alone",
        drafter=drafter_kind(target),
        sentence=f"{name} can answer. {own}; n-grams of the conversation draft for it.",
        advice="Name a small model of the same family as DRAFT to see whether it fits.",
        findings=findings_of_target(target),
    )


def _judge_pair(target: GgufFile, draft: GgufFile) -> Verdict:
    obstacle = _not_a_target(target) or _no_pair(target, draft)
    if obstacle is not None:
        return obstacle
    vocabularies = vocabulary_of(target), vocabulary_of(draft)
    comparison = compare(*vocabularies)
    kind, sentence, advice = _pair_in_words(target, draft, comparison.ours)
    return Verdict(
        usable=kind in ("fits", "too_large"),
        kind=kind,
        drafter=drafter_kind(draft),
        sentence=sentence,
        advice=advice,
        findings=findings_of_pair(target, draft, vocabularies, comparison),
    )


def _pair_in_words(
    target: GgufFile, draft: GgufFile, difference: Difference | None
) -> tuple[VerdictKind, str, str]:
    """The verdict on two models that can both write text."""
    names = short_name(draft), short_name(target)
    cannot = f"{names[0]} cannot draft for {names[1]}."
    if difference is not None:
        other = "Choose a draft of the same family"
        if difference.topic in ("begin", "end"):
            other = "Look for a newer file of the draft, as this is often a publisher's mistake"
        return "other_vocabulary", f"{cannot} {difference.sentence}", f"{other}, or {LEAVE_IT_OUT}"
    if size_ratio(target, draft) >= 1:
        return (
            "too_large",
            f"{names[0]} can draft for {names[1]}, but it is too large to save time.",
            f"Choose a draft of a tenth of the target's size, or {LEAVE_IT_OUT}",
        )
    return (
        "fits",
        f"{names[0]} can draft for {names[1]}.",
        "Start the chat with --target and --draft.",
    )


def _not_a_target(target: GgufFile) -> Verdict | None:
    """Why a file can answer nobody."""
    kind, name = drafter_kind(target), short_name(target)
    if kind not in RUNS:
        words = f"{name} is {DRAFTER_NAMES[kind]}: it guesses for its target and answers nobody."
        return _dead_end("no_target", kind, words, "Name the model that it was made for as TARGET.")
    reason = why_no_text(target)
    if reason is not None:
        words = f"{name} cannot answer. {reason}"
        return _dead_end("no_target", kind, words, "Choose a chat model as TARGET.")
    return None


def _no_pair(target: GgufFile, draft: GgufFile) -> Verdict | None:
    """Why a file cannot draft for anybody with this build."""
    kind, name = drafter_kind(draft), short_name(draft)
    reason = why_no_text(draft)
    if kind in RUNS and reason is None:
        return None
    stand_in = LEAVE_IT_OUT[0].upper() + LEAVE_IT_OUT[1:]
    if kind in RUNS:
        words = f"{name} cannot draft for {short_name(target)}. {reason}"
        return _dead_end("no_draft", kind, words, stand_in)
    what = DRAFTER_NAMES[kind].partition(" ")[2]
    words = f"{name} is {DRAFTER_NAMES[kind]}; this build cannot run {what}s yet."
    misfit = _misfit(kind, target, draft)
    if misfit is not None:
        words += f" It would not fit either: {misfit}"
    return _dead_end("drafter_unsupported", kind, words, stand_in)


def _misfit(kind: DrafterKind, target: GgufFile, draft: GgufFile) -> str | None:
    """Why a head that reads a target's hidden states was not made for this one."""
    if kind == "eagle3":
        width = number(draft, "target_hidden_size")
    elif draft.architecture == "gemma4-assistant":
        width = number(draft, "embedding_length_out")
    else:
        width = number(draft, "embedding_length")
    own = number(target, "embedding_length")
    if width and own and width != own:
        return f"it was made for a target of width {width:,}, and this one has {own:,}."
    read = draft.metadata.get(f"{draft.architecture}.target_layers")
    layers = [layer for layer in read if isinstance(layer, int)] if isinstance(read, tuple) else []
    n_layers = number(target, "block_count")
    if layers and max(layers) > n_layers:
        return f"it reads layer {max(layers):,}, and the target has {n_layers:,}."
    return None


def _dead_end(kind: VerdictKind, drafter: DrafterKind, sentence: str, advice: str) -> Verdict:
    return Verdict(
        usable=False, kind=kind, drafter=drafter, sentence=sentence, advice=advice, findings=()
    )
