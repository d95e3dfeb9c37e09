"""Rounds that the adaptive length spends on finding out: probes, and plain ones to compare with."""

from typing import NamedTuple

import pytest

from specchat.speculation.adaptive import BASELINE_EVERY, FIRST_GAP, LONGEST_GAP, AdaptiveLength
from specchat.speculation.confidence import PRIOR_ACCEPTANCE
from specchat.speculation.controller import BASELINE_ROUNDS, Outcome
from specchat.speculation.costs import SAMPLES
from unit.played_rounds import LONGEST, Costs, always, play_round, teach

COSTS = Costs({1: 10, 2: 12, 16: 60}, 3.0)
"""Drafting could pay, and does where more than half of the guesses are right."""
CHEAP = Costs({1: 10, 16: 13}, 1.0)
WRONG, RIGHT = always(0.5, agrees=False), always(0.5, agrees=True)


def disappointed() -> AdaptiveLength:
    """A controller that has drafted in vain until it stopped."""
    controller = COSTS.controller()
    teach(controller.calibration["model"], 0.0, times=200)
    return controller


class Spell(NamedTuple):
    """Rounds without a draft, and those with one that came after them."""

    gap: int
    rounds: int


def next_spell(controller: AdaptiveLength, *, right: int = 0, limit: int = LONGEST) -> Spell:
    """Until the end of the next spell, so many rounds of which guess right, and then none.

    The round that shows the spell to be over belongs to the gap after it and has been played.
    """
    gap, rounds = 1, 0
    while play_round(controller, COSTS, RIGHT if right else WRONG, limit=limit).drafted == 0:
        assert controller.reason.kind == "costs_more"
        gap += 1
    assert controller.reason.kind == "probing"
    drafted = 1
    while drafted:
        rounds += 1
        guess = RIGHT if rounds < right else WRONG
        drafted = play_round(controller, COSTS, guess, limit=limit).drafted
        assert controller.reason.kind in ({"worth", "predictable"} if drafted else {"costs_more"})
    return Spell(gap, rounds)


def stopped() -> AdaptiveLength:
    """A disappointed controller after the first round without a draft."""
    controller = disappointed()
    assert play_round(controller, COSTS, WRONG).drafted == 0
    return controller


def test_while_spells_fail_the_gap_between_them_doubles_up_to_the_longest() -> None:
    controller = stopped()
    gaps = [next_spell(controller).gap for _ in range(10)]

    assert gaps == [4, 8, 16, 32, 64, 128, 256, 512, 512, 512]
    assert (gaps[0], gaps[-1]) == (FIRST_GAP, LONGEST_GAP)


def test_a_spell_lasts_until_it_is_clear_that_it_does_not_pay() -> None:
    """A few rounds, and however long the spell, it counts once."""
    controller = stopped()
    spells = [next_spell(controller, limit=1) for _ in range(4)]

    assert all(2 <= spell.rounds <= 5 for spell in spells)
    assert [spell.gap for spell in spells] == [4, 8, 16, 32]


def test_a_spell_that_won_brings_the_next_one_near() -> None:
    controller = stopped()
    for _ in range(5):
        next_spell(controller)

    won = next_spell(controller, right=200)
    assert won.gap == 128
    assert won.rounds > 200
    assert [next_spell(controller).gap for _ in range(3)] == [4, 8, 16]


def test_a_spell_is_judged_as_a_whole_and_not_by_its_first_or_last_rounds() -> None:
    """A round with a draft of one takes 15 ms: kept it wins 5 over plain decoding, else loses 5."""
    gaps = {}
    for right in (2, 200):
        controller = stopped()
        for _ in range(3):
            next_spell(controller, limit=1)
        spell = next_spell(controller, right=right, limit=1)
        assert (spell.rounds < 2 * right) == (right == 200)
        gaps[right] = (spell.gap, next_spell(controller, limit=1).gap)

    assert gaps == {2: (32, 64), 200: (32, 4)}


def test_a_round_without_room_for_a_draft_ends_a_spell_too() -> None:
    controller = stopped()
    for _ in range(4):
        next_spell(controller, limit=1)
    while play_round(controller, COSTS, RIGHT, limit=1).drafted == 0:
        pass
    play_round(controller, COSTS, RIGHT, limit=0)

    # The spell of one round has won; what follows is another, which loses: 4 becomes 8.
    while play_round(controller, COSTS, WRONG, limit=1).drafted:
        pass
    assert next_spell(controller, limit=1).gap == 2 * FIRST_GAP


@pytest.mark.parametrize(("drafting_ms", "expected"), [(5.5, [4, 8, 16]), (4.5, [4, 4, 4])])
def test_a_probe_of_which_something_is_kept_may_not_pay_all_the_same(
    drafting_ms: float, expected: list[int]
) -> None:
    """Two tokens in 15 ms and this time against one for 10."""
    slow = Costs({1: 10, 2: 15, 3: 10.5, 16: 60}, drafting_ms)
    controller = slow.controller()
    teach(controller.calibration["model"], 0.0, times=200)
    gaps: list[int] = []
    while len(gaps) < 3:
        gap = 0
        while not controller.begin(1) or not controller.start("model", None, 1):
            controller.finish(Outcome(0, 0, 1, 10.0, 10.0, 100))
            gap += 1
        controller.spent("model", 1, drafting_ms)
        controller.go_on(0.5)
        controller.finish(Outcome(1, 1, 2, drafting_ms + 15.0, 15.0, 100))
        gaps.append(gap)

    assert gaps == expected


@pytest.mark.parametrize(("bad_spells", "gap"), [(0, 4), (3, 32), (7, 512), (10, 512)])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_after_a_bad_stretch_drafting_is_taken_up_again_within_one_gap_when_the_text_gets_easy(
    bad_spells: int, gap: int, confidence: float
) -> None:
    controller = stopped()
    for _ in range(bad_spells):
        next_spell(controller)
    rounds = [
        play_round(controller, COSTS, always(confidence, agrees=True)) for _ in range(gap + 200)
    ]

    # One round of the gap had been played; from the probe on every round has a draft.
    assert [outcome.drafted > 0 for outcome in rounds] == [False] * (gap - 1) + [True] * 201
    spell = rounds[gap - 1 :]
    assert sum(outcome.emitted for outcome in spell) / sum(
        outcome.round_ms for outcome in spell
    ) > 1.25 / COSTS.verify(1)


def test_a_probe_begins_anew_with_the_mean_of_its_own_source_only() -> None:
    controller = disappointed()
    teach(controller.calibration["ngram"], 0.1)
    before = controller.calibration["ngram"].mean
    while controller.reason.kind != "probing":
        assert controller.calibration["model"].mean < 0.1
        controller.begin(1)
        if not controller.start("model", None, 1):
            controller.finish(Outcome(0, 0, 1, 10.0, 10.0, 100))

    assert controller.calibration["model"].mean == PRIOR_ACCEPTANCE
    assert controller.calibration["ngram"].mean == before


def test_a_draft_that_was_slow_for_a_while_is_tried_again() -> None:
    controller = COSTS.controller()
    for _ in range(SAMPLES - 1):
        controller.spent("model", 1, 40 * COSTS.step)
    drafted = [play_round(controller, COSTS, RIGHT).drafted for _ in range(30)]

    assert controller.could_pay("model")
    assert drafted[:FIRST_GAP] == [0] * FIRST_GAP
    assert all(drafted[FIRST_GAP:])


def test_wide_calls_that_were_slow_for_a_while_are_tried_again() -> None:
    controller = COSTS.controller()
    for n_tokens in range(2, LONGEST + 2):
        for _ in range(SAMPLES - 1):
            controller.verify.add(n_tokens, 40 * COSTS.verify(n_tokens))
    drafted = [play_round(controller, COSTS, RIGHT).drafted for _ in range(30)]

    assert drafted[:FIRST_GAP] == [0] * FIRST_GAP
    assert all(drafted[FIRST_GAP:])


def test_after_a_first_measurement_on_a_busy_machine_drafting_is_tried_once_it_is_idle() -> None:
    busy = Costs({size: 3 * cost for size, cost in COSTS.known.items()}, 3 * COSTS.step)
    controller = busy.controller()
    drafted = [play_round(controller, COSTS, RIGHT).drafted for _ in range(60)]

    assert all(drafted[-30:])
    assert max(drafted[-30:]) > 2


def test_a_round_that_seems_to_pay_forgets_nothing() -> None:
    controller = COSTS.controller()
    mean = teach(controller.calibration["model"], 0.9)
    for _ in range(2 * FIRST_GAP):
        play_round(controller, COSTS, RIGHT, limit=0)
    controller.begin(LONGEST)

    assert controller.start("model", None, 1)
    assert controller.reason.kind == "predictable"
    assert controller.calibration["model"].mean == mean


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
    kinds: list[str] = []
    for _ in range(2 * BASELINE_EVERY):
        play_round(controller, COSTS, WRONG)
        kinds.append(controller.reason.kind)

    assert set(kinds) == {"costs_more", "probing", "worth"}
    assert kinds.count("costs_more") > 0.95 * len(kinds)
    assert controller.baseline.tokens_per_second(100) == 100.0
