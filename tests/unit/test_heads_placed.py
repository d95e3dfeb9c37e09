"""Heads that nobody named: in the target's own file, or beside it, where they are worth it."""

import asyncio
from pathlib import Path

import pytest

from specchat.choosing.choice import Asked, choose
from specchat.choosing.placing import Placed, place
from specchat.engine.protocol import Plan
from specchat.pairing.machine import Machine
from support.head_headers import WIDTH, dspark, eagle3, target
from support.shapes import GIB, card, machine
from unit.machines import MAC

AMPLE = machine(card(24 * GIB))


def placed(here: Machine, path: Path, draft: Path | None = None, **asked: int | str) -> Placed:
    draft_name = str(draft) if draft else None
    choice = choose(Asked(target=str(path), draft=draft_name, **asked))  # type: ignore[arg-type]
    return asyncio.run(place(choice, here))


def test_heads_in_the_targets_file_draft_and_have_their_place_in_memory(tmp_path: Path) -> None:
    found = placed(AMPLE, target(tmp_path, heads=True))

    assert found.notices == ()
    assert found.load.plan.built_in_heads
    assert found.plan is not None
    on_card, in_ram = found.plan.shares
    assert on_card.parts["draft"] == 2 * (WIDTH + 6 * WIDTH**2)
    assert on_card.parts["draft_kv"] == 8192 * 8 * 128 * 2 * 2
    assert in_ram.parts["compute"] > 4 * WIDTH * 4 * 512, "hidden states are kept"


def test_heads_are_left_out_where_they_are_known_to_lose(tmp_path: Path) -> None:
    path = target(tmp_path, heads=True)
    on_a_mac, asked_for = placed(MAC, path), placed(MAC, path, drafter="model")

    assert not on_a_mac.load.plan.built_in_heads
    [notice] = [each for each in on_a_mac.notices if each.kind == "draft_would_lose"]
    assert (notice.title, notice.message) == (
        "Going on without its heads",
        "Its MTP head would lose: on Metal they were slower. n-grams guess instead.",
    )
    assert asked_for.load.plan.built_in_heads
    assert not [each for each in asked_for.notices if each.kind == "draft_would_lose"]


def test_heads_of_a_small_target_are_left_out(tmp_path: Path) -> None:
    found = placed(AMPLE, target(tmp_path, heads=True, n_layers=8))

    assert not found.load.plan.built_in_heads
    assert "3B or less" in found.notices[0].message


def test_with_ngrams_alone_heads_are_neither_loaded_nor_planned_for(tmp_path: Path) -> None:
    found = placed(AMPLE, target(tmp_path, heads=True), drafter="ngram")

    assert not found.load.plan.built_in_heads
    assert found.plan is not None
    assert "draft" not in found.plan.shares[0].parts
    assert found.notices == ()


def test_heads_for_which_there_is_no_room_are_left_out(tmp_path: Path) -> None:
    path = target(tmp_path, heads=True)
    whole = placed(AMPLE, path, ctx=512).plan
    assert whole is not None
    parts = whole.shares[0].parts
    enough = sum(parts.values()) - parts["draft"] // 2
    found = placed(machine(card(enough, total_bytes=24 * GIB)), path, ctx=512)

    assert not found.load.plan.built_in_heads
    assert any("The draft is left out" in notice.message for notice in found.notices)


@pytest.mark.parametrize("promised_by", ["the header", "nobody"])
def test_a_header_that_promises_heads_which_are_not_there_is_told(
    tmp_path: Path, promised_by: str
) -> None:
    found = placed(AMPLE, target(tmp_path, promised=promised_by == "the header"))

    assert found.load.plan == Plan()
    expected = ["heads_missing"] if promised_by == "the header" else []
    assert [notice.kind for notice in found.notices] == expected


def test_a_head_beside_its_target_is_found_by_what_is_in_it(tmp_path: Path) -> None:
    path = target(tmp_path)
    head = eagle3(tmp_path, "no telling name.gguf")
    eagle3(tmp_path, "eagle3-of-another.gguf", width=1024)
    (tmp_path / "eagle3-broken.gguf").write_bytes(b"GGUF\x03")
    (tmp_path / "mtp-empty.gguf").write_bytes(b"")

    found = placed(AMPLE, path)

    assert found.load.pair.draft == str(head)
    [notice] = found.notices
    assert (notice.kind, notice.message) == (
        "draft_found",
        "no telling name.gguf, an EAGLE-3 draft, lies beside target.gguf and drafts for it.",
    )
    assert placed(AMPLE, path, drafter="ngram").load.pair.draft is None


def test_heads_in_the_file_go_before_those_beside_it(tmp_path: Path) -> None:
    path = target(tmp_path, heads=True)
    eagle3(tmp_path, "head.gguf")

    found = placed(AMPLE, path)

    assert (found.load.pair.draft, found.load.plan.built_in_heads) == (None, True)


def test_of_several_heads_beside_it_the_one_with_the_better_reports_drafts(tmp_path: Path) -> None:
    path = target(tmp_path)
    eagle3(tmp_path, "a.gguf")
    best = dspark(tmp_path, "b.gguf")

    assert placed(AMPLE, path).load.pair.draft == str(best)


def test_a_draft_that_is_named_goes_before_one_that_is_found(tmp_path: Path) -> None:
    path = target(tmp_path)
    named, _ = eagle3(tmp_path, "a.gguf"), dspark(tmp_path, "b.gguf")

    found = placed(AMPLE, path, named)

    assert found.load.pair.draft == str(named)
    assert found.notices == ()


def test_a_head_of_another_target_is_told_and_left_out(tmp_path: Path) -> None:
    found = placed(AMPLE, target(tmp_path), eagle3(tmp_path, "other.gguf", width=1024))

    assert found.load.pair.draft is None
    [notice] = found.notices
    assert notice.kind == "draft_mismatch"
    assert "made for a target of width 1,024, and this one has 4,096" in notice.message


def test_a_small_model_of_the_same_family_is_not_taken_without_being_named(tmp_path: Path) -> None:
    path = target(tmp_path)
    small = tmp_path / "small"
    small.mkdir()
    target(small, n_layers=2).rename(tmp_path / "small.gguf")

    assert placed(AMPLE, path).load.pair.draft is None
