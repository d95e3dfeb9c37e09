"""Losslessness, exactly: over every draft and every cell of the random numbers that a rule asks
for, the emitted text has the target's own law."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.speculation.distribution import Distribution
from specchat.speculation.verify import Verdict, verify_block, verify_picks, verify_token
from unit.exact_law import (
    EXACT,
    JUST_UNDER_ONE,
    Rule,
    Text,
    Uniform,
    drafts,
    expected_kept,
    furthest_from_the_target,
    law_of_text,
    law_of_verdicts,
    random_model,
    scripted,
    up_to,
)

LETTERS = 3

by_either_rule = pytest.mark.parametrize("rule", [verify_token, verify_block])


@by_either_rule
@pytest.mark.parametrize("impossible", [0.0, 0.4], ids=["dense", "with-impossible-letters"])
@pytest.mark.parametrize(
    ("drafted", "models", "letters"),
    [(1, 20, 3), (2, 10, 3), (3, 3, 3), (3, 4, 2), (4, 1, 3), (4, 3, 2)],
)
def test_the_text_has_the_targets_law_whatever_the_draft(
    rule: Rule, drafted: int, models: int, letters: int, impossible: float
) -> None:
    for seed in range(models):
        target = random_model(2 * seed, letters=letters, impossible=impossible)
        draft = random_model(2 * seed + 1, letters=letters, impossible=impossible)
        law = law_of_text(
            rule,
            target,
            draft,
            up_to(drafted),
            drafted + 1,
            reported=draft,
            letters=letters,
        )

        assert furthest_from_the_target(law, target, drafted + 1, letters=letters) < EXACT


@by_either_rule
@pytest.mark.parametrize("seed", range(3))
def test_the_law_stays_when_the_draft_length_depends_on_what_was_drafted(
    rule: Rule, seed: int
) -> None:
    target, draft = random_model(100 + seed), random_model(200 + seed, impossible=0.2)

    def drafts_on(prefix: Text) -> bool:
        sure = draft(prefix).probabilities.max() > 0.6
        return len(prefix) < 3 and (sure or prefix in ((), (1,)))

    law = law_of_text(rule, target, draft, drafts_on, 4, reported=draft)

    assert len({len(drafted) for drafted in drafts(draft, drafts_on)}) > 1
    assert furthest_from_the_target(law, target, 4) < EXACT


@by_either_rule
@pytest.mark.parametrize("drafted", itertools.product(range(LETTERS), repeat=2))
def test_a_draft_proposed_with_certainty_needs_no_distributions(rule: Rule, drafted: Text) -> None:
    target = random_model(5, impossible=0.3)

    def always(prefix: Text) -> Distribution:
        return Distribution.certain(drafted[len(prefix)])

    law = law_of_text(rule, target, always, up_to(2), 3, reported=None)

    assert furthest_from_the_target(law, target, 3) < EXACT


@by_either_rule
def test_the_enumeration_notices_a_draft_drawn_from_something_else_than_reported(
    rule: Rule,
) -> None:
    target, draft, reported = random_model(1), random_model(2), random_model(3)
    law = law_of_text(rule, target, draft, up_to(2), 3, reported=reported)

    assert furthest_from_the_target(law, target, 3) > 0.01


def test_the_enumeration_notices_a_length_that_depends_on_a_letter_thrown_away() -> None:
    target, draft = random_model(1), random_model(2)

    def only_if_the_next_letter_would_be_likely(
        drafted: Sequence[int],
        rows: Sequence[Distribution],
        told: Sequence[Distribution] | None,
        uniform: Uniform,
    ) -> Verdict:
        assert told is not None
        worth_it = told[-1].probability(drafted[-1]) > 0.4
        kept = len(drafted) if worth_it else len(drafted) - 1
        return verify_block(drafted[:kept], rows[: kept + 1], told[:kept], uniform)

    law = law_of_text(
        only_if_the_next_letter_would_be_likely, target, draft, up_to(2), 3, reported=draft
    )

    assert furthest_from_the_target(law, target, 3) > 0.01


@by_either_rule
@pytest.mark.parametrize("seed", range(5))
def test_a_draft_token_is_kept_as_often_as_any_lossless_rule_can_keep_it(
    rule: Rule, seed: int
) -> None:
    target, draft = random_model(seed), random_model(50 + seed)
    kept = expected_kept(rule, target, draft, up_to(1))

    overlap = sum(
        min(target(()).probability(letter), draft(()).probability(letter))
        for letter in range(LETTERS)
    )
    assert kept == pytest.approx(overlap, abs=EXACT)


@by_either_rule
@given(number=st.floats(0, JUST_UNDER_ONE), length=st.integers(1, 5))
def test_a_draft_from_the_targets_own_distribution_is_always_kept(
    rule: Rule, number: float, length: int
) -> None:
    rows = [random_model(9)((0,) * index) for index in range(length + 1)]
    drafted = [int(row.ids[-1]) for row in rows[:-1]]

    assert rule(drafted, rows, rows[:-1], lambda: number).accepted == length


@by_either_rule
def test_without_a_draft_the_next_token_is_drawn_from_the_target(rule: Rule) -> None:
    row = random_model(4)(())
    law = law_of_verdicts(lambda uniform: rule([], [row], None, uniform))

    for token in range(LETTERS):
        assert law[Verdict(0, token)] == pytest.approx(row.probability(token), abs=EXACT)


@by_either_rule
def test_a_token_that_the_target_rules_out_is_never_kept(rule: Rule) -> None:
    target, draft = Distribution.certain(0), Distribution(np.array([0, 1]), np.array([0.5, 0.5]))

    for number in (0.0, 0.5, JUST_UNDER_ONE):
        verdict = rule([1], [target, target], [draft], scripted((), then=number))
        assert verdict == Verdict(0, 0)


@given(st.lists(st.lists(st.integers(0, 2), max_size=4), min_size=1, max_size=8), st.integers())
def test_verification_by_picks_writes_what_the_target_picks_whatever_is_drafted(
    drafts_by_round: list[list[int]], seed: int
) -> None:
    def pick(prefix: Sequence[int]) -> int:
        return hash((seed, tuple(prefix[-3:]))) % LETTERS

    text: list[int] = []
    for drafted in drafts_by_round:
        picks = [pick([*text, *drafted[:index]]) for index in range(len(drafted) + 1)]
        verdict = verify_picks(drafted, picks)
        assert verdict.accepted <= len(drafted)
        text += [*drafted[: verdict.accepted], verdict.token]

    plain: list[int] = []
    while len(plain) < len(text):
        plain.append(pick(plain))
    assert text == plain


def test_verification_by_picks_keeps_everything_before_the_first_wrong_guess() -> None:
    assert verify_picks([4, 5, 6], [4, 5, 6, 7]) == Verdict(3, 7)
    assert verify_picks([4, 9, 6], [4, 5, 6, 7]) == Verdict(1, 5)
    assert verify_picks([], [4]) == Verdict(0, 4)
