"""Losslessness, exactly: over every draft and every cell of the random numbers that a rule asks
for, the emitted text has the target's own law.

What the rule does between two random numbers is not computed again here but found out by asking
it: the cells in which it answers alike are measured by bisection.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.speculation.distribution import Distribution
from specchat.speculation.verify import Verdict, verify_greedy, verify_token

LETTERS = 3
EXACT = 1e-12
JUST_UNDER_ONE = math.nextafter(1.0, 0.0)

Text = tuple[int, ...]
Model = Callable[[Text], Distribution]
LengthRule = Callable[[Text], bool]
"""Whether to draft another letter after these."""


def random_model(seed: int, *, impossible: float = 0.0) -> Model:
    """A distribution for every prefix; some letters of some have none."""
    random = np.random.default_rng(seed)
    rows: dict[Text, Distribution] = {}

    def row(prefix: Text) -> Distribution:
        if prefix not in rows:
            probabilities = random.dirichlet(np.ones(LETTERS))
            gone = random.random(LETTERS) < impossible
            gone[random.integers(LETTERS)] = False
            ids = np.flatnonzero(~gone)
            rows[prefix] = Distribution(ids, probabilities[ids] / probabilities[ids].sum())
        return rows[prefix]

    return row


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


def scripted(numbers: Sequence[float], then: float | None = None) -> Callable[[], float]:
    """These random numbers, then one for ever, or none."""
    remaining = iter(numbers)

    def uniform() -> float:
        number = next(remaining, then)
        if number is None:
            raise MoreAskedFor
        return number

    return uniform


def law_of_verdicts(
    verify: Callable[[Callable[[], float]], Verdict], numbers: Text | tuple[float, ...] = ()
) -> dict[Verdict, float]:
    """Every outcome and the measure of the random numbers that lead to it."""
    try:
        return {verify(scripted(numbers)): 1.0}
    except MoreAskedFor:
        pass
    law: dict[Verdict, float] = defaultdict(float)
    for start, end in cells(lambda number: verify(scripted([*numbers, number], then=0.0))):
        for verdict, measure in law_of_verdicts(verify, (*numbers, start)).items():
            law[verdict] += measure * (end - start)
    return law


def cells(answer: Callable[[float], Verdict]) -> list[tuple[float, float]]:
    """The intervals of [0, 1) in which the answer stays the same."""

    def ends(low: float, seen_low: Verdict, high: float, seen_high: Verdict) -> Iterator[float]:
        if seen_low == seen_high:
            return
        middle = (low + high) / 2
        if high - low < 2**-52 or middle in (low, high):
            yield high
            return
        seen = answer(middle)
        yield from ends(low, seen_low, middle, seen)
        yield from ends(middle, seen, high, seen_high)

    inner = ends(0.0, answer(0.0), JUST_UNDER_ONE, answer(JUST_UNDER_ONE))
    edges = [0.0, *inner, 1.0]
    return list(itertools.pairwise(edges))


def law_of_text(
    target: Model, draft: Model, drafts_on: LengthRule, length: int, *, reported: Model | None
) -> dict[Text, float]:
    """The law of the first letters: one round, then the target alone.

    Args:
        reported: what the rule is told that the draft was drawn from; None: nothing.
    """
    law: dict[Text, float] = defaultdict(float)
    for drafted in drafts(draft, drafts_on):
        prefixes = [drafted[:index] for index in range(len(drafted) + 1)]
        rows = [target(prefix) for prefix in prefixes]
        told = None if reported is None else [reported(prefix) for prefix in prefixes[:-1]]

        def verify(
            uniform: Callable[[], float],
            drafted: Text = drafted,
            rows: list[Distribution] = rows,
            told: list[Distribution] | None = told,
        ) -> Verdict:
            return verify_token(drafted, rows, told, uniform)

        for verdict, measure in law_of_verdicts(verify).items():
            said = (*drafted[: verdict.accepted], verdict.token)
            for rest in itertools.product(range(LETTERS), repeat=length - len(said)):
                text = (*said, *rest)
                law[text] += chance(draft, drafted) * measure * chance(target, text, len(said))
    return law


def furthest_from_the_target(law: dict[Text, float], target: Model, length: int) -> float:
    return max(
        abs(law.get(text, 0.0) - chance(target, text))
        for text in itertools.product(range(LETTERS), repeat=length)
    )


@pytest.mark.parametrize("impossible", [0.0, 0.4], ids=["dense", "with-impossible-letters"])
@pytest.mark.parametrize(("drafted", "models"), [(1, 20), (2, 10), (3, 5), (4, 1)])
def test_the_text_has_the_targets_law_whatever_the_draft(
    drafted: int, models: int, impossible: float
) -> None:
    for seed in range(models):
        target = random_model(2 * seed, impossible=impossible)
        draft = random_model(2 * seed + 1, impossible=impossible)
        law = law_of_text(
            target, draft, lambda prefix: len(prefix) < drafted, drafted + 1, reported=draft
        )

        assert furthest_from_the_target(law, target, drafted + 1) < EXACT


@pytest.mark.parametrize("seed", range(3))
def test_the_law_stays_when_the_draft_length_depends_on_what_was_drafted(seed: int) -> None:
    target, draft = random_model(100 + seed), random_model(200 + seed, impossible=0.2)

    def drafts_on(prefix: Text) -> bool:
        sure = draft(prefix).probabilities.max() > 0.6
        return len(prefix) < 3 and (sure or prefix in ((), (1,)))

    law = law_of_text(target, draft, drafts_on, 4, reported=draft)

    assert len({len(drafted) for drafted in drafts(draft, drafts_on)}) > 1
    assert furthest_from_the_target(law, target, 4) < EXACT


@pytest.mark.parametrize("drafted", itertools.product(range(LETTERS), repeat=2))
def test_a_draft_proposed_with_certainty_needs_no_distributions(drafted: Text) -> None:
    target = random_model(5, impossible=0.3)

    def always(prefix: Text) -> Distribution:
        return Distribution.certain(drafted[len(prefix)])

    law = law_of_text(target, always, lambda prefix: len(prefix) < 2, 3, reported=None)

    assert furthest_from_the_target(law, target, 3) < EXACT


def test_the_enumeration_notices_a_draft_drawn_from_something_else_than_reported() -> None:
    target, draft, reported = random_model(1), random_model(2), random_model(3)
    law = law_of_text(target, draft, lambda prefix: len(prefix) < 2, 3, reported=reported)

    assert furthest_from_the_target(law, target, 3) > 0.01


@pytest.mark.parametrize("seed", range(5))
def test_a_draft_token_is_kept_as_often_as_any_lossless_rule_can_keep_it(seed: int) -> None:
    target, draft = random_model(seed)(()), random_model(50 + seed)(())
    kept = 0.0
    for token in range(LETTERS):

        def verify(uniform: Callable[[], float], token: int = token) -> Verdict:
            return verify_token([token], [target, target], [draft], uniform)

        law = law_of_verdicts(verify)
        kept += draft.probability(token) * sum(
            measure for verdict, measure in law.items() if verdict.accepted == 1
        )

    overlap = sum(min(target.probability(x), draft.probability(x)) for x in range(LETTERS))
    assert kept == pytest.approx(overlap, abs=EXACT)


@given(st.floats(0, JUST_UNDER_ONE), st.integers(1, 5))
def test_a_draft_from_the_targets_own_distribution_is_always_kept(
    number: float, length: int
) -> None:
    rows = [random_model(9)((0,) * index) for index in range(length + 1)]
    drafted = [int(row.ids[-1]) for row in rows[:-1]]

    assert verify_token(drafted, rows, rows[:-1], lambda: number).accepted == length


def test_without_a_draft_the_next_token_is_drawn_from_the_target() -> None:
    row = random_model(4)(())
    law = law_of_verdicts(lambda uniform: verify_token([], [row], None, uniform))

    for token in range(LETTERS):
        assert law[Verdict(0, token)] == pytest.approx(row.probability(token), abs=EXACT)


def test_a_token_that_the_target_rules_out_is_never_kept() -> None:
    target, draft = Distribution.certain(0), Distribution(np.array([0, 1]), np.array([0.5, 0.5]))

    for number in (0.0, 0.5, JUST_UNDER_ONE):
        verdict = verify_token([1], [target, target], [draft], scripted((), then=number))
        assert verdict == Verdict(0, 0)


@given(st.lists(st.lists(st.integers(0, 2), max_size=4), min_size=1, max_size=8), st.integers())
def test_greedy_verification_writes_the_targets_greedy_text_whatever_is_drafted(
    drafts_by_round: list[list[int]], seed: int
) -> None:
    def pick(prefix: Sequence[int]) -> int:
        return hash((seed, tuple(prefix[-3:]))) % LETTERS

    text: list[int] = []
    for drafted in drafts_by_round:
        picks = [pick([*text, *drafted[:index]]) for index in range(len(drafted) + 1)]
        verdict = verify_greedy(drafted, picks)
        assert verdict.accepted <= len(drafted)
        text += [*drafted[: verdict.accepted], verdict.token]

    plain: list[int] = []
    while len(plain) < len(text):
        plain.append(pick(plain))
    assert text == plain


def test_greedy_verification_keeps_everything_before_the_first_wrong_guess() -> None:
    assert verify_greedy([4, 5, 6], [4, 5, 6, 7]) == Verdict(3, 7)
    assert verify_greedy([4, 9, 6], [4, 5, 6, 7]) == Verdict(1, 5)
    assert verify_greedy([], [4]) == Verdict(0, 4)
