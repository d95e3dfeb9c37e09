"""What a drafter's confidence is worth, learnt from what was kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.speculation.confidence import (
    BINS,
    PRIOR_ACCEPTANCE,
    PRIOR_WEIGHT,
    Calibration,
)

confidences = st.floats(0.0, 1.0)


def taught(*lessons: tuple[float, bool], times: int = 1) -> Calibration:
    calibration = Calibration()
    for _ in range(times):
        for confidence, accepted in lessons:
            calibration.learn(confidence, accepted)
    return calibration


@given(confidences)
def test_before_anything_was_tested_every_confidence_means_the_same(confidence: float) -> None:
    calibration = Calibration()

    assert calibration.acceptance(confidence) == pytest.approx(PRIOR_ACCEPTANCE)
    assert calibration.mean == PRIOR_ACCEPTANCE


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_it_learns_how_often_a_confidence_is_right_whatever_that_confidence_claims(
    share: float,
) -> None:
    random = np.random.default_rng(2)
    calibration = Calibration()
    for _ in range(2000):
        calibration.learn(0.75, bool(random.random() < share))

    assert calibration.acceptance(0.75) == pytest.approx(share, abs=0.05)
    assert calibration.mean == pytest.approx(share, abs=0.2)


def test_what_is_learnt_of_one_confidence_is_not_believed_of_another_that_was_tested() -> None:
    calibration = taught((0.95, True), (0.15, False), times=200)

    assert calibration.acceptance(0.95) > 0.95
    assert calibration.acceptance(0.15) < 0.05


@pytest.mark.parametrize("accepted", [True, False])
def test_a_confidence_never_tested_is_worth_the_mean_of_all(accepted: bool) -> None:
    calibration = taught((0.95, accepted), (0.15, False), times=200)

    assert calibration.acceptance(0.55) == pytest.approx(calibration.mean)
    assert abs(calibration.mean - PRIOR_ACCEPTANCE) > 0.2


def test_the_mean_is_worth_four_tested_tokens_to_a_confidence() -> None:
    calibration = taught((0.15, False), times=300)
    believed = []
    for _ in range(40):
        calibration.learn(0.95, True)
        believed.append(calibration.acceptance(0.95) - calibration.mean)

    weights = [n / (n + PRIOR_WEIGHT) for n in (1, 4, 36)]
    means = [1 - 0.98**n for n in (1, 4, 36)]
    shares = [believed[n - 1] / (1 - mean) for n, mean in zip((1, 4, 36), means, strict=True)]
    assert PRIOR_WEIGHT == 4
    assert shares == pytest.approx(weights, rel=0.02)


@pytest.mark.parametrize("bin_", range(BINS))
def test_confidences_of_the_same_tenth_count_together(bin_: int) -> None:
    low, high = (bin_ + 0.01) / BINS, (bin_ + 0.99) / BINS
    calibration = taught((low, False), times=50)
    calibration.forget()

    assert calibration.acceptance(high) == calibration.acceptance(low) < 0.1
    for other in (low - 1 / BINS, high + 1 / BINS):
        if 0 <= other <= 1:
            assert calibration.acceptance(other) == pytest.approx(PRIOR_ACCEPTANCE)


def test_certainty_belongs_to_the_last_tenth() -> None:
    calibration = taught((1.0, False), times=50)
    calibration.forget()

    assert calibration.acceptance(0.95) == calibration.acceptance(1.0) < 0.1
    assert calibration.acceptance(0.85) == pytest.approx(PRIOR_ACCEPTANCE)


def test_a_first_test_moves_the_belief_and_does_not_overturn_it() -> None:
    assert PRIOR_ACCEPTANCE < taught((0.5, True)).acceptance(0.5) < 0.9
    assert 0.5 < taught((0.5, False)).acceptance(0.5) < 0.55


def test_the_first_mean_is_worth_four_tested_tokens() -> None:
    means = [taught((0.5, False), times=times).mean for times in (1, 4)]

    assert means == pytest.approx([0.8 * 4 / 5, 0.8 * 4 / 8], abs=0.02)
    assert taught((0.5, True), times=4).mean == pytest.approx((0.8 * 4 + 4) / 8, abs=0.01)


def test_a_few_refusals_are_enough_to_give_up_the_first_high_belief() -> None:
    assert taught((0.5, False), times=3).mean < 0.5
    assert taught((0.5, False), times=12).mean < 0.2


def test_old_tests_weigh_less_than_new_ones() -> None:
    calibration = Calibration()
    for accepted in [True] * 1000 + [False] * 1000:
        calibration.learn(0.5, accepted)

    # Without decay it would be one half.
    assert calibration.acceptance(0.5) < 0.15
    assert calibration.mean < 0.01


def test_the_mean_follows_a_change_sooner_than_the_bins_do() -> None:
    calibration = taught((0.5, True), times=500)
    for _ in range(50):
        calibration.learn(0.5, False)

    assert calibration.mean < 0.5 < calibration.acceptance(0.5)


def test_the_mean_is_over_all_confidences() -> None:
    calibration = taught((0.95, True), (0.15, False), times=500)

    assert calibration.mean == pytest.approx(0.5, abs=0.02)


@given(st.lists(st.tuples(confidences, st.booleans()), max_size=60), confidences)
def test_what_it_believes_is_a_probability(lessons: list[tuple[float, bool]], asked: float) -> None:
    calibration = taught(*lessons)

    assert 0 < calibration.acceptance(asked) < 1
    assert 0 < calibration.mean < 1


@given(st.lists(st.tuples(confidences, st.booleans()), max_size=30), confidences)
def test_a_kept_token_raises_the_belief_and_a_refused_one_lowers_it(
    lessons: list[tuple[float, bool]], confidence: float
) -> None:
    before, kept, refused = (taught(*lessons) for _ in range(3))
    kept.learn(confidence, True)
    refused.learn(confidence, False)

    assert refused.acceptance(confidence) < before.acceptance(confidence)
    assert before.acceptance(confidence) < kept.acceptance(confidence)
    assert refused.mean < before.mean < kept.mean


@given(st.lists(st.tuples(confidences, st.booleans()), max_size=60))
def test_forgetting_begins_anew_with_the_mean(lessons: list[tuple[float, bool]]) -> None:
    calibration, fresh = taught(*lessons), Calibration()
    calibration.forget()

    assert calibration.mean == fresh.mean == PRIOR_ACCEPTANCE
    for accepted in (False, False, True):
        calibration.learn(0.5, accepted)
        fresh.learn(0.5, accepted)
        assert calibration.mean == fresh.mean


def test_forgetting_keeps_what_was_learnt_of_each_confidence() -> None:
    calibration = taught((0.95, True), (0.15, False), times=400)
    calibration.forget()

    assert calibration.acceptance(0.95) > 0.98
    assert calibration.acceptance(0.15) < 0.02
    assert calibration.acceptance(0.55) == PRIOR_ACCEPTANCE


def test_after_forgetting_the_mean_follows_the_text_within_a_few_tokens() -> None:
    stubborn, forgetful = (taught((0.5, False), times=400) for _ in range(2))
    forgetful.forget()
    for calibration in (stubborn, forgetful):
        for _ in range(4):
            calibration.learn(0.5, True)

    assert stubborn.mean < 0.1
    assert forgetful.mean > 0.85
