"""What two headers say side by side, one sentence a subject."""

from typing import Literal

import msgspec

from specchat.architectures import KEEPS_SNAPSHOTS
from specchat.pairing.compatibility import Comparison, VocabularyFacts, shown_text
from specchat.pairing.drafter_type import (
    DRAFTER_NAMES,
    MEMORY_NAMES,
    drafter_kind,
    memory_kind,
    mtp_heads,
    number,
    promised_mtp_heads,
)
from specchat.pairing.gguf_file import GgufFile
from specchat.pairing.head_fit import (
    built_in_heads,
    layers_read,
    n_known_tokens,
    n_own_layers,
    target_width,
)
from specchat.pairing.shape import MOST_SNAPSHOTS
from specchat.pairing.vocabulary import (
    KIND_NAMES,
    NO_TOKEN,
    SPECIAL_TOKENS,
    special_tokens,
)

Topic = Literal[
    "drafter",
    "target",
    "vocabulary",
    "begin and end",
    "special tokens",
    "chat template",
    "context",
    "size",
    "memory",
    "llama.cpp",
]
Level = Literal["good", "note", "problem"]
"""A problem stands in the way; a note is worth knowing."""

TEMPLATE = "tokenizer.chat_template"
LITTLE_TO_GAIN = 0.5
"""Of the target's bytes: a draft this large takes half as long a token."""


class Finding(msgspec.Struct, frozen=True):
    """What was found on one subject."""

    topic: Topic
    level: Level
    sentence: str


def findings_of_target(target: GgufFile) -> tuple[Finding, ...]:
    """What matters of a target alone."""
    return (_heads(target), _target_memory(target), _own_context(target), _own_template(target))


def findings_of_pair(
    target: GgufFile,
    draft: GgufFile,
    vocabularies: tuple[VocabularyFacts, VocabularyFacts],
    comparison: Comparison,
) -> tuple[Finding, ...]:
    """What matters of two models of which one drafts for the other."""
    comparable = vocabularies[0].kind == vocabularies[1].kind
    return (
        _drafter(target, draft),
        _vocabulary(*vocabularies, comparison),
        *((_begin_and_end(*vocabularies), _special_tokens(target, draft)) if comparable else ()),
        _chat_template(target, draft),
        _context(target, draft),
        _size(target, draft),
        _memory(target, draft),
        _llama_cpp(comparison),
    )


def findings_of_head(
    target: GgufFile,
    head: GgufFile,
    vocabularies: tuple[VocabularyFacts, VocabularyFacts],
    comparison: Comparison,
) -> tuple[Finding, ...]:
    """What matters of a target and a head that was trained for it."""
    return (
        _drafter(target, head),
        _made_for(target, head),
        _vocabulary(*vocabularies, comparison),
        _size(target, head),
        _target_memory(target),
    )


def context_length(file: GgufFile) -> int:
    """Tokens that it was trained for; 0 if the file does not say."""
    return number(file, "context_length")


def count(amount: int, noun: str) -> str:
    """An amount with its noun, as in `1 head`, `2 heads`."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"


def _heads(target: GgufFile) -> Finding:
    heads, promised = len(mtp_heads(target)), promised_mtp_heads(target)
    if built_in_heads(target):
        words = f"It has {count(heads, 'MTP head')} built in."
        return Finding("drafter", "good", words)
    if heads:
        words = f"llama.cpp has no way to run its {count(heads, 'MTP head')}."
        return Finding("drafter", "note", words)
    if promised:
        words = f"Its header promises {count(promised, 'MTP head')}; the file has none."
        return Finding("drafter", "note", words)
    return Finding("drafter", "good", "It brings no drafter of its own.")


def _drafter(target: GgufFile, draft: GgufFile) -> Finding:
    what = DRAFTER_NAMES[drafter_kind(draft)]
    words = f"{what[0].upper()}{what[1:]}."
    known = n_known_tokens(draft)
    if known is not None:
        words += f" It guesses {known:,} of {len(target.tokens):,} tokens."
    heads = built_in_heads(target)
    if heads:
        own = count(heads, "MTP head")
        words += f" The target has {own} of its own, for a chat without --draft."
    return Finding("drafter", "note" if heads else "good", words)


def _made_for(target: GgufFile, head: GgufFile) -> Finding:
    width, layers = target_width(head), layers_read(head)
    words = f"It was made for a target of width {width:,}" if width else "The file does not say"
    if layers:
        listed = ", ".join(f"{layer:,}" for layer in layers)
        words += f", and reads the layers {listed} of {n_own_layers(target):,}"
    return Finding("target", "good", f"{words}.")


def _vocabulary(target: VocabularyFacts, draft: VocabularyFacts, comparison: Comparison) -> Finding:
    kinds = [KIND_NAMES.get(side.kind, "an unknown kind") for side in (target, draft)]
    if kinds[0] != kinds[1]:
        words = f"The target's tokenizer is {kinds[0]}, the draft's {kinds[1]}."
        return Finding("vocabulary", "problem", words)
    difference = comparison.ours
    if difference is not None and difference.topic in ("size", "text"):
        return Finding("vocabulary", "problem", difference.sentence)
    sizes = len(target.texts), len(draft.texts)
    words = f"Both have {sizes[0]:,} tokens ({kinds[0]})"
    if sizes[0] != sizes[1]:
        words = f"The target has {sizes[0]:,} tokens, the draft {sizes[1]:,} ({kinds[0]})"
    if difference is not None:  # how texts begin and end is a subject of its own
        return Finding("vocabulary", "good", f"{words}.")
    if comparison.n_holes:
        words += f"; for {count(comparison.n_holes, 'id')} only one side has a token."
        return Finding("vocabulary", "note", words)
    return Finding("vocabulary", "good", f"{words}, with the same texts.")


def _begin_and_end(target: VocabularyFacts, draft: VocabularyFacts) -> Finding:
    """Only what is added by itself: the other special tokens are a subject of their own."""
    sides = [_added(side) for side in (target, draft)]
    if sides[0] == sides[1]:
        return Finding("begin and end", "good", f"Both add {sides[0]}.")
    words = f"The target adds {sides[0]}, the draft {sides[1]}."
    return Finding("begin and end", "problem", words)


def _added(side: VocabularyFacts) -> str:
    added = [
        f"{_token(side, token)} at the {place}"
        for adds, token, place in (
            (side.adds_bos, side.bos, "beginning"),
            (side.adds_eos, side.eos, "end"),
        )
        if adds
    ]
    return " and ".join(added) or "nothing"


def _token(side: VocabularyFacts, token: int) -> str:
    return f"token {token:,} {shown_text(side.texts[token])}" if token >= 0 else "no token"


def _special_tokens(target: GgufFile, draft: GgufFile) -> Finding:
    ids = special_tokens(target), special_tokens(draft)
    differing = [
        f"{words} is {_id(ids[0][name])} for the target and {_id(ids[1][name])} for the draft"
        for name, words in SPECIAL_TOKENS.items()
        if ids[0][name] != ids[1][name]
    ]
    if not differing:
        return Finding("special tokens", "good", "The same.")
    return Finding("special tokens", "note", f"{'; '.join(differing)}. The target's are used.")


def _id(token: int) -> str:
    return "none" if token == NO_TOKEN else str(token)


def _chat_template(target: GgufFile, draft: GgufFile) -> Finding:
    templates = [side.metadata.get(TEMPLATE) for side in (target, draft)]
    if templates[0] is None:
        words = "The target has none: it writes on from your text."
        return Finding("chat template", "note", words)
    if templates[0] == templates[1]:
        return Finding("chat template", "good", "The same.")
    words = "They differ" if templates[1] is not None else "The draft has none"
    return Finding("chat template", "note", f"{words}; the target's is used for both.")


def _own_template(target: GgufFile) -> Finding:
    if TEMPLATE in target.metadata:
        return Finding("chat template", "good", "It has one.")
    return Finding("chat template", "note", "It has none: it writes on from your text.")


def _own_context(target: GgufFile) -> Finding:
    length = context_length(target)
    words = f"It was trained for {length:,} tokens." if length else "The file does not say."
    return Finding("context", "good" if length else "note", words)


def _context(target: GgufFile, draft: GgufFile) -> Finding:
    lengths = context_length(target), context_length(draft)
    if 0 in lengths:
        return Finding("context", "note", "The files do not say.")
    words = f"The target was trained for {lengths[0]:,} tokens, the draft for {lengths[1]:,}"
    if lengths[1] < lengths[0]:
        return Finding("context", "note", f"{words}: further on its guesses get worse.")
    return Finding("context", "good", f"{words}.")


def size_ratio(target: GgufFile, draft: GgufFile) -> float:
    """The draft's bytes by the target's."""
    return draft.size_bytes / max(1, target.size_bytes)


def _size(target: GgufFile, draft: GgufFile) -> Finding:
    ratio = size_ratio(target, draft)
    words = f"The draft has {ratio:.0%} of the target's bytes."
    if ratio >= 1:
        return Finding("size", "note", f"{words} It cannot save time.")
    if ratio >= LITTLE_TO_GAIN:
        return Finding("size", "note", f"{words} There is little to gain.")
    return Finding("size", "good", words)


def _target_memory(target: GgufFile) -> Finding:
    words = MEMORY_NAMES[memory_kind(target)]
    return Finding("memory", *_undone(target, f"{words[0].upper()}{words[1:]}"))


def _undone(target: GgufFile, words: str) -> tuple[Level, str]:
    """How guesses for a target are taken back."""
    if memory_kind(target) not in ("recurrent", "hybrid"):
        return "good", f"{words}: guesses can be undone."
    if target.architecture in KEEPS_SNAPSHOTS:
        return "good", f"{words}: snapshots of it undo guesses, up to {MOST_SNAPSHOTS} at once."
    return "note", f"{words}: after a wrong guess, what was right is decoded once more."


def _memory(target: GgufFile, draft: GgufFile) -> Finding:
    kinds = [MEMORY_NAMES[memory_kind(side)] for side in (target, draft)]
    if kinds[0] == kinds[1]:
        return Finding("memory", *_undone(target, f"Both have a {kinds[0]}"))
    return Finding(
        "memory", *_undone(target, f"The draft has a {kinds[1]}, the target a {kinds[0]}")
    )


def _llama_cpp(comparison: Comparison) -> Finding:
    difference = comparison.llama_cpp
    if difference is None:
        return Finding("llama.cpp", "good", "Its own rule takes these vocabularies.")
    return Finding("llama.cpp", "note", f"Its own rule refuses them. {difference.sentence}")
