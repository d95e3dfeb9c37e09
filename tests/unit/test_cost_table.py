"""The table of what decode calls cost: what is usual, what lies between them and beyond."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.speculation.costs import SAMPLES, CostTable

milliseconds = st.floats(0.001, 1000.0)
tables = st.dictionaries(st.integers(1, 40), milliseconds, min_size=1, max_size=8)


def table_of(costs: dict[int, float]) -> CostTable:
    table = CostTable()
    for n_tokens, cost in costs.items():
        table.add(n_tokens, cost)
    return table


@given(st.dictionaries(st.integers(1, 40), milliseconds, max_size=8))
def test_what_was_measured_is_listed_by_size(costs: dict[int, float]) -> None:
    measured = table_of(costs).measured

    assert measured == costs
    assert list(measured) == sorted(costs)


@given(tables)
def test_a_measured_size_costs_what_was_measured_however_uneven_the_costs(
    costs: dict[int, float],
) -> None:
    table = table_of(costs)

    assert {n_tokens: table.cost(n_tokens) for n_tokens in costs} == pytest.approx(costs)


def test_a_dip_and_a_bump_are_kept_as_they_are() -> None:
    table = table_of({1: 9.8, 2: 17.3, 3: 24.0, 4: 16.8, 5: 23.6, 8: 26.6})

    assert [table.cost(n) for n in range(1, 9)] == pytest.approx(
        [9.8, 17.3, 24.0, 16.8, 23.6, 24.6, 25.6, 26.6]
    )


@given(tables, st.integers(1, 60))
def test_between_two_measured_sizes_the_cost_is_on_the_line_between_them(
    costs: dict[int, float], n_tokens: int
) -> None:
    lower = [n for n in costs if n <= n_tokens]
    upper = [n for n in costs if n >= n_tokens]
    if not lower or not upper:
        return
    low, high = max(lower), min(upper)
    share = (n_tokens - low) / (high - low) if high > low else 0.0
    wanted = (1 - share) * costs[low] + share * costs[high]

    assert table_of(costs).cost(n_tokens) == pytest.approx(wanted)


def test_above_the_largest_size_the_slope_of_the_whole_table_goes_on() -> None:
    table = table_of({1: 10.0, 3: 50.0, 5: 18.0})

    assert [table.cost(n) for n in (6, 7, 15)] == pytest.approx([20.0, 22.0, 38.0])


def test_above_the_largest_size_nothing_gets_cheaper() -> None:
    table = table_of({1: 10.0, 4: 6.0})

    assert [table.cost(n) for n in (5, 50)] == [6.0, 6.0]


def test_below_the_smallest_size_it_is_that_ones_cost() -> None:
    assert [table_of({3: 7.0, 4: 9.0}).cost(n) for n in (1, 2)] == [7.0, 7.0]


def test_one_measured_size_stands_for_all() -> None:
    assert [table_of({2: 7.0}).cost(n) for n in (1, 2, 9)] == [7.0, 7.0, 7.0]


def test_reading_nothing_costs_nothing() -> None:
    assert table_of({1: 7.0, 2: 9.0}).cost(0) == 0.0


def test_neighbours_that_disturb_every_other_call_do_not_move_the_cost() -> None:
    table = CostTable()
    for cost in (10.0, 90.0, 12.0, 3000.0, 11.0, 70.0, 9.0, 80.0):
        table.add(1, cost)

    assert table.cost(1) == 11.0


def test_each_size_has_calls_of_its_own() -> None:
    table = table_of({1: 10.0, 2: 20.0})
    table.add(2, 40.0)
    table.add(2, 10.0)
    table.add(2, 30.0)

    assert table.measured == {1: 10.0, 2: 20.0}


@given(st.lists(milliseconds, min_size=1, max_size=SAMPLES))
def test_few_or_many_a_quarter_of_the_calls_was_quicker(samples: list[float]) -> None:
    table = CostTable()
    for cost in samples:
        table.add(2, cost)

    assert sum(sample < table.cost(2) for sample in samples) <= len(samples) / 4
    assert sum(sample <= table.cost(2) for sample in samples) > len(samples) / 4


@given(st.lists(milliseconds, max_size=30), st.lists(milliseconds, min_size=SAMPLES, max_size=30))
def test_old_samples_fall_out(old: list[float], new: list[float]) -> None:
    long_lived, young = CostTable(), CostTable()
    for cost in [*old, *new]:
        long_lived.add(3, cost)
    for cost in new[-SAMPLES:]:
        young.add(3, cost)

    assert long_lived.cost(3) == young.cost(3)
    assert long_lived.at_best(3) == young.at_best(3)


@given(tables, st.integers(1, 40), milliseconds, st.integers(1, 60))
def test_what_is_learnt_counts_at_once(
    costs: dict[int, float], size: int, cost: float, asked: int
) -> None:
    table = table_of(costs)
    table.cost(asked)
    table.add(size, cost)

    fresh = table_of(costs)
    fresh.add(size, cost)
    assert table.cost(asked) == fresh.cost(asked)


@pytest.mark.parametrize("n_tokens", [0, 1, 5])
def test_an_empty_table_knows_no_cost(n_tokens: int) -> None:
    with pytest.raises(LookupError, match="no decode call was measured"):
        CostTable().cost(n_tokens)


def test_at_best_a_call_costs_what_the_quickest_did_beside_a_plain_one_of_its_time() -> None:
    table = table_of({1: 10.0, 3: 30.0})
    for _ in range(SAMPLES):
        table.add(1, 40.0)
    table.add(3, 80.0)

    assert [table.at_best(size) for size in (1, 2, 3)] == [1.0, 1.5, 2.0]


def test_a_draft_models_calls_are_measured_in_the_targets() -> None:
    drafting = CostTable(table_of({1: 20.0}))
    drafting.add(1, 5.0)

    assert drafting.cost(1) == 5.0
    assert drafting.at_best(1) == 0.25


def test_slow_calls_can_be_forgotten_but_for_the_plain_ones() -> None:
    table = CostTable()
    for size in (1, 2):
        for cost in (10.0, 11.0, 40.0, 50.0, 60.0, 70.0):
            table.add(size, cost)
    table.forget_slow_calls()

    assert table.measured == {1: 11.0, 2: 10.0}
    table.add(2, 12.0)
    table.add(2, 13.0)
    assert table.cost(2) == 11.0


def test_sizes_measured_in_a_busy_time_are_taken_to_have_grown_quicker_with_the_plain_calls() -> (
    None
):
    table = table_of({1: 30.0, 2: 60.0})
    for _ in range(SAMPLES):
        table.add(1, 10.0)
    table.forget_slow_calls()

    assert table.measured == {1: 10.0, 2: 20.0}


def test_an_empty_table_has_no_best() -> None:
    table = CostTable(table_of({1: 10.0}))
    table.forget_slow_calls()

    with pytest.raises(LookupError):
        table.at_best(1)
