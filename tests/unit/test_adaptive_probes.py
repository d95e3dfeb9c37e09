"""Rounds that the adaptive length spends on finding out: probes, and plain ones to compare with."""

import pytest

from specchat.speculation.controller import (
    BASELINE_EVERY,
    BASELINE_ROUNDS,
    FIRST_GAP,
    LONGEST_GAP,
    AdaptiveLength,
    Outcome,
)
from unit.played_rounds import Costs, Guess, always, play_round

COSTS = Costs({1: 10, 2: 12, 16: 60}, 3.0)
"""Drafting could pay, and does where more than half of the guesses are right."""
CHEAP = Costs({1: 10, 16: 13}, 1.0)
WRONG, RIGHT = always(0.5, agrees=False), always(0.5, agrees=True)


def disappointed() -> AdaptiveLength:
    """A controller that has drafted in vain until it stopped."""
    controller = COSTS.controller()
    for _ in range(200):
        controller.calibration["model"].learn(0.5, False)
    return controller


def gap_before_a_probe(controller: AdaptiveLength, guess: Guess) -> int:
    """Rounds without a draft, until one comes that has one; it gets this guess."""
    gap = 0
    while play_round(controller, COSTS, guess).drafted == 0:
        assert controller.reason.kind == "costs_more"
        gap += 1
    assert controller.reason.kind == "probing"
    return gap


def test_while_probes_fail_the_gap_between_them_doubles_up_to_the_longest() -> None:
    controller = disappointed()
    gaps = [gap_before_a_probe(controller, WRONG) for _ in range(10)]

    assert gaps == [4, 8, 16, 32, 64, 128, 256, 512, 512, 512]
    assert (gaps[0], gaps[-1]) == (FIRST_GAP, LONGEST_GAP)


def test_a_probe_that_pays_brings_the_next_one_near() -> None:
    controller = disappointed()
    for _ in range(5):
        gap_before_a_probe(controller, WRONG)

    assert gap_before_a_probe(controller, RIGHT) == 128
    assert [gap_before_a_probe(controller, WRONG) for _ in range(3)] == [4, 8, 16]


def test_a_probe_of_which_something_is_kept_may_not_pay_all_the_same() -> None:
    """Two tokens for 22 ms against one for 10."""
    slow = Costs({1: 10, 2: 17, 3: 10.5, 16: 60}, 5.0)
    controller = slow.controller()
    for _ in range(200):
        controller.calibration["model"].learn(0.5, False)
    gaps: list[int] = []
    while len(gaps) < 3:
        gap = 0
        while not controller.begin(1) or not controller.start("model", None, 1):
            controller.finish(Outcome(0, 0, 1, 10.0, 10.0, 100))
            gap += 1
        controller.go_on(0.5)
        controller.finish(Outcome(1, 1, 2, 22.0, 17.0, 100))
        gaps.append(gap)

    assert gaps == [4, 8, 16]


def test_drafting_is_taken_up_again_when_the_text_gets_easy() -> None:
    controller = disappointed()
    for _ in range(3):
        gap_before_a_probe(controller, WRONG)
    kinds: list[str] = []
    for _ in range(600):
        play_round(controller, COSTS, RIGHT)
        kinds.append(controller.reason.kind)

    assert set(kinds[:10]) == {"costs_more"}
    assert set(kinds[-200:]) <= {"worth", "predictable", "baseline"}


@pytest.mark.parametrize(("reading_all_ms", "probed"), [(50.0, True), (400.0, False)])
def test_a_model_far_behind_is_probed_where_catching_up_is_cheap(
    reading_all_ms: float, probed: bool
) -> None:
    controller = disappointed()
    controller.spent("model", 500, reading_all_ms)
    drafted = [
        play_round(controller, COSTS, WRONG, pending=2 + since).drafted for since in range(200)
    ]

    assert drafted[:4] == [0, 0, 0, 0]
    assert any(drafted) == probed


def test_the_plain_rate_is_measured_anew_after_many_rounds_with_drafts() -> None:
    controller = CHEAP.controller()
    guess = always(0.95, agrees=True)
    kinds: list[str] = []
    drafted: list[int] = []
    for _ in range(2 * (BASELINE_EVERY + BASELINE_ROUNDS)):
        drafted.append(play_round(controller, CHEAP, guess).drafted)
        kinds.append(controller.reason.kind)
    plain = [index for index, length in enumerate(drafted) if length == 0]

    one_block = list(range(BASELINE_EVERY, BASELINE_EVERY + BASELINE_ROUNDS))
    later = [index + BASELINE_EVERY + BASELINE_ROUNDS for index in one_block]
    assert plain == [*one_block, *later]
    assert [index for index, kind in enumerate(kinds) if kind == "baseline"] == plain


def test_once_measured_the_plain_rate_is_known() -> None:
    controller = CHEAP.controller()
    guess = always(0.95, agrees=True)
    for _ in range(BASELINE_EVERY):
        play_round(controller, CHEAP, guess)
    assert controller.baseline.tokens_per_second(100) is None
    for _ in range(BASELINE_ROUNDS):
        play_round(controller, CHEAP, guess)

    assert controller.baseline.tokens_per_second(100) == 100.0
    assert play_round(controller, CHEAP, guess).drafted > 0


def test_where_nothing_is_drafted_anyway_no_round_is_set_apart_for_the_plain_rate() -> None:
    controller = disappointed()
    kinds: set[str] = set()
    for _ in range(2 * BASELINE_EVERY):
        play_round(controller, COSTS, WRONG)
        kinds.add(controller.reason.kind)

    assert kinds == {"costs_more", "probing"}
    assert controller.baseline.tokens_per_second(100) == 100.0
