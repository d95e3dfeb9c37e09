"""How long drafts were in the course of an answer."""

from collections.abc import Sequence

from specchat.bench.record import Answer, Record
from specchat.speculation.settings import SpeculationSettings

TOKENS_A_POINT = 8
LINES = 3


def deciding_variants(record: Record) -> list[str]:
    """Variants whose draft length is not the same in every round; automatic ones come first.

    An n-gram drafter finds nothing in many rounds. A draft model with a fixed length always
    drafts it.
    """
    found = [
        (isinstance(each.speculation.draft_length, int), each.name)
        for each in record.variants
        if each.speculation is not None
        and not _is_steady(each.speculation)
        and record.row(each.name).drafted
    ]
    return [name for _, name in sorted(found, key=lambda entry: entry[0])][:LINES]


def lengths_over_time(answers: Sequence[Answer], max_tokens: int) -> list[tuple[float, float]]:
    """Mean tokens drafted a round, by how many tokens of the answer were there.

    Rounds near the end, where the answer's limit and nobody's choice cuts drafts short, are left
    out.

    Returns:
        Points (tokens emitted, mean length), each over `TOKENS_A_POINT` tokens.
    """
    sums: dict[int, list[int]] = {}
    for answer in answers:
        emitted = 0
        longest = max(answer.lengths, default=0)
        for length, kept in zip(answer.lengths, answer.kept, strict=True):
            if max_tokens - emitted - 1 < longest:
                break
            sums.setdefault(emitted // TOKENS_A_POINT, []).append(length)
            emitted += kept + 1
    return [
        (place * TOKENS_A_POINT, sum(lengths) / len(lengths))
        for place, lengths in sorted(sums.items())
    ]


def _is_steady(speculation: SpeculationSettings) -> bool:
    fixed = isinstance(speculation.draft_length, int)
    return speculation.drafter == "none" or (fixed and speculation.drafter == "model")
