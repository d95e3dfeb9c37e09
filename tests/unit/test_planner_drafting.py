"""Who drafts for a pair: what this version can run, and what is known to lose."""

import datetime
from typing import get_args

import pytest
from msgspec.structs import replace

from specchat.pairing.abilities import THIS_VERSION, Abilities
from specchat.pairing.catalog import (
    CatalogDraft,
    CatalogFile,
    CatalogModel,
    CatalogPair,
    DraftType,
    Evidence,
)
from specchat.pairing.drafting import HEADS, TargetFacts, choose_drafting, losing
from specchat.pairing.machine import Machine
from specchat.pairing.measured import Measured
from unit.machines import CARD_8, LAPTOP, MAC, what_if

EVERYTHING = Abilities(
    drafters=frozenset(get_args(DraftType)),
    plain_only=frozenset(),
    cache_types=frozenset({"f16"}),
    experts_in_ram=False,
)
DENSE = CatalogModel(
    name="tiny-7b",
    title="Tiny 7B",
    licence="MIT",
    released="2026-01",
    params_b=7.0,
    architecture="llama",
    source="https://example.org",
    confidence="verified",
)
MIXTURE = replace(DENSE, active_b=1.0, mixture=True)
DESKTOP = what_if("cpu", "64GiB", physical_cores=16)
SMALL_LAPTOP = what_if("cpu", "16GiB", physical_cores=4)


def pair_with(type: DraftType) -> CatalogPair:
    return CatalogPair(
        name="tiny",
        n_ctx=4096,
        target=CatalogFile(model="tiny-7b", repo="a/b", file="tiny.gguf", quant="Q4_K_M"),
        draft=CatalogDraft(type=type, length=3),
        confidence="verified",
        evidence=(
            Evidence(says="It ran.", address="https://example.org", seen=datetime.date(2026, 1, 1)),
        ),
    )


@pytest.mark.parametrize("type", get_args(DraftType))
def test_on_a_card_a_pairs_own_drafter_guesses_with_its_own_length(type: DraftType) -> None:
    drafting = choose_drafting(pair_with(type), DENSE, CARD_8, abilities=EVERYTHING)

    assert (drafting.drafter, drafting.length, drafting.reasons) == (type, 3, ())


@pytest.mark.parametrize("type", HEADS)
def test_a_version_that_cannot_run_heads_says_so(type: DraftType) -> None:
    unable = replace(EVERYTHING, drafters=frozenset({"model", "ngram"}))
    drafting = choose_drafting(pair_with(type), DENSE, CARD_8, abilities=unable)

    assert drafting.drafter == "ngram"
    assert drafting.reasons == (
        f"This version cannot run its {HEADS[type]} yet: n-grams guess instead.",
    )


def test_this_version_runs_all_that_a_catalog_can_name() -> None:
    assert THIS_VERSION.drafters == set(get_args(DraftType))


@pytest.mark.parametrize("architecture", ["qwen35", "qwen35moe", "lfm2", "mamba2"])
def test_layers_with_a_state_are_drafted_for_like_any_others(architecture: str) -> None:
    target = replace(DENSE, architecture=architecture)

    assert choose_drafting(pair_with("ngram"), target, CARD_8).drafter == "ngram"
    assert choose_drafting(pair_with("model"), target, CARD_8).drafter == "model"


def test_a_version_that_cannot_go_back_in_a_state_decodes_it_plainly() -> None:
    unable = replace(THIS_VERSION, plain_only=frozenset({"qwen35"}))
    target = replace(DENSE, architecture="qwen35")

    assert choose_drafting(pair_with("ngram"), target, CARD_8, abilities=unable).drafter == "none"


@pytest.mark.parametrize(
    ("type", "target", "machine", "because"),
    [
        ("model", replace(DENSE, params_b=3.2), CARD_8, "3B or less"),
        ("mtp", replace(DENSE, params_b=0.8), CARD_8, "3B or less"),
        ("model", DENSE, LAPTOP, "CPU"),
        ("model", DENSE, DESKTOP, "CPU"),
        ("mtp", DENSE, SMALL_LAPTOP, "4 cores"),
        ("mtp", MIXTURE, DESKTOP, "other experts"),
        ("mtp", DENSE, MAC, "Metal"),
        ("mtp", replace(DENSE, architecture="deepseek2"), CARD_8, "latent attention"),
    ],
)
def test_a_drafter_that_is_known_to_lose_is_refused_with_the_reason(
    type: DraftType, target: CatalogModel, machine: Machine, because: str
) -> None:
    drafting = choose_drafting(pair_with(type), target, machine, abilities=EVERYTHING)

    assert drafting.drafter == "ngram"
    assert drafting.length is None
    assert because in drafting.reasons[0]
    assert drafting.reasons[0].endswith("n-grams guess instead.")


@pytest.mark.parametrize(
    ("type", "target", "machine"),
    [
        ("model", replace(DENSE, params_b=4.0), CARD_8),
        ("mtp", DENSE, DESKTOP),
        ("mtp", MIXTURE, CARD_8),
        ("model", DENSE, MAC),
        ("eagle3", DENSE, MAC),
    ],
)
def test_nothing_is_refused_without_evidence_against_it(
    type: DraftType, target: CatalogModel, machine: Machine
) -> None:
    assert not list(losing(type, TargetFacts.of_model(target), machine))


def test_n_grams_are_never_refused() -> None:
    small = replace(MIXTURE, params_b=1.0, active_b=0.5)

    for machine in (CARD_8, LAPTOP, MAC, SMALL_LAPTOP):
        assert choose_drafting(pair_with("ngram"), small, machine).drafter == "ngram"


def test_a_measurement_of_another_drafter_says_nothing_of_this_one() -> None:
    measured = Measured(pair="tiny", plain=10.0, drafter="ngram", speed_up=1.5)

    assert choose_drafting(pair_with("model"), DENSE, LAPTOP, measured).drafter == "ngram"
    assert choose_drafting(pair_with("model"), DENSE, CARD_8, measured).drafter == "model"


def test_a_measured_gain_does_not_make_a_head_runnable() -> None:
    measured = Measured(pair="tiny", plain=10.0, drafter="mtp", speed_up=1.5)
    unable = replace(EVERYTHING, drafters=frozenset({"ngram"}))

    drafting = choose_drafting(pair_with("mtp"), DENSE, CARD_8, measured, unable)
    assert drafting.drafter == "ngram"
