"""Variants, as data and as they are written."""

import pytest

from specchat.bench.variants import (
    chosen_variants,
    default_variants,
    longest_draft,
    parse_variant,
)
from specchat.errors import InvalidSetting
from specchat.speculation.settings import SamplingSettings, SpeculationSettings

GREEDY = SamplingSettings(temperature=0)
SAMPLED = SamplingSettings(temperature=0.8)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("plain", SpeculationSettings(drafter="none", draft_length=0)),
        ("auto", SpeculationSettings()),
        ("model:5", SpeculationSettings(drafter="model", draft_length=5)),
        ("ngram:auto", SpeculationSettings(drafter="ngram", draft_length="auto")),
        ("ngram:3", SpeculationSettings(drafter="ngram", draft_length=3)),
        ("model:2:token", SpeculationSettings(drafter="model", draft_length=2, rule="token")),
    ],
)
def test_a_variant_is_read_as_it_is_written(name: str, settings: SpeculationSettings) -> None:
    variant = parse_variant(name)

    assert variant.name == name
    assert variant.speculation == settings


@pytest.mark.parametrize(
    "name",
    ["", "model", "model:", "model:x", "model:-1", "gpt:3", "model:3:best", "model:3:token:4"],
)
def test_what_cannot_be_read_is_refused_with_how_it_is_written(name: str) -> None:
    with pytest.raises(InvalidSetting, match=r"Tried to measure .*such as model:3"):
        parse_variant(name)


def test_a_draft_that_is_too_long_is_refused_with_the_range() -> None:
    with pytest.raises(InvalidSetting, match="draft length to 999"):
        parse_variant("model:999")


def test_without_a_draft_model_nothing_asks_for_it() -> None:
    names = [variant.name for variant in default_variants(has_draft=False, sampling=GREEDY)]

    assert names == ["plain", "ngram:3", "auto"]


def test_with_a_draft_model_fixed_lengths_are_compared() -> None:
    names = [variant.name for variant in default_variants(has_draft=True, sampling=GREEDY)]

    models = [f"model:{length}" for length in (1, 2, 3, 5, 8)]
    assert names == ["plain", "ngram:3", *models, "auto"]


def test_above_temperature_zero_every_rule_runs() -> None:
    variants = default_variants(has_draft=True, sampling=SAMPLED)

    ran = {variant.speculation.effective_rule(SAMPLED) for variant in variants}
    assert ran == {"token", "block", "coupled"}
    names = [variant.name for variant in variants]
    assert len(set(names)) == len(names)


def test_quick_has_one_of_each_kind() -> None:
    variants = default_variants(has_draft=True, sampling=SAMPLED, quick=True)

    assert [variant.name for variant in variants] == ["plain", "ngram:3", "model:3", "auto"]


def test_plain_is_always_there_and_nothing_twice() -> None:
    names = [variant.name for variant in chosen_variants(["auto", "plain", "auto"])]

    assert names == ["plain", "auto"]


def test_the_engine_is_loaded_for_the_longest_draft() -> None:
    assert longest_draft(chosen_variants(["model:8", "ngram:3"])) == 8
    assert longest_draft(chosen_variants(["model:8", "auto"])) == 16
    assert longest_draft(chosen_variants([])) == 0
