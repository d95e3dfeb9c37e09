"""Whether a draft can guess for its target, before the target's weights are read."""

from specchat.errors import DraftMismatch
from specchat.pairing.compatibility import vocabulary_difference
from specchat.pairing.gguf_file import GgufFile
from specchat.pairing.verdict import judge, short_name
from specchat.pairing.vocabulary import vocabulary_of


def mismatch(target: GgufFile, draft: GgufFile) -> DraftMismatch | None:
    """Why the draft is of no use, in the words of the engine; None: it is, or the engine knows.

    What the target itself lacks is not the draft's fault, and is told once it is loaded.
    """
    verdict = judge(target, draft)
    if verdict.usable or verdict.kind in ("no_target", "target_cannot_step_back"):
        return None
    tried = f"Tried to draft with {short_name(draft)} for {short_name(target)}."
    if verdict.kind == "other_vocabulary":
        difference = vocabulary_difference(vocabulary_of(target), vocabulary_of(draft))
        return DraftMismatch(
            tried,
            difference or verdict.sentence,
            "Choose a draft of the same family, or leave --draft out to draft by n-grams.",
        )
    if verdict.kind == "draft_cannot_step_back":
        return DraftMismatch(
            tried,
            f"Its architecture, {draft.architecture}, keeps a state that cannot step back.",
            "Choose a draft with a plain KV cache.",
        )
    return DraftMismatch(tried, verdict.sentence, verdict.advice)
