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
    """Why a draft's tokens mean something else to the target."""

    topic: Topic
    sentence: str


@dataclass(frozen=True)
class Comparison:
    """What two vocabularies have against each other, by our rule and by llama.cpp's.

    llama.cpp's is `common_speculative_are_compatible`. Ours is the same, but a hole on either side
    is no difference. A hole is an id that stands for nothing: `[PAD7]` at id 7, where the matrix
    has more rows than the tokenizer has tokens. No text has it, and the target refuses it as a
    guess.
    """

    ours: Difference | None
    llama_cpp: Difference | None
    n_holes: int = 0
    """Ids that both have, and that stand for a token on one side only."""


def vocabulary_difference(
    target: VocabularyFacts, draft: VocabularyFacts, *, is_head: bool = False
) -> str | None:
    """Why the draft's tokens mean something else to the target, or None if they mean the same."""
    difference = compare(target, draft, is_head=is_head).ours
    return difference.sentence if difference is not None else None


def compare(
    target: VocabularyFacts, draft: VocabularyFacts, *, is_head: bool = False
) -> Comparison:
    """The first difference by either rule; the texts are gone through once.

    Args:
        is_head: the draft may share the target's matrices, so that it needs as many tokens; how
            texts of its own would begin and end does not matter.
    """
    found = _added_otherwise(target, draft)
    if is_head and found is not None and found.topic != "tokenizer":
        found = None
    size = _size_difference(target.texts, draft.texts, most=0 if is_head else MAX_SIZE_DIFFERENCE)
    in_the_way = size is not None and (is_head or not _ends_in_holes(target.texts, draft.texts))
    if found is not None or in_the_way:
        return Comparison(found or size, found or size)
    differing = _differing(target.texts, draft.texts)
    real = [
        index
        for index in differing
        if not (_is_hole(index, target.texts[index]) or _is_hole(index, draft.texts[index]))
    ]
    return Comparison(
        ours=_text_difference(target, draft, real),
        llama_cpp=size or _text_difference(target, draft, differing),
        n_holes=len(differing) - len(real),
    )


def _added_otherwise(target: VocabularyFacts, draft: VocabularyFacts) -> Difference | None:
    if target.kind != draft.kind:
        return Difference("tokenizer", "It uses another kind of tokenizer than the target.")
    if target.adds_bos != draft.adds_bos or (target.adds_bos and target.bos != draft.bos):
        return Difference("begin", "It begins a text with another token than the target.")
    if target.adds_eos != draft.adds_eos or (target.adds_eos and target.eos != draft.eos):
        return Difference("end", "It ends a text with another token than the target.")
    return None


def _size_difference(
    target: Sequence[bytes], draft: Sequence[bytes], *, most: int
) -> Difference | None:
    if abs(len(target) - len(draft)) <= most:
        return None
    words = f"Its vocabulary has {len(draft):,} tokens, the target's has {len(target):,}."
    return Difference("size", words)


def _ends_in_holes(one: Sequence[bytes], other: Sequence[bytes]) -> bool:
    """Whether all that only one of them has stands for nothing."""
    longer, shared = max(one, other, key=len), min(len(one), len(other))
    return all(_is_hole(index, longer[index]) for index in range(shared, len(longer)))


def _differing(one: Sequence[bytes], other: Sequence[bytes]) -> list[int]:
    """Compared ids that both have and whose texts differ."""
    if one == other:
        return []
    pairs = enumerate(zip(one, other, strict=False))
    return [index for index, (left, right) in pairs if left != right and index >= FIRST_COMPARED]


def _text_difference(
    target: VocabularyFacts, draft: VocabularyFacts, differing: Sequence[int]
) -> Difference | None:
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


def _is_hole(index: int, text: bytes) -> bool:
    """Whether a converter wrote this for want of a token (conversion/base.py)."""
    return text.startswith(b"[PAD") and text == b"[PAD%d]" % index
