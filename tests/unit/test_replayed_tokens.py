"""What a target decodes once more after a refusal is part of what a draft is expected to cost."""

from specchat.speculation.adaptive import AdaptiveLength
from specchat.speculation.controller import Outcome
from specchat.speculation.costs import CostTable

EVEN = {1: 10.0, 2: 14.0, 9: 42.0}
"""Every token in a call costs 4 ms more."""


def controller_of(*, replays: bool, acceptance: float) -> AdaptiveLength:
    """One that knows these costs, and has seen n-grams kept with this frequency."""
    verify = CostTable()
    for n_tokens, milliseconds in EVEN.items():
        verify.add(n_tokens, milliseconds)
    controller = AdaptiveLength(8, verify, replays=replays)
    rest = 0.0
    for _ in range(1000):
        rest += acceptance
        controller.calibration["ngram"].learn(0.5, rest >= 1)
        rest -= rest >= 1
    return controller


def test_a_draft_has_to_be_right_more_often_where_tokens_are_replayed() -> None:
    plain = controller_of(replays=False, acceptance=0.5).break_even("ngram")
    replaying = controller_of(replays=True, acceptance=0.5).break_even("ngram")
    assert plain is not None
    assert replaying is not None
    # With one guess: s * 10 > 4, and s * 10 > 4 + (1 - s) * 4.
    assert (plain, replaying) == (0.41, 0.58)


def test_drafting_goes_off_where_the_replay_eats_the_gain() -> None:
    for acceptance, replays, drafts in (
        (0.5, False, True),
        (0.5, True, False),
        (0.8, True, True),
    ):
        controller = controller_of(replays=replays, acceptance=acceptance)
        controller.begin(8)
        assert (controller.gain("ngram", 0.5, 1) > 0) == drafts


def test_certain_tokens_are_drafted_as_far_with_replays_as_without() -> None:
    for replays in (False, True):
        controller = controller_of(replays=replays, acceptance=1.0)
        controller.begin(8)
        assert controller.start("ngram", 0.5, 1)
        assert [controller.go_on(0.5) for _ in range(8)] == [True] * 7 + [False]


def test_a_call_is_learnt_by_all_its_tokens_those_decoded_again_included() -> None:
    controller = controller_of(replays=True, acceptance=0.5)
    controller.begin(8, pending=2)
    controller.finish(Outcome(1, 1, 2, 99.0, 50.0, 10, replayed=2))
    assert controller.verify.measured[4] == 50.0
    assert controller.verify.measured[2] == 14.0


def test_a_round_that_decodes_again_is_no_measure_of_plain_decoding() -> None:
    controller = controller_of(replays=True, acceptance=0.5)
    for _ in range(3):
        controller.finish(Outcome(0, 0, 1, 30.0, 30.0, 10, replayed=4))
    assert controller.baseline.tokens_per_second(10) is None
    for _ in range(3):
        controller.finish(Outcome(0, 0, 1, 10.0, 10.0, 10))
    assert controller.baseline.tokens_per_second(10) == 100.0
