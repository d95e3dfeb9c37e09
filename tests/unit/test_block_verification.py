"""Block verification beside token verification: it keeps no less, and takes any rows."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.speculation.distribution import Distribution
from specchat.speculation.verify import Verdict, verify_block, verify_token
from unit.exact_law import (
    EXACT,
    JUST_UNDER_ONE,
    LengthRule,
    Rule,
    Text,
    expected_kept,
    random_model,
    scripted,
    up_to,
)
from unit.sparse_rows import distributions, sparse

numbers = st.one_of(st.sampled_from([0.0, 0.5, JUST_UNDER_ONE]), st.floats(0, JUST_UNDER_ONE))
scripts = st.lists(numbers, min_size=5, max_size=5)

Judged = tuple[list[int], list[Distribution], list[Distribution]]
"""Drafted tokens, the target's rows and the draft's."""


@st.composite
def rounds(draw: st.DrawFn) -> Judged:
    """A draft of up to four tokens that was possible."""
    told = draw(st.lists(distributions(), max_size=4))
    # Now and then the target agrees with the draft to the last bit.
    target = [draw(st.one_of(st.just(proposal), distributions())) for proposal in told]
    drafted = [proposal.draw(draw(numbers)) for proposal in told]
    return drafted, [*target, draw(distributions())], told


def stops_after_a_first_zero(prefix: Text) -> bool:
    return len(prefix) < 3 and prefix != (0,)


@pytest.mark.parametrize("impossible", [0.0, 0.4], ids=["dense", "with-impossible-letters"])
@pytest.mark.parametrize(
    ("drafts_on", "models", "letters"),
    [
        (up_to(1), 5, 3),
        (up_to(2), 5, 3),
        (up_to(3), 2, 3),
        (up_to(4), 3, 2),
        (stops_after_a_first_zero, 3, 3),
    ],
    ids=["one", "two", "three", "four-of-two-letters", "by-the-letters"],
)
def test_no_fewer_tokens_are_kept_than_by_token_verification(
    drafts_on: LengthRule, models: int, letters: int, impossible: float
) -> None:
    for seed in range(models):
        target = random_model(300 + seed, letters=letters, impossible=impossible)
        draft = random_model(400 + seed, letters=letters, impossible=impossible)
        by_block = expected_kept(verify_block, target, draft, drafts_on)
        by_token = expected_kept(verify_token, target, draft, drafts_on)

        assert by_block >= by_token - EXACT


def test_on_a_draft_of_three_more_tokens_are_kept() -> None:
    kept: dict[Rule, float] = {}
    for rule in (verify_token, verify_block):
        kept[rule] = sum(
            expected_kept(rule, random_model(seed), random_model(20 + seed), up_to(3))
            for seed in range(2)
        )

    assert kept[verify_block] > 1.02 * kept[verify_token]


def test_a_good_token_makes_up_for_a_poor_one_before_it() -> None:
    even, likely = sparse({0: 1, 1: 1}), sparse({0: 9, 1: 1})
    drafted, target, told = [1, 0], [likely, likely, likely], [even, even]

    # Alone the first is kept with probability 0.2; the second is 1.8 times as likely as drafted.
    for number, by_token, by_block in [(0.1, 2, 2), (0.3, 0, 2), (0.35, 0, 2), (0.37, 0, 0)]:
        assert verify_token(drafted, target, told, scripted((), then=number)).accepted == by_token
        assert verify_block(drafted, target, told, scripted((), then=number)).accepted == by_block


@given(rounds(), scripts)
def test_whatever_the_rows_what_is_kept_and_what_comes_next_is_possible(
    judged: Judged, script: Sequence[float]
) -> None:
    drafted, target, told = judged
    verdict = verify_block(drafted, target, told, scripted(script))
    said = [*drafted[: verdict.accepted], verdict.token]

    assert 0 <= verdict.accepted <= len(drafted)
    for token, row in zip(said, target, strict=False):
        assert row.probability(token) > 0


@given(rounds(), scripts)
def test_certain_proposals_need_not_be_reported(judged: Judged, script: Sequence[float]) -> None:
    drafted, target, _ = judged
    told = [Distribution.certain(token) for token in drafted]

    assert verify_block(drafted, target, None, scripted(script)) == verify_block(
        drafted, target, told, scripted(script)
    )


@given(st.lists(distributions(), min_size=1, max_size=5), st.data(), numbers)
def test_the_targets_own_draft_is_kept_whole_whatever_the_rows(
    rows: list[Distribution], data: st.DataObject, number: float
) -> None:
    drafted = [row.draw(data.draw(numbers)) for row in rows[:-1]]
    twins = [Distribution(row.ids.copy(), row.probabilities.copy()) for row in rows[:-1]]
    verdict = verify_block(drafted, rows, twins, lambda: number)

    assert verdict == Verdict(len(drafted), rows[-1].draw(number))


@pytest.mark.parametrize("number", [0.0, 0.5, JUST_UNDER_ONE])
def test_of_a_draft_on_other_tokens_than_the_targets_nothing_is_kept(number: float) -> None:
    target, draft = sparse({0: 1, 2: 3}), sparse({1: 1, 3: 1})
    verdict = verify_block([1, 3], [target] * 3, [draft] * 2, lambda: number)

    assert verdict == Verdict(0, target.draw(number))


@pytest.mark.parametrize("wrong_at", range(4))
def test_between_certain_rows_the_draft_is_kept_up_to_the_first_difference(wrong_at: int) -> None:
    text: Text = (5, 6, 7, 8)
    drafted = [token if index < wrong_at else 9 for index, token in enumerate(text[:3])]
    rows = [Distribution.certain(token) for token in text]
    told = [Distribution.certain(token) for token in drafted]

    for number in (0.0, JUST_UNDER_ONE):
        verdict = verify_block(drafted, rows, told, scripted((), then=number))
        assert verdict == Verdict(wrong_at, text[wrong_at])


def test_a_round_asks_for_one_number_a_drafted_token_and_one_for_the_token_after() -> None:
    row = random_model(3)(())
    asked: list[int] = []

    def uniform() -> float:
        asked.append(len(asked))
        return 0.5

    verify_block([int(row.ids[0])] * 4, [row] * 5, [row] * 4, uniform)

    assert len(asked) == 5
