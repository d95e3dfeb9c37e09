"""Whether a draft speaks the target's vocabulary. Plain data in, plain words out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

MAX_SIZE_DIFFERENCE = 128
FIRST_COMPARED = 5
"""llama.cpp compares token texts from this id on (common/speculative.cpp)."""
SHOWN_LETTERS = 40

Topic = Literal["tokenizer", "begin", "end", "size", "text"]


@dataclass(frozen=True)
class VocabularyFacts:
    """What two vocabularies are compared by."""

    kind: int
    """`enum llama_vocab_type`."""
    adds_bos: bool
    bos: int
    adds_eos: bool
    eos: int
    texts: Sequence[bytes]
    """The text of every token, by id."""


@dataclass(frozen=True)
class Difference:
    """The first reason why a draft's tokens mean something else to the target."""

    topic: Topic
    sentence: str


def vocabulary_difference(target: VocabularyFacts, draft: VocabularyFacts) -> str | None:
    """Why the draft's tokens mean something else to the target, or None if they mean the same."""
    difference = first_difference(target, draft)
    return difference.sentence if difference is not None else None


def first_difference(target: VocabularyFacts, draft: VocabularyFacts) -> Difference | None:
    """Our rule: llama.cpp's, but a hole on either side is no difference.

    A hole is an id that stands for nothing: `[PAD7]` at id 7, where the matrix has more rows than
    the tokenizer has tokens. Nobody writes it, and a guess of it is refused by the target.
    """
    return _difference(target, draft, holes_count=False)


def llama_cpp_difference(target: VocabularyFacts, draft: VocabularyFacts) -> Difference | None:
    """What llama.cpp itself objects to (`common_speculative_are_compatible`)."""
    return _difference(target, draft, holes_count=True)


def differing_tokens(
    target: VocabularyFacts, draft: VocabularyFacts, *, holes_count: bool
) -> list[int]:
    """Ids of the part that both have, from `FIRST_COMPARED` on, whose texts differ."""
    if target.texts == draft.texts:
        return []
    pairs = zip(target.texts, draft.texts, strict=False)
    return [
        index
        for index, (one, other) in enumerate(pairs)
        if one != other
        and index >= FIRST_COMPARED
        and (holes_count or not (_is_hole(index, one) or _is_hole(index, other)))
    ]


def _difference(
    target: VocabularyFacts, draft: VocabularyFacts, *, holes_count: bool
) -> Difference | None:
    if target.kind != draft.kind:
        return Difference("tokenizer", "It uses another kind of tokenizer than the target.")
    if target.adds_bos != draft.adds_bos or (target.adds_bos and target.bos != draft.bos):
        return Difference("begin", "It begins a text with another token than the target.")
    if target.adds_eos != draft.adds_eos or (target.adds_eos and target.eos != draft.eos):
        return Difference("end", "It ends a text with another token than the target.")
    sizes = len(target.texts), len(draft.texts)
    if _sizes_differ(target.texts, draft.texts, holes_count=holes_count):
        words = f"Its vocabulary has {sizes[1]:,} tokens, the target's has {sizes[0]:,}."
        return Difference("size", words)
    differing = differing_tokens(target, draft, holes_count=holes_count)
    if not differing:
        return None
    index = differing[0]
    texts = [shown_text(side.texts[index]) for side in (target, draft)]
    words = f"Token {index:,} is {texts[0]} for the target and {texts[1]} for the draft."
    if len(differing) > 1:
        words += f" {len(differing):,} tokens differ."
    return Difference("text", words)


def shown_text(text: bytes) -> str:
    """A token's text in quotes, without escape codes and not endless."""
    return repr(text[:SHOWN_LETTERS].decode(errors="replace"))


def _sizes_differ(target: Sequence[bytes], draft: Sequence[bytes], *, holes_count: bool) -> bool:
    shared = min(len(target), len(draft))
    longer = target if len(target) > shared else draft
    if len(longer) - shared <= MAX_SIZE_DIFFERENCE:
        return False
    return holes_count or not all(
        _is_hole(index, longer[index]) for index in range(shared, len(longer))
    )


def _is_hole(index: int, text: bytes) -> bool:
    """Whether a converter wrote this for want of a token (conversion/base.py)."""
    return text.startswith(b"[PAD") and text == b"[PAD%d]" % index
