"""What goes where, and what gives way when memory is short."""

import re
from time import perf_counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.pairing.machine import Machine
from specchat.pairing.memory import (
    MemoryPlan,
    Wishes,
    engine_numbers,
    plan_memory,
    size_text,
)
from specchat.pairing.shape import ModelShape
from support.shapes import GIB, MIB, card, machine, model, small_model

TARGET, DRAFT = model(), small_model()
NO_WISHES = Wishes()


def with_card(gib: float) -> MemoryPlan:
    """The plan for a card of this size, with ample main memory."""
    return plan_memory(machine(card(round(gib * GIB))), TARGET, DRAFT, NO_WISHES)


def test_on_a_large_card_nothing_gives_way() -> None:
    plan = with_card(24)
    assert (plan.fits, plan.with_draft, plan.n_ctx) == (True, True, 8192)
    assert (plan.n_gpu_layers, plan.n_draft_gpu_layers) == (29, 25)
    assert plan.steps == ()


def test_the_embeddings_stay_in_main_memory() -> None:
    on_card, in_ram = with_card(24).shares
    assert in_ram.parts["target"] == TARGET.input_bytes
    assert in_ram.parts["draft"] == DRAFT.input_bytes
    assert on_card.parts["target"] == 28 * 140 * MIB + TARGET.output_bytes


def test_snapshots_of_a_state_give_way_before_all_else() -> None:
    hybrid = model(state_bytes=10 * MIB)
    roomy = plan_memory(machine(card(24 * GIB)), hybrid, DRAFT, NO_WISHES)
    tight = plan_memory(machine(card(6 * GIB)), hybrid, DRAFT, NO_WISHES)
    assert (roomy.n_snapshots, roomy.steps) == (8, ())
    assert (tight.n_snapshots, tight.with_draft, tight.n_gpu_layers) == (0, True, 29)
    [step] = tight.steps
    assert step.startswith("No snapshots of its state are kept, so that refused guesses")
    assert engine_numbers(tight).n_snapshots == 0


def test_states_of_earlier_turns_are_planned_for_target_and_draft_equally_many() -> None:
    target, draft = model(state_bytes=10 * MIB), model(n_layer=4, state_bytes=5 * MIB)
    of_target, of_draft = 14 * 10 * MIB, 2 * 5 * MIB
    roomy = plan_memory(machine(card(24 * GIB)), target, draft, NO_WISHES)
    together = roomy.saved_states_bytes + roomy.draft_saved_states_bytes
    assert together == 512 * MIB
    assert roomy.draft_saved_states_bytes == together * of_draft // (of_target + of_draft)

    tight = plan_memory(machine(card(24 * GIB), ram_bytes=GIB), target, draft, NO_WISHES)
    saved = (tight.saved_states_bytes, tight.draft_saved_states_bytes)
    assert tight.fits
    assert of_target < saved[0] < roomy.saved_states_bytes
    assert saved[0] // saved[1] == of_target // of_draft
    in_ram = tight.shares[-1].parts
    assert (in_ram["target_kv"], in_ram["draft_kv"]) == saved

    short = plan_memory(machine(card(24 * GIB), ram_bytes=GIB // 2), target, draft, NO_WISHES)
    assert (short.with_draft, short.draft_saved_states_bytes) == (False, 0)
    assert short.saved_states_bytes >= of_target

    alone = plan_memory(machine(card(24 * GIB)), target, DRAFT, NO_WISHES)
    assert (alone.saved_states_bytes, alone.draft_saved_states_bytes) == (512 * MIB, 0)
    assert engine_numbers(roomy).draft_saved_states_bytes == roomy.draft_saved_states_bytes


def test_a_draft_that_is_too_much_is_left_out_first() -> None:
    plan = with_card(5.4)
    assert (plan.fits, plan.with_draft, plan.n_ctx, plan.n_gpu_layers) == (True, False, 8192, 29)
    [step] = plan.steps
    assert re.fullmatch(r"The draft is left out: with it CUDA0 lacks \d+(\.\d)? [GM]iB\.", step)


def test_then_the_context_is_shortened() -> None:
    plan = with_card(5)
    assert (plan.fits, plan.with_draft, plan.n_gpu_layers) == (True, False, 29)
    assert 4096 < plan.n_ctx < 8192
    assert plan.n_ctx % 256 == 0
    assert plan.steps[1].startswith(f"The context is shortened from 8,192 to {plan.n_ctx:,} tokens")


def test_then_layers_go_to_main_memory() -> None:
    plan = with_card(4)
    assert (plan.fits, plan.with_draft, plan.n_ctx) == (True, False, 4096)
    assert 0 < plan.n_gpu_layers < 29
    moved = 29 - plan.n_gpu_layers
    assert plan.steps[2].startswith(f"{moved} of 29 layers go to main memory")


def test_what_fits_nowhere_is_said_to_lack_so_much() -> None:
    plan = plan_memory(machine(card(GIB), ram_bytes=2 * GIB), TARGET, DRAFT, NO_WISHES)
    assert not plan.fits
    assert plan.steps[-1].startswith("It does not fit: main memory lacks ")


def test_without_a_card_all_is_in_main_memory() -> None:
    plan = plan_memory(machine(), TARGET, DRAFT, NO_WISHES)
    assert (plan.fits, plan.with_draft, plan.n_gpu_layers, plan.n_draft_gpu_layers) == (
        True,
        True,
        0,
        0,
    )
    [share] = plan.shares
    assert share.device == "CPU"
    assert share.parts["target"] == 28 * 140 * MIB + 600 * MIB


def test_embeddings_that_are_the_output_too_are_in_main_memory_once() -> None:
    shared = msgspec.structs.replace(TARGET, shared_bytes=TARGET.input_bytes)
    [share] = plan_memory(machine(), shared, None, NO_WISHES).shares
    assert share.parts["target"] == 28 * 140 * MIB + 300 * MIB


def test_a_context_that_was_asked_for_is_kept() -> None:
    wishes = Wishes(n_ctx=16000)
    plan = plan_memory(machine(card(5 * GIB)), TARGET, DRAFT, wishes)
    assert plan.n_ctx == 16128  # as llama.cpp rounds
    assert plan.n_gpu_layers < 29
    assert not any("context" in step for step in plan.steps)


def test_a_context_that_was_asked_for_may_be_shortened_to_a_stated_length() -> None:
    wishes = Wishes(n_ctx=16384, shortest_n_ctx=8192)
    plan = plan_memory(machine(card(round(5.5 * GIB))), TARGET, None, wishes)
    assert 8192 <= plan.n_ctx < 16384


def test_no_more_context_is_planned_than_the_model_was_trained_for() -> None:
    plan = plan_memory(machine(card(24 * GIB)), model(n_ctx_train=2048), None, NO_WISHES)
    assert plan.n_ctx == 2048


def test_layers_that_were_asked_for_are_not_moved() -> None:
    plan = plan_memory(machine(card(4 * GIB)), TARGET, None, Wishes(n_gpu_layers=29))
    assert (plan.fits, plan.n_gpu_layers) == (False, 29)
    plan = plan_memory(machine(card(4 * GIB)), TARGET, None, Wishes(n_gpu_layers=-1))
    assert (plan.fits, plan.n_gpu_layers < 29) == (True, True)
    plan = plan_memory(machine(card(4 * GIB)), TARGET, None, Wishes(n_gpu_layers=10))
    assert (plan.fits, plan.n_gpu_layers) == (True, 10)


def test_a_quantised_cache_takes_about_half() -> None:
    on_card = [
        plan_memory(machine(card(24 * GIB)), TARGET, None, Wishes(cache_type=kind)).shares[0]
        for kind in ("f16", "q8_0", "q4_0")
    ]
    whole, half, quarter = (share.parts["target_kv"] for share in on_card)
    assert (half / whole, quarter / whole) == (34 / 64, 18 / 64)


def test_experts_can_stay_in_main_memory() -> None:
    mixture = model(layer_bytes=600 * MIB, expert_bytes=550 * MIB)
    here = machine(card(8 * GIB))
    without = plan_memory(here, mixture, None, NO_WISHES)
    plan = plan_memory(here, mixture, None, Wishes(experts_in_ram=True))
    assert without.n_gpu_layers < 29
    assert (plan.fits, plan.n_gpu_layers, plan.experts_in_ram) == (True, 29, True)
    on_card, in_ram = plan.shares
    assert on_card.parts["target"] == 28 * 50 * MIB + 300 * MIB
    assert in_ram.parts["target"] == 28 * 550 * MIB + 300 * MIB


def test_two_cards_share_the_layers_by_their_free_memory() -> None:
    here = machine(card(18 * GIB), card(6 * GIB, name="CUDA1"))
    first, second, _ = plan_memory(here, TARGET, DRAFT, NO_WISHES).shares
    # 29 places, three quarters of them and the rest; the output is one.
    assert first.parts["target"] == 22 * 140 * MIB
    assert second.parts["target"] == 6 * 140 * MIB + TARGET.output_bytes
    assert "draft" in first.parts
    assert "draft" not in second.parts


def test_of_several_cards_the_draft_takes_the_one_with_room_for_all_of_it() -> None:
    here = machine(card(8 * GIB), card(12 * GIB, name="CUDA1"))
    first, second, in_ram = plan_memory(here, TARGET, DRAFT, NO_WISHES).shares
    plan = plan_memory(here, TARGET, DRAFT, NO_WISHES)

    assert plan.draft_device == "CUDA1"
    assert engine_numbers(plan).draft_devices == ("CUDA1",)
    assert "draft" not in first.parts
    assert second.parts["draft"] + in_ram.parts["draft"] == DRAFT.input_bytes + sum(
        layer.weight_bytes for layer in DRAFT.layers
    ) + (DRAFT.output_bytes)


def test_the_draft_stays_on_this_machine_where_another_one_takes_part() -> None:
    server = card(24 * GIB, name="RPC0", kind="rpc")
    plan = plan_memory(machine(server, card(4 * GIB)), TARGET, DRAFT, NO_WISHES)

    assert plan.draft_device == "CUDA0"


def test_a_draft_that_no_card_has_room_for_is_shared_out() -> None:
    tight = machine(*(card(round(3.3 * GIB), name=f"CUDA{number}") for number in range(2)))
    plan = plan_memory(tight, TARGET, DRAFT, NO_WISHES)

    assert plan.with_draft
    assert plan.draft_device is None
    assert all("draft" in share.parts for share in plan.shares)


def test_an_integrated_graphics_unit_counts_only_without_a_card() -> None:
    unit = card(16 * GIB, name="Vulkan1", kind="integrated")
    alone = plan_memory(machine(unit), TARGET, None, NO_WISHES)
    assert [share.device for share in alone.shares] == ["Vulkan1", "CPU"]
    beside = plan_memory(machine(card(16 * GIB), unit), TARGET, None, NO_WISHES)
    assert [share.device for share in beside.shares] == ["CUDA0", "CPU"]


def test_a_server_s_device_is_as_good_as_a_card_and_comes_first() -> None:
    here = machine(card(4 * GIB), card(24 * GIB, name="RPC0", kind="rpc"))
    plan = plan_memory(here, TARGET, DRAFT, NO_WISHES)
    assert [share.device for share in plan.shares] == ["RPC0", "CUDA0", "CPU"]
    assert (plan.fits, plan.with_draft, plan.n_gpu_layers) == (True, True, 29)


def test_unified_memory_is_one_pool() -> None:
    """A Mac with 8 GiB, of which the GPU may have 5.3: what it takes is not there for the CPU."""
    metal = card(round(5.3 * GIB), name="MTL0")
    roomy = machine(metal, ram_bytes=8 * GIB, unified=True)
    plan = plan_memory(roomy, TARGET, None, NO_WISHES)
    assert plan.fits
    on_gpu, in_ram = plan.shares
    assert in_ram.free_bytes == 8 * GIB - on_gpu.used_bytes + on_gpu.parts["margin"]
    crowded = machine(metal, ram_bytes=8 * GIB, free_ram_bytes=4 * GIB, unified=True)
    assert not plan_memory(crowded, TARGET, None, NO_WISHES).fits


def test_a_plan_turns_into_the_engine_s_numbers() -> None:
    numbers = engine_numbers(with_card(5))
    assert (numbers.n_gpu_layers, numbers.with_draft, numbers.n_draft_gpu_layers) == (29, False, 0)
    assert numbers.n_ctx < 8192


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(3 * GIB // 2, "1.5 GiB"), (100 * MIB, "100 MiB"), (102 * MIB, "0.1 GiB"), (1, "1 MiB")],
)
def test_sizes_are_written_for_people(n_bytes: int, text: str) -> None:
    assert size_text(n_bytes) == text


def test_a_plan_takes_well_under_a_millisecond() -> None:
    big, here = model(n_layer=80), machine(card(20 * GIB))
    times = []
    for _ in range(20):
        started = perf_counter()
        plan_memory(here, big, DRAFT, NO_WISHES)
        times.append(perf_counter() - started)
    assert min(times) < 0.002  # twice the aim: this machine may be busy


# Properties.

ORDER = (
    "No snapshots of its state",
    "The draft is left out",
    "The context is shortened",
    "to main memory",
    "It does not fit",
)
bytes_up_to_64_gib = st.integers(0, 64 * GIB)
layer_counts = st.integers(1, 40)


@st.composite
def models(draw: st.DrawFn) -> ModelShape:
    return model(
        n_layer=draw(layer_counts),
        layer_bytes=draw(st.integers(MIB, 800 * MIB)),
        embedding_bytes=draw(st.integers(MIB, 2000 * MIB)),
        kv_width=draw(st.sampled_from([64, 128, 512, 1024])),
        n_ctx_train=draw(st.sampled_from([512, 4096, 32768, 131072])),
        state_bytes=draw(st.sampled_from([0, 2 * MIB, 60 * MIB])),
    )


@st.composite
def wishes(draw: st.DrawFn) -> Wishes:
    return Wishes(
        n_ctx=draw(st.none() | st.integers(1, 65536)),
        n_gpu_layers=draw(st.none() | st.integers(-1, 50)),
        cache_type=draw(st.sampled_from(["f16", "q8_0", "q4_0"])),
        experts_in_ram=draw(st.booleans()),
        shortest_n_ctx=draw(st.none() | st.integers(1, 65536)),
    )


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    cards = [
        card(
            draw(bytes_up_to_64_gib),
            name=f"GPU{number}",
            kind=draw(st.sampled_from(["gpu", "rpc", "integrated"])),
        )
        for number in range(draw(st.integers(0, 3)))
    ]
    return machine(*cards, ram_bytes=draw(bytes_up_to_64_gib), unified=draw(st.booleans()))


@given(machines(), models(), st.none() | models(), wishes())
def test_a_plan_that_fits_never_takes_more_than_is_free(
    here: Machine, target: ModelShape, draft: ModelShape | None, asked: Wishes
) -> None:
    plan = plan_memory(here, target, draft, asked)
    if plan.fits:
        for share in plan.shares:
            assert share.used_bytes <= share.free_bytes
        assert not any(step.startswith("It does not fit") for step in plan.steps)
    else:
        assert plan.steps[-1].startswith("It does not fit")


@given(machines(), models(), st.none() | models(), wishes())
def test_what_gives_way_does_so_in_the_stated_order(
    here: Machine, target: ModelShape, draft: ModelShape | None, asked: Wishes
) -> None:
    plan = plan_memory(here, target, draft, asked)
    ranks = [next(rank for rank, text in enumerate(ORDER) if text in step) for step in plan.steps]
    assert ranks == sorted(set(ranks))
    if draft is not None and any(rank > 1 for rank in ranks):
        assert not plan.with_draft
    if 3 in ranks and asked.n_ctx is None and asked.shortest_n_ctx is None:
        assert plan.n_ctx <= 4096


@given(machines(), models(), st.none() | models(), wishes())
def test_every_byte_of_a_model_is_somewhere(
    here: Machine, target: ModelShape, draft: ModelShape | None, asked: Wishes
) -> None:
    plan = plan_memory(here, target, draft, asked)
    weights = sum(share.parts.get("target", 0) for share in plan.shares)
    layers = sum(layer.weight_bytes for layer in target.layers)
    assert weights == layers + target.input_bytes + target.output_bytes


@given(
    models(),
    st.none() | models(),
    bytes_up_to_64_gib,
    bytes_up_to_64_gib,
    st.integers(0, 8 * GIB),
    st.integers(0, 8 * GIB),
)
def test_more_memory_never_gives_a_worse_plan(
    target: ModelShape,
    draft: ModelShape | None,
    on_card: int,
    ram: int,
    more_on_card: int,
    more_ram: int,
) -> None:
    before = plan_memory(machine(card(on_card), ram_bytes=ram), target, draft, NO_WISHES)
    larger = machine(card(on_card + more_on_card), ram_bytes=ram + more_ram)
    after = plan_memory(larger, target, draft, NO_WISHES)
    assert rank_of(after) >= rank_of(before)


def rank_of(plan: MemoryPlan) -> tuple[bool, bool, int, int]:
    """Better plans come later."""
    return plan.fits, plan.with_draft, plan.n_ctx, plan.n_gpu_layers
