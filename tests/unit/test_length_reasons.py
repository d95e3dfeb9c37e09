"""What the length controllers say they did and why, and the plain rate they measure on the way."""

from itertools import groupby

import pytest

from specchat.speculation.adaptive import PREDICTABLE, AdaptiveLength
from specchat.speculation.controller import (
    BASELINE_KEPT,
    BASELINE_ROUNDS,
    LIKE_DEPTH,
    Baseline,
    FixedLength,
    Outcome,
    Reason,
    Source,
)
from unit.played_rounds import LONGEST, Costs, always, play_round, teach

CHEAP = Costs({1: 10, 16: 13}, 1.0)


def believing(acceptance: float, costs: Costs = CHEAP) -> AdaptiveLength:
    """A controller that has seen about this share of its model's guesses kept."""
    controller = costs.controller()
    assert teach(controller.calibration["model"], acceptance) == pytest.approx(acceptance, abs=0.02)
    return controller


def plain_round(ms: float = 10.0, depth: int = 100) -> Outcome:
    return Outcome(0, 0, 1, ms, ms, depth)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (Reason("fixed", 3), "drafting 3, fixed"),
        (Reason("plain"), "plain decoding"),
        (Reason("predictable", 6, 5.0, 40.0), "drafting 6: text is predictable"),
        (Reason("worth", 2, 4.26, 9.0), "drafting 2: costs 4.3 ms, saves 9.0"),
        (
            Reason("costs_more", 1, 8.0, 3.14),
            "not drafting: a draft of 1 costs 8.0 ms and would save 3.1",
        ),
        (Reason("no_match"), "not drafting: nothing said before fits"),
        (Reason("probing", 2), "probing: drafting 2 to see whether it pays again"),
        (Reason("baseline"), "measuring plain decoding"),
    ],
    ids=lambda value: value.kind if isinstance(value, Reason) else "",
)
def test_every_reason_has_its_words(reason: Reason, words: str) -> None:
    assert reason.words == words


def test_a_draft_that_pays_says_what_it_costs_and_saves() -> None:
    controller = believing(0.5)
    controller.begin(2)
    assert controller.start("model", None, 1)

    # Two calls of 1 ms and two more tokens to verify; at 10 ms a token, about 0.5 + 0.25 are won.
    reason, mean = controller.reason, controller.calibration["model"].mean
    assert (reason.kind, reason.length) == ("worth", 2)
    assert reason.cost_ms == pytest.approx(2 * 1.0 + 2 * 0.2)
    assert reason.saved_ms == pytest.approx(10 * (mean + mean**2))
    assert reason.saved_ms == pytest.approx(7.5, abs=0.5)


def test_from_four_of_five_kept_the_text_is_predictable() -> None:
    kinds, means = [], []
    for acceptance in (0.78, 0.82):
        controller = believing(acceptance)
        means.append(controller.calibration["model"].mean)
        controller.begin(LONGEST)
        controller.start("model", None, 1)
        kinds.append(controller.reason.kind)

    assert 0.76 < means[0] < PREDICTABLE == 0.8 < means[1] < 0.84
    assert kinds == ["worth", "predictable"]


def test_a_draft_that_does_not_pay_says_what_it_would_have_cost_and_saved() -> None:
    controller = believing(0.5, Costs({1: 10, 2: 14, 16: 70}, 3.0))
    controller.begin(LONGEST)
    assert not controller.start("model", None, 1)

    reason, mean = controller.reason, controller.calibration["model"].mean
    assert (reason.kind, reason.length) == ("costs_more", 1)
    assert reason.cost_ms == pytest.approx(3.0 + 4.0)
    assert reason.saved_ms == pytest.approx(10 * mean)
    assert reason.saved_ms == pytest.approx(5.0, abs=0.2)


@pytest.mark.parametrize("acceptance", [0.05, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("pending", [1, 40])
@pytest.mark.parametrize("step", [0.5, 3.0, 9.0])
def test_what_is_said_to_be_saved_is_more_than_the_cost_just_where_it_drafts(
    acceptance: float, pending: int, step: float
) -> None:
    controller = believing(acceptance, Costs({1: 10, 2: 14, 16: 70}, step, reading=0.3))
    controller.spent("model", 40, step + 0.3 * 38)
    controller.begin(LONGEST)
    started = controller.start("model", None, pending)

    assert started == (controller.reason.saved_ms > controller.reason.cost_ms)


def test_what_the_model_has_to_read_first_is_part_of_the_cost() -> None:
    controller = believing(0.5)
    controller.spent("model", 30, 21.0)
    costs = []
    for pending in (1, 30):
        controller.begin(1)
        controller.start("model", None, pending)
        costs.append(controller.reason.cost_ms)

    assert costs == pytest.approx([1.2, 21.2])


def test_a_probe_says_so() -> None:
    costs = Costs({1: 10, 2: 12, 16: 60}, 3.0)
    controller = believing(0.0, costs)
    kinds = []
    for _ in range(20):
        drafted = play_round(controller, costs, always(0.5, agrees=False)).drafted
        kinds.append(controller.reason.kind)
        assert (drafted > 0) == (controller.reason.kind != "costs_more")
        assert controller.reason.length >= 1
    spells = [(kind, len(list(rounds))) for kind, rounds in groupby(kinds)]

    # Only the first round of a spell is a probe; the others are drafted as any that seem to pay.
    assert [kind for kind, _ in spells[:4]] == ["costs_more", "probing", "worth", "costs_more"]
    assert spells[:2] == [("costs_more", 4), ("probing", 1)]
    assert spells[2][1] < 5


def test_a_probe_promises_the_length_that_an_unknown_text_deserves() -> None:
    unknown, probing = CHEAP.controller(), believing(0.0)
    while probing.reason.kind != "probing":
        probing.begin(LONGEST)
        if not probing.start("model", None, 1):
            probing.finish(plain_round())
    unknown.begin(LONGEST)
    unknown.start("model", None, 1)

    assert probing.reason == Reason("probing", unknown.reason.length)
    assert probing.reason.length > 1


@pytest.mark.parametrize("sure", [1, 3, 6])
def test_once_the_round_is_over_a_reason_tells_the_length_really_drafted(sure: int) -> None:
    controller = CHEAP.controller()
    for _ in range(200):
        for _ in range(9):
            controller.calibration["model"].learn(0.95, True)
        controller.calibration["model"].learn(0.05, False)
    controller.begin(LONGEST)
    controller.start("model", None, 1)
    planned = controller.reason
    outcome = play_round(controller, CHEAP, lambda place: (0.95 if place < sure else 0.05, True))

    assert planned.length > outcome.drafted == sure + 1
    assert controller.reason == Reason("predictable", sure + 1, planned.cost_ms, planned.saved_ms)


def test_a_round_in_which_no_drafter_asks_to_start_found_no_match() -> None:
    controller = believing(0.9)
    play_round(controller, CHEAP, always(0.5, agrees=True))

    assert controller.begin(LONGEST)
    assert controller.reason == Reason("no_match")


def test_without_room_for_a_draft_it_decodes_plainly_and_says_that() -> None:
    controller = believing(0.9)

    assert not controller.begin(0)
    assert controller.reason == Reason("plain")


def test_before_the_first_round_an_adaptive_length_has_decoded_plainly() -> None:
    assert CHEAP.controller().reason == Reason("plain")


@pytest.mark.parametrize(("length", "limit", "drafted"), [(3, 9, 3), (3, 2, 2), (1, 9, 1)])
def test_a_fixed_length_is_kept_to_whatever_the_confidence(
    length: int, limit: int, drafted: int
) -> None:
    controller = FixedLength(length)
    for confidence in (0.0, 1.0):
        outcome = play_round(controller, CHEAP, always(confidence, agrees=False), limit=limit)
        assert outcome.drafted == drafted

    assert controller.reason == Reason("fixed", length)


def test_a_fixed_length_of_zero_is_plain_decoding() -> None:
    controller = FixedLength(0)

    assert play_round(controller, CHEAP, always(1.0, agrees=True)).drafted == 0
    assert not controller.could_pay("model")
    assert controller.reason == Reason("plain")


def test_without_room_a_fixed_length_is_not_drafted() -> None:
    assert play_round(FixedLength(3), CHEAP, always(1.0, agrees=True), limit=0).drafted == 0


def test_with_a_fixed_length_a_long_match_goes_before_the_model() -> None:
    controller = FixedLength(3)
    model = controller.gain("model", None, 1)

    assert controller.gain("ngram", 0.95, 1) > model > controller.gain("ngram", 0.05, 1)
    sources: list[Source] = ["model", "ngram"]
    assert all(controller.start(source, 0.05, 500) for source in sources)


def test_the_plain_rate_is_known_after_a_few_plain_rounds() -> None:
    baseline = Baseline()
    found = []
    for ms in (10.0, 40.0, 10.0):
        baseline.add(plain_round(ms))
        found.append(baseline.tokens_per_second(100))

    assert len(found) == BASELINE_ROUNDS
    assert found == [None, None, 50.0]  # three tokens in 60 ms, the slow one included


def test_rounds_with_a_draft_tell_nothing_of_the_plain_rate() -> None:
    baseline = Baseline()
    for _ in range(10):
        baseline.add(Outcome(3, 2, 3, 10.0, 9.0, 100))

    assert baseline.tokens_per_second(100) is None
    assert baseline.age_s is None
    assert baseline.since == 10


def test_the_plain_rate_holds_for_a_like_depth_of_context() -> None:
    baseline = Baseline()
    for _ in range(3):
        baseline.add(plain_round(10.0, depth=5000))
    near, far = LIKE_DEPTH, LIKE_DEPTH + 1

    assert baseline.tokens_per_second(5000 - near) == baseline.tokens_per_second(5000 + near) == 100
    assert baseline.tokens_per_second(5000 - far) is baseline.tokens_per_second(5000 + far) is None
    for _ in range(3):
        baseline.add(plain_round(20.0, depth=9000))
    assert [baseline.tokens_per_second(depth) for depth in (5000, 9000)] == [100, 50]


def test_the_plain_rate_is_without_what_snapshots_take_of_a_call() -> None:
    baseline = Baseline(snapshots_ms=4.0)
    for ms in (14.0, 24.0, 14.0):
        baseline.add(plain_round(ms))

    assert baseline.tokens_per_second(100) == 75.0  # three tokens in 10 + 20 + 10 ms


def test_snapshots_never_took_more_than_the_call() -> None:
    """As they would seem to on a machine that has become quicker since they were measured."""
    baseline = Baseline(snapshots_ms=40.0)
    for _ in range(3):
        baseline.add(Outcome(0, 0, 1, round_ms=10.0, verify_ms=9.0, n_past=100))

    assert baseline.tokens_per_second(100) == 1000.0


def test_old_plain_rounds_are_forgotten() -> None:
    baseline = Baseline()
    for ms in [10.0] * 20 + [20.0] * BASELINE_KEPT:
        baseline.add(plain_round(ms))

    assert baseline.tokens_per_second(100) == 50.0


def test_a_plain_round_makes_the_measurement_young_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("specchat.speculation.controller.monotonic", lambda: clock[0])
    baseline = Baseline()
    baseline.add(plain_round())
    clock[0] = 107.5
    baseline.add(Outcome(3, 2, 3, 10.0, 9.0, 100))
    assert baseline.age_s == 7.5
    assert baseline.since == 1
    baseline.add(plain_round())

    assert baseline.age_s == 0.0
    assert baseline.since == 0


def test_a_baseline_can_be_handed_from_one_controller_to_the_next() -> None:
    baseline = Baseline()
    for _ in range(3):
        FixedLength(0, baseline).finish(plain_round())

    assert FixedLength(3, baseline).baseline.tokens_per_second(100) == 100.0


def test_the_acceptance_from_which_drafting_pays_follows_from_the_costs() -> None:
    """One token more costs 5 + 2 of 10 ms; wider drafts are no cheaper a token."""
    controller = Costs({1: 10, 2: 12, 16: 40}, 5.0).controller()

    assert controller.break_even("model") == pytest.approx(0.71)
    assert controller.break_even("ngram") == pytest.approx(0.21)


def test_a_draft_as_slow_as_its_target_never_pays() -> None:
    assert Costs({1: 10, 2: 11}, 10.0).controller().break_even("model") == float("inf")
    assert FixedLength(3).break_even("model") is None
