"""Whether a draft speaks the target's vocabulary. Plain data in, plain words out."""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_SIZE_DIFFERENCE = 128
FIRST_COMPARED = 5
"""llama.cpp compares token texts from this id on (common/speculative.cpp)."""


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


def vocabulary_difference(target: VocabularyFacts, draft: VocabularyFacts) -> str | None:
    """Why the draft's tokens mean something else to the target, or None if they mean the same.

    The rule is llama.cpp's (`common_speculative_are_compatible`).
    """
    if target.kind != draft.kind:
        return "It uses another kind of tokenizer than the target."
    if target.adds_bos != draft.adds_bos or (target.adds_bos and target.bos != draft.bos):
        return "It begins a text with another token than the target."
    if target.adds_eos != draft.adds_eos or (target.adds_eos and target.eos != draft.eos):
        return "It ends a text with another token than the target."
    sizes = len(target.texts), len(draft.texts)
    if abs(sizes[0] - sizes[1]) > MAX_SIZE_DIFFERENCE:
        return f"Its vocabulary has {sizes[1]:,} tokens, the target's has {sizes[0]:,}."
    for index in range(FIRST_COMPARED, min(sizes)):
        if target.texts[index] != draft.texts[index]:
            texts = [side.texts[index].decode(errors="replace") for side in (target, draft)]
            return f"Token {index:,} is {texts[0]!r} for the target and {texts[1]!r} for the draft."
    return None
