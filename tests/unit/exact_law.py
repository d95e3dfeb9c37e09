"""The exact law of what a rule of verification emits.

What a rule does between two random numbers is not computed again here but found out by asking it:
the cells in which it answers alike are measured by bisection.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from specchat.speculation.distribution import Distribution
from specchat.speculation.verify import Verdict

EXACT = 1e-12
JUST_UNDER_ONE = math.nextafter(1.0, 0.0)

Text = tuple[int, ...]
Uniform = Callable[[], float]
Model = Callable[[Text], Distribution]
LengthRule = Callable[[Text], bool]
"""Whether to draft another letter after these."""
Rule = Callable[
    [Sequence[int], Sequence[Distribution], Sequence[Distribution] | None, Uniform], Verdict
]


def random_model(seed: int, *, letters: int = 3, impossible: float = 0.0) -> Model:
    """A distribution for every prefix; some letters of some have none."""
    random = np.random.default_rng(seed)
    rows: dict[Text, Distribution] = {}

    def row(prefix: Text) -> Distribution:
        if prefix not in rows:
            probabilities = random.dirichlet(np.ones(letters))
            gone = random.random(letters) < impossible
            gone[random.integers(letters)] = False
            ids = np.flatnonzero(~gone)
            rows[prefix] = Distribution(ids, probabilities[ids] / probabilities[ids].sum())
        return rows[prefix]

    return row


def up_to(length: int) -> LengthRule:
    """Draft this many letters, whichever they are."""
    return lambda prefix: len(prefix) < length


def chance(model: Model, text: Text, start: int = 0) -> float:
    """The chance that the model writes on like this from `start`."""
    return math.prod(
        model(text[:index]).probability(text[index]) for index in range(start, len(text))
    )


def drafts(model: Model, drafts_on: LengthRule, prefix: Text = ()) -> Iterator[Text]:
    """Every draft that is possible."""
    if not drafts_on(prefix):
        yield prefix
        return
    for letter in model(prefix).ids:
        yield from drafts(model, drafts_on, (*prefix, int(letter)))


class MoreAskedFor(Exception):
    """The rule wants one more random number."""


def scripted(numbers: Sequence[float], then: float | None = None) -> Uniform:
    """These random numbers, then one for ever, or none."""
    remaining = iter(numbers)

    def uniform() -> float:
        number = next(remaining, then)
        if number is None:
            raise MoreAskedFor
        return number

    return uniform


def law_of_verdicts(
    verify: Callable[[Uniform], Verdict], numbers: tuple[float, ...] = ()
) -> dict[Verdict, float]:
    """Every outcome and the measure of the random numbers that lead to it."""
    try:
        return {verify(scripted(numbers)): 1.0}
    except MoreAskedFor:
        pass

    def answers(number: float) -> list[Verdict]:
        # Whichever way the later numbers fall, lest one of them hides what this one decides.
        return [verify(scripted([*numbers, number], then)) for then in (0.0, JUST_UNDER_ONE)]

    law: dict[Verdict, float] = defaultdict(float)
    for start, end in cells(answers):
        for verdict, measure in law_of_verdicts(verify, (*numbers, start)).items():
            law[verdict] += measure * (end - start)
    return law


def cells(answers: Callable[[float], list[Verdict]]) -> list[tuple[float, float]]:
    """The intervals of [0, 1) in which the answers stay the same."""

    def ends(
        low: float, seen_low: list[Verdict], high: float, seen_high: list[Verdict]
    ) -> Iterator[float]:
        if seen_low == seen_high:
            return
        middle = (low + high) / 2
        if high - low < 2**-52 or middle in (low, high):
            yield high
            return
        seen = answers(middle)
        yield from ends(low, seen_low, middle, seen)
        yield from ends(middle, seen, high, seen_high)

    inner = ends(0.0, answers(0.0), JUST_UNDER_ONE, answers(JUST_UNDER_ONE))
    edges = [0.0, *inner, 1.0]
    return list(itertools.pairwise(edges))


def outcomes(
    rule: Rule, target: Model, draft: Model, drafts_on: LengthRule, reported: Model | None
) -> Iterator[tuple[Text, Verdict, float]]:
    """Every draft, every verdict on it, and the chance of both."""
    for drafted in drafts(draft, drafts_on):
        prefixes = [drafted[:index] for index in range(len(drafted) + 1)]
        rows = [target(prefix) for prefix in prefixes]
        told = None if reported is None else [reported(prefix) for prefix in prefixes[:-1]]

        def verify(
            uniform: Uniform,
            drafted: Text = drafted,
            rows: list[Distribution] = rows,
            told: list[Distribution] | None = told,
        ) -> Verdict:
            return rule(drafted, rows, told, uniform)

        for verdict, measure in law_of_verdicts(verify).items():
            yield drafted, verdict, measure * chance(draft, drafted)


def law_of_text(
    rule: Rule,
    target: Model,
    draft: Model,
    drafts_on: LengthRule,
    length: int,
    *,
    reported: Model | None,
    letters: int = 3,
) -> dict[Text, float]:
    """The law of the first letters: one round, then the target alone.

    Args:
        reported: what the rule is told that the draft was drawn from; None: nothing.
    """
    law: dict[Text, float] = defaultdict(float)
    for drafted, verdict, measure in outcomes(rule, target, draft, drafts_on, reported):
        said = (*drafted[: verdict.accepted], verdict.token)
        for rest in itertools.product(range(letters), repeat=length - len(said)):
            text = (*said, *rest)
            law[text] += measure * chance(target, text, len(said))
    return law


def expected_kept(rule: Rule, target: Model, draft: Model, drafts_on: LengthRule) -> float:
    """How many drafted letters a round keeps."""
    return sum(
        verdict.accepted * measure
        for _, verdict, measure in outcomes(rule, target, draft, drafts_on, draft)
    )


def furthest_from_the_target(
    law: dict[Text, float], target: Model, length: int, *, letters: int = 3
) -> float:
    """The largest error of the law, over all texts of this length."""
    return max(
        abs(law.get(text, 0.0) - chance(target, text))
        for text in itertools.product(range(letters), repeat=length)
    )
