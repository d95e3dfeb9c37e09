"""What is tried after the engine died: the draft goes first, then context, then layers."""

from pathlib import Path

import pytest

from specchat.choosing.less import memory_of, with_less
from specchat.engine.protocol import Load, Pair, Plan
from specchat.pairing.memory import MemoryPlan
from support.header_files import layers, texts, write_header_file
from unit.machines import CARD_8


def planned(n_ctx: int = 8192, n_gpu_layers: int = 0) -> MemoryPlan:
    return MemoryPlan(shares=(), n_ctx=n_ctx, n_gpu_layers=n_gpu_layers, with_draft=True)


def steps(load: Load, plan: MemoryPlan | None) -> list[str]:
    """All that is tried, one after the other."""
    sentences = []
    while (less := with_less(load, plan)) is not None:
        assert less.load != load
        load = less.load
        sentences.append(less.sentence)
    return sentences


def test_draft_context_and_layers_give_way_in_this_order() -> None:
    load = Load(Pair("t.gguf", "d.gguf"), Plan(n_ctx=16384, n_threads=3))

    assert steps(load, planned(16384, 29)) == [
        "Without the draft.",
        "With a context of 8,192 tokens instead of 16,384.",
        "With a context of 4,096 tokens instead of 8,192.",
        "With 14 layers on the GPU instead of 29.",
        "With 7 layers on the GPU instead of 14.",
        "With 3 layers on the GPU instead of 7.",
        "With 1 layer on the GPU instead of 3.",
        "Without the GPU.",
    ]


def test_heads_in_the_targets_file_go_as_a_draft_does() -> None:
    less = with_less(Load(Pair("t.gguf"), Plan(n_threads=3)), planned())

    assert less is not None
    assert less.sentence == "Without its MTP heads."
    assert less.load == Load(Pair("t.gguf"), Plan(n_threads=3, built_in_heads=False))


def test_where_there_is_only_a_cpu_no_layers_are_left_to_move() -> None:
    load = Load(Pair("t.gguf", "d.gguf"))

    assert steps(load, planned()) == [
        "Without the draft.",
        "With a context of 4,096 tokens instead of 8,192.",
    ]


@pytest.mark.parametrize("plan", [None, planned(2048, 0)])
def test_a_load_without_a_plan_goes_on_without_the_gpu_at_last(plan: MemoryPlan | None) -> None:
    load = Load(Pair("t.gguf"), Plan(n_ctx=2048, built_in_heads=False))

    assert steps(load, plan) == (["Without the GPU."] if plan is None else [])


def test_all_else_stays_as_it_was() -> None:
    load = Load(Pair("t.gguf", "d.gguf"), Plan(n_threads=3, rpc=("a:1",), n_gpu_layers=5))
    while (less := with_less(load)) is not None:
        load = less.load

    assert load == Load(
        Pair("t.gguf"),
        Plan(n_threads=3, rpc=("a:1",), n_gpu_layers=0, n_ctx=4096, built_in_heads=False),
    )


def test_every_step_takes_less_of_the_card_and_is_planned_as_it_is(tmp_path: Path) -> None:
    own = {"block_count": 4, "attention.head_count": 16, "attention.head_count_kv": 4}
    path = write_header_file(
        tmp_path / "t.gguf",
        "qwen2",
        tokens=texts(100),
        shapes=layers(4, 2048, 100),
        own=own | {"embedding_length": 2048},
    )
    target = Pair(str(path))
    plans = [
        memory_of(Load(target, plan), CARD_8)
        for plan in (Plan(n_ctx=16384), Plan(n_ctx=8192), Plan(n_ctx=8192, n_gpu_layers=2), Plan())
    ]

    assert [(plan.n_ctx, plan.n_gpu_layers) for plan in plans if plan] == [
        (16384, 5), (8192, 5), (8192, 2), (8192, 5)
    ]  # fmt: skip
    used = [plan.shares[0].used_bytes for plan in plans if plan]
    assert used[0] > used[1] > used[2]


def test_a_file_that_cannot_be_read_has_no_plan() -> None:
    assert memory_of(Load(Pair("/nowhere/t.gguf")), CARD_8) is None
