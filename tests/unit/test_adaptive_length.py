"""The adaptive length decides by the costs and the acceptance that it has seen, and learns both."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.speculation.adaptive import AdaptiveLength
from specchat.speculation.confidence import PRIOR_ACCEPTANCE
from specchat.speculation.controller import Outcome
from unit.played_rounds import LONGEST, Costs, always, play_round

CHEAP = Costs({1: 10, 16: 13}, 1.0)
"""Drafting pays at nearly any acceptance."""
DEAR = Costs({1: 10, 2: 25, 16: 235}, 5.0)
"""Not even a draft that is always right pays."""

costs = st.builds(
    Costs,
    st.lists(st.floats(5.0, 60.0), min_size=LONGEST + 1, max_size=LONGEST + 1).map(
        lambda row: dict(enumerate(row, 1))
    ),
    st.floats(0.1, 20.0),
)


def trusting(costs: Costs, acceptance: float, longest: int = LONGEST) -> AdaptiveLength:
    """A controller that has seen the model's tokens kept with this frequency."""
    controller = costs.controller(longest)
    rest = 0.0
    for _ in range(1000):
        rest += acceptance
        for confidence in (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95):
            controller.calibration["model"].learn(confidence, rest >= 1)
        rest -= rest >= 1
    return controller


def worth(controller: AdaptiveLength, costs: Costs, length: int, pending: int = 1) -> float:
    """What a draft of this length is worth over none, in tokens."""
    mean = controller.calibration["model"].mean
    extra = length * costs.step + costs.verify(length + 1) - costs.verify(1)
    extra += costs.drafting(pending) - costs.step
    return sum(mean**place for place in range(1, length + 1)) - controller.rate * extra


@given(costs, st.floats(0.05, 0.95), st.integers(1, LONGEST))
def test_it_starts_where_the_best_length_wins_over_none(
    costs: Costs, acceptance: float, limit: int
) -> None:
    controller = trusting(costs, acceptance)
    controller.begin(limit)
    best = max(worth(controller, costs, length) for length in range(1, limit + 1))

    assert controller.gain("model", None, 1) == pytest.approx(best)
    assert controller.start("model", None, 1) == (controller.gain("model", None, 1) > 0)
    assert worth(controller, costs, controller.reason.length) == pytest.approx(best)


@given(costs, st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5), st.integers(1, LONGEST))
def test_it_goes_on_where_some_longer_draft_wins_over_stopping_here(
    costs: Costs, confidences: list[float], limit: int
) -> None:
    controller = costs.controller()
    controller.begin(limit)
    controller.start("model", None, 1)
    kept = 1.0
    for drafted, confidence in enumerate(confidences[:limit], 1):
        kept *= controller.calibration["model"].acceptance(confidence)
        mean = controller.calibration["model"].mean
        gains = [
            sum(kept * mean**place for place in range(1, more + 1))
            - controller.rate
            * (more * costs.step + costs.verify(drafted + more + 1) - costs.verify(drafted + 1))
            for more in range(1, limit - drafted + 1)
        ]

        assert controller.go_on(confidence) == (max(gains, default=0.0) > 0)


@pytest.mark.parametrize(("acceptance", "shortest", "longest"), [(0.97, 10, 15), (0.3, 1, 2)])
def test_the_better_the_model_the_longer_the_draft(
    acceptance: float, shortest: int, longest: int
) -> None:
    outcome = play_round(trusting(CHEAP, acceptance), CHEAP, always(0.95, agrees=True))

    assert shortest <= outcome.drafted <= longest


def test_a_draft_ends_where_the_model_is_unsure() -> None:
    controller = costs_seen_by_confidence()

    def guess(place: int) -> tuple[float, bool]:
        return (0.95 if place < 4 else 0.05), True

    assert play_round(controller, CHEAP, guess).drafted == 5


def costs_seen_by_confidence() -> AdaptiveLength:
    """A controller whose model is right when it is sure and wrong when it is not."""
    controller = CHEAP.controller()
    for _ in range(200):
        for _ in range(6):
            controller.calibration["model"].learn(0.95, True)
        controller.calibration["model"].learn(0.05, False)
    return controller


def test_it_looks_past_a_bump_in_the_costs() -> None:
    bumpy = Costs({1: 10, 2: 30, 3: 30, 4: 12, 5: 40, 16: 150}, 0.5)
    controller = trusting(bumpy, 0.7)

    assert worth(controller, bumpy, 1) < 0
    assert worth(controller, bumpy, 2) < 0
    assert play_round(controller, bumpy, always(0.5, agrees=True)).drafted == 3


def test_past_a_bump_that_the_limit_hides_there_is_nothing_to_win() -> None:
    bumpy = Costs({1: 10, 2: 30, 3: 30, 4: 12, 5: 40, 16: 150}, 0.5)

    assert play_round(trusting(bumpy, 0.7), bumpy, always(0.5, agrees=True), limit=2).drafted == 0


@given(
    st.integers(0, 20),
    st.integers(0, LONGEST),
    st.lists(st.floats(0.0, 1.0), min_size=30, max_size=30),
)
def test_the_limit_and_the_longest_draft_are_kept_to(
    limit: int, longest: int, confidences: list[float]
) -> None:
    controller = trusting(Costs({1: 10, 16: 10.001}, 0.001), 0.99, longest)
    outcome = play_round(controller, CHEAP, lambda place: (confidences[place], True), limit=limit)

    assert outcome.drafted <= min(limit, longest)


@given(st.lists(st.floats(5.0, 60.0), min_size=2, max_size=16), st.floats(0.1, 20.0))
def test_drafting_could_pay_where_a_draft_kept_whole_is_faster_than_plain(
    verify: list[float], step: float
) -> None:
    costs = Costs(dict(enumerate(verify, 1)), step)
    controller = costs.controller(len(verify) - 1)
    plain = 1 / costs.verify(1)
    fastest = max(
        (length + 1) / (length * step + costs.verify(length + 1))
        for length in range(1, len(verify))
    )

    if fastest != pytest.approx(plain):
        assert controller.could_pay("model") == (fastest > plain)


def test_an_ngram_costs_nothing_to_draft_and_something_to_verify() -> None:
    assert not Costs({1: 10, 2: 15, 16: 85}, 8.0).controller().could_pay("model")
    assert Costs({1: 10, 2: 15, 16: 85}, 8.0).controller().could_pay("ngram")
    assert not Costs({1: 10, 2: 25, 16: 235}, 8.0).controller().could_pay("ngram")


def test_where_drafting_cannot_pay_nothing_is_ever_drafted() -> None:
    controller = DEAR.controller()
    assert not controller.could_pay("model")
    rounds = [play_round(controller, DEAR, always(1.0, agrees=True)) for _ in range(3000)]

    assert sum(outcome.drafted for outcome in rounds) == 0


@given(st.integers(1, 600), st.floats(0.1, 3.0))
def test_what_an_idle_model_has_to_read_first_counts_against_it(
    pending: int, reading: float
) -> None:
    costs = Costs({1: 10, 16: 13}, 1.0, reading=reading)
    controller = costs.controller()
    controller.spent("model", pending, costs.drafting(pending))
    controller.begin(LONGEST)
    lost = controller.gain("model", None, 1) - controller.gain("model", None, pending)

    assert lost == pytest.approx(controller.rate * (costs.drafting(pending) - costs.step))


def test_a_model_far_behind_is_not_started_and_one_that_is_up_to_date_is() -> None:
    controller = trusting(CHEAP, 0.8)
    controller.spent("model", 400, 900.0)
    controller.begin(LONGEST)

    assert not controller.start("model", None, 400)
    assert controller.start("model", None, 1)


def test_an_ngram_is_drafted_if_matches_like_it_were_right() -> None:
    costs = Costs({1: 10, 2: 15, 16: 85}, 1.0)
    controller = costs.controller()
    for _ in range(100):
        controller.calibration["ngram"].learn(0.95, True)
        controller.calibration["ngram"].learn(0.05, False)
    controller.begin(LONGEST)

    assert controller.gain("ngram", 0.95, 1) > 1 > 0 > controller.gain("ngram", 0.05, 1)
    assert controller.start("ngram", 0.95, 1)
    assert not controller.start("ngram", 0.05, 1)


def test_only_tested_tokens_are_learnt_from() -> None:
    controller = trusting(CHEAP, 0.9)
    calibration = controller.calibration["model"]
    expected = deepcopy(calibration)
    confidences = (0.95, 0.75, 0.55, 0.35)
    controller.begin(4)
    controller.start("model", None, 1)
    for confidence in confidences:
        controller.go_on(confidence)
    controller.finish(Outcome(4, 1, 2, 15.0, 11.0, 100))
    expected.learn(0.95, True)
    expected.learn(0.75, False)

    assert calibration.mean == expected.mean
    assert [calibration.acceptance(confidence) for confidence in confidences] == [
        expected.acceptance(confidence) for confidence in confidences
    ]


def test_each_source_has_a_record_of_its_own() -> None:
    controller = CHEAP.controller()
    for _ in range(30):
        controller.begin(1)
        controller.start("ngram", 0.85, 1)
        controller.go_on(0.85)
        controller.finish(Outcome(1, 0, 1, 11.0, 11.0, 100))

    assert controller.calibration["ngram"].acceptance(0.85) < 0.2
    assert controller.calibration["ngram"].mean < 0.2
    assert controller.calibration["model"].acceptance(0.85) == pytest.approx(PRIOR_ACCEPTANCE)
    assert controller.calibration["model"].mean == PRIOR_ACCEPTANCE


def test_costs_that_change_on_the_way_are_learnt() -> None:
    controller = trusting(CHEAP, 0.6)
    assert controller.could_pay("model")
    for _ in range(20):
        controller.spent("model", 1, 50.0)
    assert not controller.could_pay("model")

    controller = CHEAP.controller()
    for _ in range(20):
        controller.begin(1)
        controller.finish(Outcome(0, 0, 1, 42.0, 40.0, 100))
    assert controller.verify.cost(1) == 40.0


def test_the_rate_is_plain_at_first_and_then_that_of_the_last_rounds() -> None:
    controller = CHEAP.controller()
    found = [controller.rate]
    for emitted in (4, 1):
        for _ in range(400):
            round_of_three(controller, emitted, verify_ms=12.0)
        found.append(controller.rate)

    assert found == pytest.approx([1 / 10, 4 / 20, 1 / 20], rel=1e-3)


def test_one_bad_round_hardly_moves_the_rate() -> None:
    controller = CHEAP.controller()
    for _ in range(400):
        round_of_three(controller, 4, verify_ms=12.0)
    round_of_three(controller, 1, verify_ms=12.0)

    assert 0.97 * 4 / 20 < controller.rate < 4 / 20


def test_a_call_that_a_neighbour_disturbed_does_not_move_the_rate() -> None:
    controller = CHEAP.controller()
    for _ in range(400):
        round_of_three(controller, 4, verify_ms=12.0)
    before = controller.rate
    round_of_three(controller, 4, verify_ms=1200.0)

    assert controller.rate == pytest.approx(before)


def round_of_three(controller: AdaptiveLength, emitted: int, *, verify_ms: float) -> None:
    """Three drafted tokens at 8 ms together."""
    controller.begin(LONGEST)
    for n_tokens, milliseconds in ((1, 3.0), (1, 3.0), (2, 2.0)):
        controller.spent("model", n_tokens, milliseconds)
    controller.finish(Outcome(3, emitted - 1, emitted, 8.0 + verify_ms, verify_ms, 100))
