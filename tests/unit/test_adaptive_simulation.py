"""The adaptive length on simulated texts and machines, beside every fixed length."""

from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pytest

from unit.played_rounds import LONGEST, Costs, play_round

TOKENS = 12000
FIXED_LENGTHS = range(11)

MACHINES = {
    "a wide call dips at 4": Costs(
        {1: 72, 2: 90, 3: 118, 4: 113, 5: 126, 6: 133, 8: 171, 12: 230, 16: 295},
        9.8,
        jitter=0.03,
    ),
    "width is nearly free": Costs({1: 20, 16: 26}, 2.5, jitter=0.03),
    "stepping back is dear": Costs({1: 20, 16: 26}, 2.5, jitter=0.03, marking=4, going_back=22),
    "two cost nearly twice": Costs(
        {1: 9.8, 2: 17.3, 3: 24, 4: 16.9, 5: 23.7, 6: 27, 8: 26.7, 10: 35, 12: 41, 16: 50},
        3.0,
        jitter=0.03,
    ),
}


class Climate(NamedTuple):
    """Mean acceptance in hard and in easy stretches, and the chance to change at a token."""

    hard: float
    easy: float
    switch: float


CLIMATES = {
    "now hard, now easy": Climate(0.5, 0.8, 0.02),
    "always hard": Climate(0.25, 0.25, 0.0),
    "easy": Climate(0.85, 0.95, 0.02),
}


class Text(NamedTuple):
    """For each token of a text whether the draft guesses it, and how sure it is of that."""

    agrees: list[bool]
    confidence: list[float]


def text_of(climate: Climate) -> Text:
    random = np.random.default_rng(3)
    length = TOKENS + 2 * LONGEST
    easy = (random.random(length) < climate.switch).cumsum() % 2 == 0
    mean = np.where(easy, climate.easy, climate.hard)
    acceptance = random.beta(4 * mean + 0.2, 4 * (1 - mean) + 0.2).clip(0.01, 0.995)
    confidence = (acceptance + random.normal(0, 0.12, length)).clip(0, 0.999)
    return Text((random.random(length) < acceptance).tolist(), confidence.tolist())


def guess_of(text: Text, place: int, ahead: int) -> tuple[float, bool]:
    return text.confidence[place + ahead], text.agrees[place + ahead]


def rate_of_fixed(length: int, costs: Costs, text: Text) -> float:
    """Tokens a millisecond."""
    call_ms = length * costs.step + costs.verify(length + 1)
    place = 0
    milliseconds = 0.0
    while place < TOKENS:
        kept = 0
        while kept < length and text.agrees[place + kept]:
            kept += 1
        place += kept + 1
        milliseconds += call_ms + costs.stepping_back(length, kept)
    return place / milliseconds


def rate_of_adaptive(costs: Costs, text: Text) -> float:
    """Tokens a millisecond, with a draft model that has to read what was said without it."""
    controller = costs.controller()
    place = read = 0
    milliseconds = 0.0
    while place < TOKENS:
        outcome = play_round(
            controller,
            costs,
            partial(guess_of, text, place),
            pending=place + 1 - read,
            n_past=place,
        )
        if outcome.drafted:
            read = place + 1 + min(outcome.accepted, outcome.drafted - 1)
        place += outcome.emitted
        milliseconds += outcome.round_ms
    return place / milliseconds


class Rates(NamedTuple):
    """Tokens a millisecond."""

    adaptive: float
    fixed: list[float]
    """By length, 0 for plain decoding."""


@cache
def rates(machine: str, climate: str) -> Rates:
    costs, text = MACHINES[machine], text_of(CLIMATES[climate])
    return Rates(
        rate_of_adaptive(costs, text),
        [rate_of_fixed(length, costs, text) for length in FIXED_LENGTHS],
    )


everywhere = pytest.mark.parametrize("climate", CLIMATES)
on_all_machines = pytest.mark.parametrize("machine", MACHINES)


@everywhere
@on_all_machines
def test_it_comes_close_to_the_best_fixed_length_chosen_afterwards(
    machine: str, climate: str
) -> None:
    found = rates(machine, climate)

    assert found.adaptive >= 0.97 * max(found.fixed)


@everywhere
@on_all_machines
def test_it_costs_hardly_anything_where_drafting_does_not_pay(machine: str, climate: str) -> None:
    found = rates(machine, climate)

    assert found.adaptive >= 0.98 * found.fixed[0]


@on_all_machines
def test_where_the_text_changes_it_beats_a_fixed_length_if_drafting_pays(machine: str) -> None:
    found = rates(machine, "now hard, now easy")

    if max(found.fixed) > 1.05 * found.fixed[0]:
        assert found.adaptive > max(found.fixed)


@pytest.mark.parametrize("reading", [0.05, 0.4])
def test_an_idle_model_that_has_to_catch_up_costs_hardly_anything(reading: float) -> None:
    machine = MACHINES["two cost nearly twice"]
    costs = Costs(machine.known, machine.step, reading=reading, jitter=0.03)
    found = rate_of_adaptive(costs, text_of(CLIMATES["always hard"]))

    assert found >= 0.98 / machine.verify(1)


@pytest.mark.parametrize("machine", ["a wide call dips at 4", "two cost nearly twice"])
def test_a_neighbour_that_disturbs_one_call_in_ten_costs_hardly_anything(machine: str) -> None:
    text = text_of(CLIMATES["always hard"])
    disturbed = Costs(MACHINES[machine].known, MACHINES[machine].step, jitter=0.03, disturbed=0.1)
    plain = sum(disturbed.verifying(1) for _ in range(TOKENS)) / TOKENS

    assert rate_of_adaptive(disturbed, text) >= 0.95 / plain


def test_no_fixed_length_is_best_everywhere() -> None:
    best = {
        int(np.argmax(rates(machine, climate).fixed))
        for machine in MACHINES
        for climate in CLIMATES
    }

    assert 0 in best
    assert len(best) > 3
