"""Variants, as data and as they are written."""

from types import SimpleNamespace
from typing import cast, get_args

import pytest

from specchat.bench.variants import (
    chosen_variants,
    default_variants,
    drafters_of,
    longest_draft,
    parse_variant,
)
from specchat.engine.drafts import LoadedDraft
from specchat.engine.session import Session
from specchat.errors import InvalidSetting
from specchat.pairing.drafter_type import DraftKind
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
    variant = parse_variant(name, drafters_of("model"))

    assert variant.name == name
    assert variant.speculation == settings


def test_heads_go_by_the_name_that_the_engine_gives_them() -> None:
    alone, beside = chosen_variants(["eagle3:3", "ngram+eagle3:auto"], "eagle3")[1:]

    assert alone.speculation == SpeculationSettings(drafter="model", draft_length=3)
    assert beside.speculation == SpeculationSettings(drafter="auto", draft_length="auto")


@pytest.mark.parametrize("kind", [None, *get_args(DraftKind)])
def test_a_drafter_of_a_pair_is_asked_for_and_told_by_the_same_name(kind: DraftKind | None) -> None:
    """`Session` needs of what is loaded only what drafts."""
    session = object.__new__(Session)
    session._draft = None if kind is None else cast("LoadedDraft", SimpleNamespace(kind=kind))
    told = {name: session._drafter_name(choice) for name, choice in drafters_of(kind).items()}

    told.pop("auto")
    assert told == {name: name for name in told}


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("model:3", "eagle3", r"no drafter 'model'\. It has .*eagle3:3"),
        ("egle3:3", "eagle3", r"no drafter 'egle3'\. Did you mean eagle3\?"),
        ("mtp:3", None, r"no drafter 'mtp'\. .*plain, ngram, auto and none"),
        ("plane", "model", r"Did you mean plain\?"),
    ],
)
def test_a_drafter_that_the_pair_does_not_have_is_refused_with_those_it_has(
    name: str, kind: DraftKind | None, said: str
) -> None:
    with pytest.raises(InvalidSetting, match=f"(?s)'{name}'.*{said}"):
        chosen_variants([name], kind)


@pytest.mark.parametrize(
    "name",
    ["model", "model:", "model:x", "model:-1", "model:3:best", "model:3:token:4"],
)
def test_what_cannot_be_read_is_refused_with_how_it_is_written(name: str) -> None:
    with pytest.raises(InvalidSetting, match=r"Tried to measure .*such as model:3"):
        parse_variant(name, drafters_of("model"))


def test_a_draft_that_is_too_long_is_refused_with_the_range() -> None:
    with pytest.raises(InvalidSetting, match="draft length to 999"):
        parse_variant("model:999", drafters_of("model"))


def test_without_a_draft_model_nothing_asks_for_it() -> None:
    names = [variant.name for variant in default_variants(None, GREEDY)]

    assert names == ["plain", "ngram:3", "auto"]


@pytest.mark.parametrize("kind", ["model", "dspark"])
def test_with_a_draft_model_or_heads_fixed_lengths_are_compared(kind: DraftKind) -> None:
    names = [variant.name for variant in default_variants(kind, GREEDY)]

    drafted = [f"{kind}:{length}" for length in (1, 2, 3, 5, 8)]
    assert names == ["plain", "ngram:3", *drafted, "auto"]


def test_above_temperature_zero_every_rule_runs() -> None:
    variants = default_variants("mtp", SAMPLED)

    ran = {variant.speculation.effective_rule(SAMPLED) for variant in variants}
    assert ran == {"token", "block", "coupled"}
    names = [variant.name for variant in variants]
    assert len(set(names)) == len(names)


def test_quick_has_one_of_each_kind() -> None:
    variants = default_variants("model", SAMPLED, quick=True)

    assert [variant.name for variant in variants] == ["plain", "ngram:3", "model:3", "auto"]


def test_plain_is_always_there_and_nothing_twice() -> None:
    names = [variant.name for variant in chosen_variants(["auto", "plain", "auto"], None)]

    assert names == ["plain", "auto"]


def test_the_engine_is_loaded_for_the_longest_draft() -> None:
    assert longest_draft(chosen_variants(["model:8", "ngram:3"], "model")) == 8
    assert longest_draft(chosen_variants(["model:8", "auto"], "model")) == 16
    assert longest_draft(chosen_variants([], None)) == 0
