"""What decode calls cost is measured at the first start of a pair and remembered."""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, time

import pytest

from specchat.engine.costs import BUDGET_S, adaptive, known_costs, quick_costs
from specchat.engine.stored_costs import MeasuredCosts, last_costs
from specchat.llama.context import Context
from specchat.llama.library import Library
from specchat.llama.model import Model
from specchat.neighbours import Watch
from specchat.paths import data_folder
from support.gguf_models import random_table, write_bigram
from support.speaking import make_context

LONGEST = 8


class Idle(Watch):
    """A machine without other programs."""

    def others(self) -> float:
        return 0.0


class Busy(Watch):
    """A machine whose every core is taken."""

    def others(self) -> float:
        return 1000.0


@pytest.fixture
def model_path(tmp_path: Path) -> Path:
    return write_bigram(tmp_path / "target.gguf", random_table(0, "abcd"))


@pytest.fixture
def context(library: Library, model_path: Path) -> Iterator[Context]:
    model = Model(library, model_path)
    context = make_context(model)
    yield context
    context.close()
    model.close()


def test_the_first_start_measures_within_its_budget_and_shows_it(context: Context) -> None:
    told: list[float] = []
    started = perf_counter()
    costs = known_costs(context, context, LONGEST, told.append)
    assert perf_counter() - started < 2 * BUDGET_S
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert set(costs.verify) == {1, 2, 3, 4, 5, 6, 8}
    assert set(costs.draft) == {1, 2}
    assert all(milliseconds > 0 for milliseconds in costs.verify.values())
    assert context.tokens == []


def test_a_second_start_measures_nothing(context: Context) -> None:
    first = known_costs(context, None, LONGEST, lambda _: None, watch=Idle)
    told: list[float] = []
    assert known_costs(context, None, LONGEST, told.append) == first
    assert told == []


def test_what_was_measured_beside_busy_programs_is_not_kept(context: Context) -> None:
    assert known_costs(context, None, LONGEST, lambda _: None, watch=Busy).verify
    told: list[float] = []
    known_costs(context, None, LONGEST, told.append, watch=Idle)
    assert told[-1] == 1.0


def test_another_file_threads_place_or_length_are_measured_anew(
    library: Library, context: Context, model_path: Path
) -> None:
    known_costs(context, None, LONGEST, lambda _: None, watch=Idle)
    known_costs(context, context, LONGEST, lambda _: None, watch=Idle)
    known_costs(context, None, LONGEST - 1, lambda _: None, watch=Idle)
    context.n_threads += 1
    known_costs(context, None, LONGEST, lambda _: None, watch=Idle)
    context.model.n_gpu_layers -= 1
    known_costs(context, None, LONGEST, lambda _: None, watch=Idle)
    write_bigram(model_path, random_table(1, "abcd"))
    known_costs(context, None, LONGEST, lambda _: None, watch=Idle)
    assert len(list((data_folder() / "costs").glob("*.json"))) == 6


def test_the_last_measurements_are_told_with_the_names_of_their_files(
    context: Context, model_path: Path
) -> None:
    known_costs(context, None, LONGEST, lambda _: None, watch=Idle)
    known_costs(context, context, LONGEST, lambda _: None, watch=Idle)
    (data_folder() / "costs" / "broken.json").write_text("{")
    (made, newest), (_, older) = last_costs(5)
    assert (newest.target, newest.draft_model) == (model_path.name, model_path.name)
    assert (older.target, older.draft_model) == (model_path.name, None)
    assert made <= time()
    assert last_costs(1) == [(made, newest)]


def test_a_damaged_record_is_measured_anew(context: Context) -> None:
    known_costs(context, None, LONGEST, lambda _: None, watch=Idle)
    [record] = (data_folder() / "costs").glob("*.json")
    record.write_text("{")
    assert known_costs(context, None, LONGEST, lambda _: None, watch=Idle).verify
    assert record.read_text() != "{"


def test_a_controller_starts_from_what_was_measured() -> None:
    costs = MeasuredCosts({1: 10.0, 2: 11.0, 4: 12.0}, {1: 1.0, 2: 1.2})
    controller = adaptive(costs, LONGEST)
    assert controller.verify.cost(3) == pytest.approx(11.5)
    assert controller.could_pay("model")
    assert not adaptive(MeasuredCosts({1: 10.0, 2: 30.0}, {1: 20.0}), LONGEST).could_pay("model")


def test_where_nothing_is_drafted_one_call_is_enough(context: Context) -> None:
    assert set(quick_costs(context).verify) == {1}
