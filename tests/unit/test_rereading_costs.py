"""Heads whose later guesses take in the draft once more cost more, the longer the draft is."""

import pytest

from specchat.speculation.adaptive import AdaptiveLength
from specchat.speculation.controller import Reach
from specchat.speculation.costs import CostTable

LONGEST = 3


def controller_of(*, rereads: bool, third_ms: float = 6.0) -> AdaptiveLength:
    """Verifying costs nothing more, guesses 1 ms, 3 ms and so much, and all of them are kept."""
    verify = CostTable()
    verify.add(1, 10.0)
    verify.add(9, 10.0)
    reach = Reach(longest=LONGEST, rereads=rereads)
    controller = AdaptiveLength(8, verify, reach=reach)
    for guess, milliseconds in ((1, 1.0), (2, 3.0), (3, third_ms)):
        controller.spent("model", 1, milliseconds, guess=guess)
    for _ in range(1000):
        controller.calibration["model"].learn(0.5, accepted=True)
    return controller


def test_calls_of_later_guesses_are_booked_apart_from_that_of_the_first() -> None:
    rereading, stepping = controller_of(rereads=True), controller_of(rereads=False)
    assert rereading.drafting["model"].measured == {1: 1.0}
    assert rereading.rereading.measured == {2: 3.0, 3: 6.0}
    assert stepping.rereading.measured == {}
    assert stepping.drafting["model"].measured == {1: 1.0}  # of three calls the lower quartile


def test_a_draft_costs_the_sum_of_its_guesses() -> None:
    controller = controller_of(rereads=True)
    controller.begin(8)
    # At a rate of 1 token in 10 ms.
    assert controller.gain("model", 0.5, 1) == pytest.approx(3 - (1 + 3 + 6) / 10, abs=0.01)
    assert controller.break_even("model") == 0.11


def test_a_guess_that_costs_more_than_a_plain_token_is_not_made() -> None:
    for third_ms, longest in ((6.0, 3), (11.0, 2)):
        controller = controller_of(rereads=True, third_ms=third_ms)
        controller.begin(8)
        assert controller.start("model", 0.5, 1)
        made = 1
        while controller.go_on(0.5):
            made += 1
        assert made == longest


def test_only_where_some_length_wins_could_drafting_pay() -> None:
    controller = controller_of(rereads=True)
    assert controller.could_pay("model")
    dear = controller_of(rereads=True)
    dear.drafting["model"] = CostTable(dear.verify)
    dear.drafting["model"].add(1, 11.0)
    assert dear.could_pay("model")  # three tokens for 20 ms
    dear.rereading = CostTable(dear.verify)
    dear.rereading.add(2, 10.0)
    dear.rereading.add(3, 10.0)
    assert not dear.could_pay("model")
