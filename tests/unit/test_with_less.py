"""What is tried after the engine died: the draft goes first, then context, then layers."""

import pytest

from specchat.choosing.less import with_less
from specchat.engine.protocol import Load, Pair, Plan
from specchat.pairing.memory import MemoryPlan


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
