"""A memory plan, made for the devices that the engine reports, loaded for real.

An RPC server on loopback stands for a graphics card: llama.cpp treats it like one.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import pytest
from gguf import GGMLQuantizationType
from msgspec.structs import replace

from specchat.engine.devices import find_devices
from specchat.engine.protocol import Failed, Loaded, Plan, Round
from specchat.llama.library import Library
from specchat.pairing.gguf_file import read_gguf
from specchat.pairing.machine import Machine
from specchat.pairing.memory import MemoryPlan, Wishes, engine_numbers, plan_memory
from specchat.pairing.shape_header import shape_from_header
from specchat.speculation.settings import SpeculationSettings
from support.engine_process import Engine, ask, load, running_engine
from support.memory_recipes import recipe
from support.rpc_buffers import assert_lost, buffers_of
from support.rpc_server import RpcServer, running_rpc_server
from support.tiny_models import write_hollow, write_random

N_CTX = 1024
MIB = 2**20
WIDE: dict[str, Any] = {"n_embd": 256, "heads": (4, 2), "head_length": 64, "n_ff": 1024}
TARGET = recipe("llama", n_layer=8, **WIDE)
DRAFT = recipe("llama", n_layer=2, **WIDE)
MIXTURE = recipe(
    "qwen3moe",
    n_layer=4,
    **WIDE,
    expert_count=8,
    expert_used_count=2,
    expert_feed_forward_length=128,
)
FULL = SpeculationSettings(drafter="model", draft_length=4)


@pytest.fixture(autouse=True)
def needs_rpc(library: Library) -> None:
    if not library.supports_rpc:
        pytest.skip("this build of llama.cpp has no RPC: CMAKE_ARGS=-DGGML_RPC=on brings it")


@pytest.fixture(scope="module")
def paths(library: Library, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Random models in F32, so that rounding decides nothing."""
    folder = tmp_path_factory.mktemp("plan")
    recipes = {"target": TARGET, "draft": DRAFT, "mixture": MIXTURE}
    return {
        name: write_random(
            library,
            folder / f"{name}.gguf",
            changed(recipe, quantisation=GGMLQuantizationType.F32),
        )
        for name, recipe in recipes.items()
    }


@pytest.fixture
def server() -> Iterator[RpcServer]:
    with running_rpc_server() as server:
        yield server


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with running_engine() as engine:
        yield engine


async def planned(
    server: RpcServer, paths: dict[str, Path], *, room: int | None = None
) -> MemoryPlan:
    """The plan for the pair on the machine that the engine reports.

    Args:
        room: bytes that the server is taken to have, in place of what it says.
    """
    machine = (await find_devices((server.address,))).machine
    if room is not None:
        machine = with_room(machine, room)
    target, draft = (shape_from_header(read_gguf(paths[name])) for name in ("target", "draft"))
    return plan_memory(machine, target, draft, Wishes(n_ctx=N_CTX))


def with_room(machine: Machine, room: int) -> Machine:
    """The same with a device beside the CPU that has so many bytes, all of them free."""
    return replace(
        machine,
        devices=tuple(
            device if device.kind == "cpu" else replace(device, total_bytes=room, free_bytes=room)
            for device in machine.devices
        ),
    )


def as_asked(plan: MemoryPlan, server: RpcServer) -> Plan:
    """The plan as the engine's."""
    numbers = engine_numbers(plan)
    return Plan(
        n_ctx=numbers.n_ctx,
        n_gpu_layers=numbers.n_gpu_layers,
        n_draft_gpu_layers=numbers.n_draft_gpu_layers,
        cache_type=numbers.cache_type,
        experts_in_ram=numbers.experts_in_ram,
        rpc=(server.address,),
        measure_costs=False,
    )


def on_server(plan: MemoryPlan) -> dict[str, int]:
    """What the plan puts on the server, without the margin."""
    [share] = [share for share in plan.shares if share.device == "RPC0"]
    return {part: size for part, size in share.parts.items() if part != "margin"}


async def greedy_text(
    engine: Engine, paths: dict[str, Path], plan: Plan, *, with_draft: bool = True
) -> str:
    """What the pair says when it is loaded so."""
    await engine.send(load(paths["target"], paths["draft"] if with_draft else None, plan))
    await engine.first(Loaded)
    speculation = FULL if with_draft else SpeculationSettings(drafter="ngram", draft_length=4)
    question = ask(1, "The sea was calm. " * 8, max_tokens=60)
    return (await engine.answer(replace(question, speculation=speculation))).text


CPU = Plan(n_ctx=N_CTX, measure_costs=False)


async def test_a_plan_puts_the_pair_on_the_server_and_the_text_stays(
    server: RpcServer, engine: Engine, paths: dict[str, Path]
) -> None:
    plan = await planned(server, paths)
    assert (plan.fits, plan.with_draft, plan.steps) == (True, True, ())
    assert set(on_server(plan)) == {"target", "draft", "target_kv", "draft_kv", "compute"}
    asked = as_asked(plan, server)

    there = await greedy_text(engine, paths, asked)

    assert there == await greedy_text(engine, paths, CPU)  # which lets go of the server
    assert len(there) > 20
    held = buffers_of(server, paths["target"], n_gpu_layers=asked.n_gpu_layers)
    assert held["RPC0"] == pytest.approx(on_server(plan)["target"], rel=0.01)
    held = buffers_of(server, paths["draft"], n_gpu_layers=asked.n_draft_gpu_layers)
    assert held["RPC0"] == pytest.approx(on_server(plan)["draft"], rel=0.01)


async def test_a_planned_server_that_dies_in_mid_answer_is_told_and_a_new_engine_answers(
    server: RpcServer, engine: Engine, paths: dict[str, Path]
) -> None:
    plan = as_asked(await planned(server, paths), server)
    await engine.send(load(paths["target"], paths["draft"], plan))
    await engine.first(Loaded)
    await engine.send(ask(1))
    await engine.first(Round)
    server.kill()
    assert_lost((await engine.rest())[-1], server)

    async with running_engine() as other:
        assert await greedy_text(other, paths, CPU)


async def test_a_server_too_small_for_both_is_planned_and_loaded_without_the_draft(
    server: RpcServer, engine: Engine, paths: dict[str, Path]
) -> None:
    everything = on_server(await planned(server, paths))
    room = round((sum(everything.values()) - everything["draft"] / 2) / 0.92)
    plan = await planned(server, paths, room=room)
    assert (plan.fits, plan.with_draft) == (True, False)
    assert plan.steps[0].startswith("The draft is left out: with it RPC0 lacks ")

    there = await greedy_text(engine, paths, as_asked(plan, server), with_draft=False)

    assert there == await greedy_text(engine, paths, CPU)


async def test_a_server_too_small_for_the_target_gets_the_layers_that_fit(
    server: RpcServer, engine: Engine, paths: dict[str, Path]
) -> None:
    everything = on_server(await planned(server, paths))
    alone = sum(everything.values()) - everything["draft"] - everything["draft_kv"]
    plan = await planned(server, paths, room=round((alone - everything["target"] / 2) / 0.92))
    assert plan.fits
    assert 0 < plan.n_gpu_layers < 9
    assert "layers go to main memory" in plan.steps[-1]
    asked = as_asked(plan, server)

    there = await greedy_text(engine, paths, asked, with_draft=False)

    assert there == await greedy_text(engine, paths, CPU)
    held = buffers_of(server, paths["target"], n_gpu_layers=asked.n_gpu_layers)
    assert held["RPC0"] == pytest.approx(on_server(plan)["target"], rel=0.01)
    assert held["CPU"] > 0


async def test_the_experts_of_a_mixture_stay_here_and_the_text_stays(
    server: RpcServer, engine: Engine, paths: dict[str, Path]
) -> None:
    machine = (await find_devices((server.address,))).machine
    shape = shape_from_header(read_gguf(paths["mixture"]))
    plan = plan_memory(machine, shape, None, Wishes(n_ctx=N_CTX, experts_in_ram=True))
    asked = as_asked(plan, server)
    assert asked.experts_in_ram
    texts = []
    for placed in (asked, CPU):
        await engine.send(load(paths["mixture"], plan=placed))
        await engine.first(Loaded)
        texts.append((await engine.answer(ask(1, "The sea was calm.", max_tokens=40))).text)

    assert texts[0] == texts[1]
    held = buffers_of(server, paths["mixture"], experts_in_ram=True)
    experts = sum(layer.expert_bytes for layer in shape.layers)
    assert held["RPC0"] == pytest.approx(on_server(plan)["target"], rel=0.01)
    assert held["CPU"] >= experts > held["RPC0"] / 4
    everything = buffers_of(server, paths["mixture"])
    assert everything["RPC0"] - held["RPC0"] == pytest.approx(experts, rel=0.01)


async def test_a_context_that_a_server_has_no_memory_for_is_refused_before_anything_is_loaded(
    server: RpcServer, engine: Engine, paths: dict[str, Path]
) -> None:
    machine = (await find_devices((server.address,))).machine
    shape = shape_from_header(read_gguf(paths["target"]))
    n_ctx = machine.ram_bytes // (4 * sum(layer.key_width for layer in shape.layers))
    plan = Plan(n_ctx=n_ctx, measure_costs=False, rpc=(server.address,))
    await engine.send(load(paths["target"], plan=plan))
    failed = await engine.first(Failed)
    assert failed.kind == "out_of_memory"
    assert failed.message.startswith("Tried to put target.gguf on RPC0. It takes about ")
    assert f"there with a context of {n_ctx:,} tokens" in failed.message


SCANT = [
    (20, "out_of_memory", "RPC0 has no room for its part of the weights."),
    (110, "context_too_large", "llama.cpp says: "),
    (230, "context_too_large", "llama.cpp says: "),
]


@pytest.mark.parametrize(("mib", "kind", "words"), SCANT, ids=["weights", "KV", "compute"])
async def test_a_server_that_has_less_than_it_says_refuses_in_words(
    library: Library, engine: Engine, tmp_path: Path, mib: int, kind: str, words: str
) -> None:
    """Its memory is limited by the system to so much."""
    path = write_hollow(library, tmp_path / "hollow.gguf", recipe("llama", n_layer=2))
    with running_rpc_server(mib * MIB) as server:
        plan = Plan(n_ctx=65536, measure_costs=False, rpc=(server.address,))
        await engine.send(load(path, plan=plan))
        failed = await engine.first(Failed)
        assert failed.kind == kind
        assert words in failed.message
        await engine.send(load(path, plan=CPU))
        await engine.first(Loaded)
