"""Whether a draft can guess for its target, before the target's weights are read."""

from specchat.errors import DraftMismatch
from specchat.pairing.compatibility import vocabulary_difference
from specchat.pairing.drafter_type import drafter_kind
from specchat.pairing.gguf_file import GgufFile
from specchat.pairing.head_fit import HEADS
from specchat.pairing.verdict import judge, short_name
from specchat.pairing.vocabulary import vocabulary_of

OBJECTIONS = ("other_vocabulary", "other_target", "no_draft")
"""Verdicts that are about the draft. Whether a state can step back the engine knows better."""


def mismatch(target: GgufFile, draft: GgufFile) -> DraftMismatch | None:
    """Why the draft is of no use, in the words of the engine; None: it is, or the engine knows."""
    verdict = judge(target, draft)
    if verdict.kind not in OBJECTIONS:
        return None
    tried = f"Tried to draft with {short_name(draft)} for {short_name(target)}."
    if verdict.kind != "other_vocabulary":
        return DraftMismatch(tried, verdict.sentence, verdict.advice)
    is_head = drafter_kind(draft) in HEADS
    difference = vocabulary_difference(vocabulary_of(target), vocabulary_of(draft), is_head=is_head)
    return DraftMismatch(
        tried,
        difference or verdict.sentence,
        "Choose a draft of the same family, or leave --draft out to draft by n-grams.",
    )
