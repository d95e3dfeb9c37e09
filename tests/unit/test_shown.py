"""What this machine has shown, as the planner takes it."""

from pathlib import Path

import pytest

from specchat.choosing.shown import measured_here, shown_by
from specchat.engine.stored_costs import MeasuredCosts
from specchat.pairing.catalog import Catalog, read_catalog
from specchat.pairing.measured import Measured
from specchat.pairing.speed import TELLING, calibration

FILE = "Qwen3-14B-Q4_K_M.gguf"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


def costs(token_ms: float, target: str = FILE) -> MeasuredCosts:
    return MeasuredCosts({1: token_ms, 4: 2 * token_ms}, {}, target=target)


def test_a_token_s_cost_is_the_plain_speed_of_every_pair_with_that_file(catalog: Catalog) -> None:
    shown = shown_by([costs(50.0), costs(5.0, "unheard-of.gguf")], catalog)

    assert shown
    assert {catalog.pairs[each.pair].target.file for each in shown} == {FILE}
    assert {(each.plain, each.speed_up) for each in shown} == {(20.0, None)}


def test_the_newest_measurement_counts_and_one_without_a_token_does_not(catalog: Catalog) -> None:
    shown = shown_by([MeasuredCosts({2: 9.0}, {}, target=FILE), costs(50.0), costs(9.0)], catalog)

    assert {each.plain for each in shown} == {20.0}


def test_where_nothing_was_measured_nothing_is_known(catalog: Catalog) -> None:
    assert measured_here(catalog) == ()


def test_measurements_that_cannot_be_read_are_passed_over(
    catalog: Catalog, specchat_home: Path
) -> None:
    folder = specchat_home / "data" / "costs"
    folder.mkdir(parents=True)
    (folder / "one.json").write_bytes(b"{")

    assert measured_here(catalog) == ()


def test_a_model_that_is_quick_anyway_says_nothing_about_larger_ones() -> None:
    def shown(pair: str, plain: float) -> Measured:
        return Measured(pair=pair, plain=plain, drafter="ngram")

    estimates = {"tiny": 10 * TELLING, "large": 20.0}
    assert calibration([shown("tiny", 50.0)], estimates) == 1.0
    assert calibration([shown("tiny", 50.0), shown("large", 10.0)], estimates) == 0.5
