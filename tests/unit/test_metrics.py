"""Every figure by its definition."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.speculation.metrics import RATE_WINDOW_S, Figures, Meter, SlidingRate

LONGEST = 6

Round = tuple[int, int]
"""Drafted and accepted; odd drafts are the n-gram drafter's."""


def rounds_of(longest: int = LONGEST) -> st.SearchStrategy[list[Round]]:
    one = st.integers(0, longest).flatmap(
        lambda drafted: st.tuples(st.just(drafted), st.integers(0, drafted))
    )
    return st.lists(one, max_size=30)


def figures_after(rounds: list[Round]) -> Figures:
    """Whole rounds of half a second: 0.1 s drafting, 0.3 s of the target."""
    meter = Meter(prompt_tokens=10, max_draft_length=LONGEST)
    for drafted, accepted in rounds:
        meter.add_round(
            drafted=drafted,
            accepted=accepted,
            emitted=accepted + 1,
            round_s=0.5,
            draft_s=0.1,
            verify_s=0.3,
            draft_decode_s=0.05,
            by_ngram=drafted % 2 == 1,
            step_back_s=0.01 if drafted else 0.0,
            replayed=accepted,
            snapshots_s=0.0 if drafted else 0.02,
        )
    return meter.figures()


def test_four_rounds_counted_by_hand() -> None:
    figures = figures_after([(3, 3), (3, 1), (0, 0), (2, 0)])

    assert figures.prompt_tokens == 10
    assert figures.rounds == 4
    assert figures.drafted == 8
    assert figures.accepted == 4
    assert figures.accepted_ngram == 3 + 1
    assert figures.ngram_share == 1.0
    assert figures.tested == 3 + 2 + 0 + 1
    assert figures.emitted == 4 + 2 + 1 + 1
    assert figures.accepted_histogram == (2, 1, 0, 1, 0, 0, 0)
    assert figures.tested_at == (3, 2, 1, 0, 0, 0)
    assert figures.acceptance == pytest.approx(4 / 6)
    assert figures.tokens_per_round == pytest.approx(2.0)
    assert figures.tokens_per_second == pytest.approx(8 / 2.0)
    assert figures.acceptance_by_position == pytest.approx((2 / 3, 1 / 2, 1.0))
    assert figures.draft_share == pytest.approx(0.2)
    assert figures.of_limit == pytest.approx((0.3 + 0.05) / 0.5)
    assert figures.overhead_s == pytest.approx(4 * 0.1)
    assert figures.snapshots_s == pytest.approx(0.02)
    assert figures.step_back_s == pytest.approx(3 * 0.01)
    assert figures.step_back_share == pytest.approx(3 * 0.01 / 2.0)
    assert figures.replayed == 4


def test_there_are_no_ratios_before_the_first_round() -> None:
    figures = figures_after([])

    assert figures.acceptance is None
    assert figures.tokens_per_round is None
    assert figures.tokens_per_second is None
    assert figures.draft_share is None
    assert figures.step_back_share is None
    assert figures.time_to_first_token_s is None
    assert figures.acceptance_by_position == ()
    assert figures.ngram_share is None
    assert figures.plain_tokens_per_second is None
    assert figures.plain_age_s is None
    assert figures.speed_up is None


def test_plain_decoding_has_a_rate_but_no_acceptance() -> None:
    figures = figures_after([(0, 0)] * 3)

    assert figures.acceptance is None
    assert figures.ngram_share is None
    assert figures.tokens_per_round == 1.0
    assert figures.tokens_per_second == pytest.approx(2.0)


def test_times_measured_apart_never_make_a_negative_overhead() -> None:
    assert Figures(decode_s=1.0, draft_s=0.5, verify_s=0.6).overhead_s == 0.0


def test_accepted_tokens_belong_to_the_model_unless_the_ngram_drafter_proposed_them() -> None:
    meter = Meter(prompt_tokens=1, max_draft_length=4)
    for accepted, by_ngram in ((3, True), (4, None), (0, True), (2, False), (1, True)):
        told = {} if by_ngram is None else {"by_ngram": by_ngram}
        meter.add_round(
            drafted=4, accepted=accepted, emitted=1, round_s=1, draft_s=0, verify_s=1, **told
        )

    assert meter.figures().accepted_ngram == 4
    assert meter.figures().ngram_share == pytest.approx(4 / 10)


@pytest.mark.parametrize(
    ("plain", "speed_up"), [(None, None), (2.5, 2.0), (5.0, 1.0), (8.0, 0.625)]
)
def test_the_speed_up_is_the_rate_over_the_plain_rate_and_may_be_a_loss(
    plain: float | None, speed_up: float | None
) -> None:
    figures = Figures(emitted=10, decode_s=2.0, drafted=5, plain_tokens_per_second=plain)
    assert figures.speed_up == speed_up


def test_where_nothing_was_drafted_there_is_no_speed_up() -> None:
    assert Figures(emitted=10, decode_s=2.0, plain_tokens_per_second=4.0).speed_up is None


def test_before_the_first_round_a_known_plain_rate_makes_no_speed_up() -> None:
    assert Figures(plain_tokens_per_second=5.0).speed_up is None


def test_a_plain_answer_is_quicker_without_what_snapshots_took() -> None:
    assert Figures(emitted=10, decode_s=2.0, snapshots_s=0.75).plain_answer_per_second == 8.0
    assert Figures(emitted=10, decode_s=2.0).plain_answer_per_second == 5.0
    assert Figures().plain_answer_per_second is None


def test_the_plain_rate_and_its_age_are_handed_on() -> None:
    meter = Meter(prompt_tokens=1, max_draft_length=2)
    meter.plain_tokens_per_second, meter.plain_age_s = 12.5, 40.0

    assert meter.figures().plain_tokens_per_second == 12.5
    assert meter.figures().plain_age_s == 40.0


@given(rounds_of())
def test_the_totals_agree_with_each_other(rounds: list[Round]) -> None:
    figures = figures_after(rounds)
    histogram = figures.accepted_histogram

    assert sum(histogram) == figures.rounds == len(rounds)
    assert sum(kept * times for kept, times in enumerate(histogram)) == figures.accepted
    assert sum(figures.tested_at) == figures.tested
    refusing = sum(accepted < drafted for drafted, accepted in rounds)
    assert figures.tested == figures.accepted + refusing
    assert figures.accepted <= figures.tested <= figures.drafted
    assert figures.accepted_ngram == sum(kept for drafted, kept in rounds if drafted % 2)
    if rounds:
        assert figures.tokens_per_round == pytest.approx(1 + figures.accepted / figures.rounds)


@given(rounds_of())
def test_acceptance_at_a_position_is_kept_of_tested_there(rounds: list[Round]) -> None:
    found = figures_after(rounds).acceptance_by_position

    wanted = []
    for position in range(1, LONGEST + 1):
        # It was tested if the round drafted it and kept all before it.
        tested = [
            kept >= position for drafted, kept in rounds if position <= min(drafted, kept + 1)
        ]
        if tested:
            wanted.append(sum(tested) / len(tested))
    assert found == pytest.approx(wanted)
    assert all(0 <= share <= 1 for share in found)


@given(rounds_of(), rounds_of())
def test_totals_never_shrink_and_earlier_ones_stay_as_they_were(
    first: list[Round], then: list[Round]
) -> None:
    before, after = figures_after(first), figures_after(first + then)

    for name in (
        "emitted",
        "rounds",
        "drafted",
        "tested",
        "accepted",
        "accepted_ngram",
        "decode_s",
    ):
        assert getattr(before, name) <= getattr(after, name)


def test_figures_taken_are_not_touched_by_later_rounds() -> None:
    meter = Meter(prompt_tokens=1, max_draft_length=2)
    earlier = meter.figures()
    meter.add_round(drafted=2, accepted=1, emitted=2, round_s=1.0, draft_s=0.0, verify_s=1.0)

    assert earlier == Figures(prompt_tokens=1, accepted_histogram=(0, 0, 0), tested_at=(0, 0))


def rates(*points: tuple[float, int]) -> list[float]:
    """The live rate after rounds with these running totals of seconds and tokens."""
    sliding = SlidingRate()
    return [sliding.add(Figures(decode_s=seconds, emitted=tokens)) for seconds, tokens in points]


@given(st.floats(0.001, 3.0), st.integers(1, 9), st.integers(1, 60))
def test_at_a_steady_pace_the_live_rate_is_the_pace(
    seconds: float, tokens: int, rounds: int
) -> None:
    found = rates(*((seconds * n, tokens * n) for n in range(1, rounds + 1)))

    assert found == pytest.approx([tokens / seconds] * rounds)


def test_the_live_rate_forgets_what_is_older_than_its_window() -> None:
    fast = [(0.1 * n, 10 * n) for n in range(1, 11)]
    slow = [(1.0 + n, 100 + n) for n in range(1, 6)]
    found = rates(*fast, *slow)

    assert found[9:] == pytest.approx([100.0, 101 / 2, 1.0, 1.0, 1.0, 1.0])


def test_the_live_rate_never_looks_at_less_than_its_window_once_that_has_passed() -> None:
    burst = rates((RATE_WINDOW_S, 2), (RATE_WINDOW_S + 0.001, 7))

    assert burst[1] == pytest.approx(7 / (RATE_WINDOW_S + 0.001))


def test_one_round_longer_than_the_window_counts_whole() -> None:
    assert rates((1.0, 5), (11.0, 10))[1] == pytest.approx(5 / 10)


def test_without_time_passed_there_is_no_rate() -> None:
    assert rates((0.0, 0)) == [0.0]


def test_figures_of_an_answer_that_went_on_are_those_of_all_its_rounds() -> None:
    def meter(*rounds: tuple[int, int], prompt: int) -> Meter:
        made = Meter(prompt, 4)
        for drafted, accepted in rounds:
            made.add_round(
                drafted=drafted, accepted=accepted, emitted=accepted + 1, round_s=0.5,
                draft_s=0.125, verify_s=0.25, draft_decode_s=0.0625, by_ngram=accepted == 3,
                step_back_s=0.03125, replayed=accepted, snapshots_s=0.015625,
            )  # fmt: skip
        return made

    first, second = [(4, 2), (0, 0), (3, 3)], [(4, 0), (2, 1)]
    begun, more = meter(*first, prompt=9), meter(*second, prompt=40)
    begun.time_to_first_token_s, more.time_to_first_token_s = 1.5, 0.5
    begun.reused_tokens, more.reused_tokens = 5, 39
    begun.state_copy_s, more.state_copy_s = 0.25, 0.125
    whole = meter(*first, *second, prompt=9)
    whole.time_to_first_token_s, whole.reused_tokens, whole.state_copy_s = 1.5, 5, 0.25

    assert begun.figures().plus(more.figures()) == whole.figures()
    told = msgspec.structs.asdict(whole.figures())
    assert {name for name, value in told.items() if not value} <= {
        "plain_tokens_per_second",
        "plain_age_s",
    }
    assert Figures().plus(more.figures()) == more.figures()
    assert begun.figures().plus(Figures()) == begun.figures()


def test_the_plain_rate_of_both_parts_is_what_they_would_have_come_at() -> None:
    begun = Figures(rounds=1, emitted=30, decode_s=1.0, drafted=1, plain_tokens_per_second=10.0)
    more = Figures(rounds=1, emitted=10, decode_s=1.0, drafted=1, plain_tokens_per_second=5.0)
    unknown = Figures(rounds=1, emitted=10, decode_s=1.0)

    assert begun.plus(more).plain_tokens_per_second == pytest.approx(40 / (3.0 + 2.0))
    assert begun.plus(more).speed_up == pytest.approx(5.0 / 2.0)
    assert begun.plus(unknown).plain_tokens_per_second == 10.0
    assert unknown.plus(begun).plain_tokens_per_second == 10.0
