"""From measured answers to figures: medians, quartiles, ratios to plain, pooled counts."""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from specchat.bench.record import Answer, Difference, Row, Spread
from specchat.bench.variants import PLAIN
from specchat.speculation.controller import ReasonKind

DRIFT_ANSWERS = 6
"""Plain answers that it takes to tell a drift."""


def spread(values: Iterable[float]) -> Spread | None:
    """Median and quartiles, these by interpolation between the values; None without values."""
    sample = list(values)
    if len(sample) < 2:
        return Spread(sample[0], sample[0], sample[0]) if sample else None
    lower, median, upper = statistics.quantiles(sample, n=4, method="inclusive")
    return Spread(median, lower, upper)


def rows(
    variants: Sequence[str],
    sets: Sequence[str],
    answers: Sequence[Answer],
    differences: Sequence[Difference] | None,
) -> tuple[Row, ...]:
    """One row a variant for all sets, then for each set.

    Args:
        differences: None where texts were not compared.
    """
    speed_ups = _speed_ups(answers)
    found = []
    for name in (None, *sets):
        for variant in variants:
            places = [
                place
                for place, answer in enumerate(answers)
                if answer.variant == variant and name in (None, answer.set)
            ]
            different = differences and [
                each for each in differences if each.variant == variant and name in (None, each.set)
            ]
            found.append(
                _row(
                    variant,
                    name,
                    [answers[place] for place in places],
                    [speed_ups[place] for place in places if place in speed_ups],
                    None if different is None else len(different),
                )
            )
    return tuple(found)


def drift(answers: Sequence[Answer]) -> float | None:
    """How much faster plain decoding was in the last third than in the first: 0.1 is 10 %."""
    rates = [
        answer.tokens_per_second
        for answer in sorted(answers, key=lambda answer: answer.started_s)
        if answer.variant == PLAIN and answer.tokens_per_second is not None
    ]
    if len(rates) < DRIFT_ANSWERS:
        return None
    third = len(rates) // 3
    return statistics.median(rates[-third:]) / statistics.median(rates[:third]) - 1


def _speed_ups(answers: Sequence[Answer]) -> dict[int, float]:
    """For the place of an answer its rate against the plain one of the same turn."""
    plain = {
        (answer.set, answer.prompt, answer.repetition): _plain_rate(answer)
        for answer in answers
        if answer.variant == PLAIN
    }
    ratios = {}
    for place, answer in enumerate(answers):
        base = plain.get((answer.set, answer.prompt, answer.repetition))
        if base and answer.tokens_per_second is not None:
            ratios[place] = answer.tokens_per_second / base
    return ratios


def _plain_rate(answer: Answer) -> float | None:
    """Of a plain answer, without what it took to keep the snapshots that the others need."""
    if not answer.snapshots_s or answer.tokens_per_second is None:
        return answer.tokens_per_second
    return answer.emitted / (answer.decode_s - answer.snapshots_s)


def _row(
    variant: str,
    set: str | None,
    answers: Sequence[Answer],
    speed_ups: Sequence[float],
    different: int | None,
) -> Row:
    rates = [each.tokens_per_second for each in answers if each.tokens_per_second is not None]
    emitted = sum(answer.emitted for answer in answers)
    accepted = sum(answer.accepted for answer in answers)
    tested = _sum(answer.tested for answer in answers)
    rounds = _sum(answer.rounds for answer in answers)
    draft_s = _sum(answer.draft_s for answer in answers)
    decode_s = sum(answer.decode_s for answer in answers)
    calls_s = _sum(
        seconds for answer in answers for seconds in (answer.verify_s, answer.draft_decode_s)
    )
    step_back_s = _sum(answer.step_back_s for answer in answers)
    histogram = _add(answer.accepted_histogram for answer in answers)
    tested_at = _add(answer.tested_at for answer in answers)
    by_ngram = _sum(answer.accepted_ngram for answer in answers)
    reasons: Counter[ReasonKind] = Counter()
    for answer in answers:
        reasons.update(answer.reasons)
    return Row(
        variant=variant,
        set=set,
        answers=len(answers),
        tokens_per_second=spread(rates),
        speed_up=spread(speed_ups),
        emitted=emitted,
        drafted=sum(answer.drafted for answer in answers),
        accepted=accepted,
        tested=None if tested is None else int(tested),
        acceptance=accepted / tested if tested else None,
        tokens_per_round=emitted / rounds if rounds else None,
        draft_share=_part(draft_s, decode_s),
        of_limit=_part(calls_s, decode_s),
        step_back_share=_part(step_back_s, decode_s),
        acceptance_by_position=tuple(
            sum(histogram[i + 1 :]) / count for i, count in enumerate(tested_at) if count
        ),
        accepted_histogram=histogram,
        ngram_share=by_ngram / accepted if by_ngram is not None and accepted else None,
        reasons=dict(reasons.most_common()),
        different=different,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum, or None where one of them was not told."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _part(seconds: float | None, decode_s: float) -> float | None:
    return None if seconds is None or decode_s <= 0 else seconds / decode_s


def _add(counts: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Entry by entry; a shorter one ends with zeros."""
    total: list[int] = []
    for each in counts:
        total += [0] * (len(each) - len(total))
        for place, count in enumerate(each):
            total[place] += count
    return tuple(total)
