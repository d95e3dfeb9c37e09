"""Marking memories and going back is part of what a draft costs, as measured round by round."""

import pytest

from specchat.speculation.adaptive import AdaptiveLength
from specchat.speculation.controller import Outcome, Source
from specchat.speculation.costs import CostTable

EVEN = {1: 10.0, 2: 14.0, 9: 42.0}
"""Every token in a call costs 4 ms more."""


def controller_of(*, longest: int = 1) -> AdaptiveLength:
    verify = CostTable()
    for n_tokens, milliseconds in EVEN.items():
        verify.add(n_tokens, milliseconds)
    return AdaptiveLength(longest, verify)


def play(controller: AdaptiveLength, source: Source, accepted: int, step_back_ms: float) -> None:
    """A round with a draft of one."""
    controller.begin(1)
    controller.start(source, 0.5, 1)
    controller.go_on(0.5)
    verify_ms = EVEN[2]
    controller.finish(
        Outcome(
            1,
            accepted,
            accepted + 1,
            verify_ms + step_back_ms,
            verify_ms,
            10,
            step_back_ms=step_back_ms,
        )
    )


def test_a_draft_has_to_be_right_more_often_where_going_back_takes_time() -> None:
    controller = controller_of()
    play(controller, "ngram", accepted=1, step_back_ms=1.0)
    play(controller, "ngram", accepted=0, step_back_ms=3.0)

    # s * 10 > 4 + s * 1 + (1 - s) * 3, and of the other source s * 10 > 4.
    assert controller.break_even("ngram") == 0.59
    assert controller.break_even("model") == 0.41


def test_where_marking_eats_what_the_best_draft_could_win_no_draft_could_pay() -> None:
    for marking_ms, pays in ((5.9, True), (6.1, False)):
        controller = controller_of()
        play(controller, "ngram", accepted=1, step_back_ms=marking_ms)
        assert controller.could_pay("ngram") == pays


def test_the_rate_is_that_of_whole_rounds() -> None:
    controller = controller_of()
    play(controller, "ngram", accepted=1, step_back_ms=6.0)

    assert controller.rate == pytest.approx(2 / (14.0 + 6.0))


def test_a_round_that_was_disturbed_while_it_went_back_is_not_believed() -> None:
    controller = controller_of()
    for step_back_ms in (3.0, 300.0, 3.0, 3.0):
        play(controller, "ngram", accepted=0, step_back_ms=step_back_ms)

    assert controller.stepping_back["ngram"].expected(0.0) == 3.0
