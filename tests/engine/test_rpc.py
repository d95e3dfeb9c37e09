"""Devices of another machine: a server of llama.cpp's own on loopback stands for it."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from specchat.engine.devices import find_devices
from specchat.engine.protocol import Failed, Finished, Loaded, Plan, Round
from specchat.errors import RpcServerProblem
from specchat.llama import rpc
from specchat.llama.library import Library
from specchat.llama.rpc import ANSWER, PROTOCOL, REQUEST, add_servers
from specchat.speculation.settings import SpeculationSettings
from support.engine_process import (
    DEADLINE_S,
    Engine,
    ask,
    assert_in_words,
    engine_with,
    load,
    running_engine,
)
from support.gguf_models import disturbed, random_table, write_bigram
from support.rpc_buffers import assert_lost
from support.rpc_server import RpcServer, running_rpc_server

LETTERS = "abcdefgh"


@pytest.fixture(autouse=True)
def needs_rpc(library: Library) -> None:
    if not library.supports_rpc:
        pytest.skip("this build of llama.cpp has no RPC: CMAKE_ARGS=-DGGML_RPC=on brings it")


@pytest.fixture(scope="module")
def target_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte model that writes for as long as it may."""
    table = random_table(0, LETTERS)
    return write_bigram(tmp_path_factory.mktemp("rpc") / "target.gguf", table)


@pytest.fixture(scope="module")
def draft_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A worse model of the same text."""
    table = disturbed(random_table(0, LETTERS), 1, LETTERS, by=0.4)
    return write_bigram(tmp_path_factory.mktemp("rpc") / "draft.gguf", table)


@pytest.fixture
def server() -> Iterator[RpcServer]:
    with running_rpc_server() as server:
        yield server


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with running_engine() as engine:
        yield engine


def plan(*servers: str, n_ctx: int = 1024, **changes: int | tuple[str, ...]) -> Plan:
    """A small context, and these servers."""
    return Plan(n_ctx=n_ctx, measure_costs=False, rpc=servers, **changes)  # type: ignore[arg-type]


async def test_a_server_is_a_device_with_its_memory(server: RpcServer) -> None:
    found = await find_devices((server.address,))

    *_, device, cpu = found.machine.devices
    assert (device.name, device.kind, device.description) == ("RPC0", "rpc", server.address)
    assert device.total_bytes == cpu.total_bytes == found.machine.ram_bytes
    assert 0 < device.free_bytes <= device.total_bytes
    assert cpu.kind == "cpu"


async def test_target_and_draft_go_to_the_server_and_the_text_stays(
    server: RpcServer, engine: Engine, target_path: Path, draft_path: Path
) -> None:
    drafting = SpeculationSettings(drafter="model", draft_length=4)
    texts = []
    for placed in (plan(), plan(server.address)):
        await engine.send(load(target_path, draft_path, placed))
        loaded = await engine.first(Loaded)
        question = replace(ask(1, "abcd" * 40, max_tokens=100), speculation=drafting)
        finished = await engine.answer(question)
        assert finished.figures.accepted > 0
        texts.append(finished.text)

    assert texts[0] == texts[1]
    assert len(texts[0]) == 100
    assert loaded.engine.backend.split(", ")[-2:] == ["RPC0", "CPU"]
    [notice] = [notice for notice in loaded.notices if notice.kind == "rpc_unencrypted"]
    assert server.address in notice.message


PLACES = """
import json, sys
from specchat.llama.library import open_library
from specchat.llama.model import Model
from specchat.llama.rpc import add_servers
library = open_library()
address, path, *choices = sys.argv[1:]
add_servers(library, [address])
places = []
for choice in choices:
    mark = library.log.mark()
    model = Model(library, path, servers=[address], **json.loads(choice))
    lines = [text for number, _, text in library.log._lines if number > mark]
    places.append([line.split()[1] for line in lines if "model buffer size" in line])
    model.close()
print(json.dumps(places))
"""


def places_of(path: Path, server: RpcServer, *choices: dict[str, object]) -> list[list[str]]:
    """The buffers that llama.cpp says it put a model's weights into, for each choice.

    In a process of its own: llama.cpp forgets no server as long as a process lives.
    """
    done = subprocess.run(
        [sys.executable, "-c", PLACES, server.address, path, *map(json.dumps, choices)],
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=True,
    )
    found: list[list[str]] = json.loads(done.stdout)
    return found


def test_layers_go_where_the_plan_says(server: RpcServer, target_path: Path) -> None:
    everywhere, some, none, named, not_there = places_of(
        target_path,
        server,
        {},
        {"n_gpu_layers": 1},
        {"n_gpu_layers": 0},
        {"devices": ["RPC0"]},
        {"devices": []},
    )
    remote = f"RPC0[{server.address}]"
    assert remote in everywhere
    assert remote in some
    assert remote in named
    assert remote not in none
    assert remote not in not_there


async def test_a_device_that_is_not_there_is_named_in_words(
    server: RpcServer, engine: Engine, target_path: Path
) -> None:
    await engine.send(load(target_path, plan=plan(server.address, devices=("CUDA7",))))
    failed = await engine.first(Failed)
    assert failed.kind == "invalid_setting"
    assert "CUDA7" in failed.message
    assert "RPC0" in failed.message
    assert_in_words(failed)


async def test_a_server_of_an_earlier_load_is_not_used_again(
    server: RpcServer, engine: Engine, target_path: Path
) -> None:
    for placed in (plan(server.address), plan()):
        await engine.send(load(target_path, plan=placed))
        await engine.first(Loaded)
    server.kill()
    assert (await engine.answer(ask(1, max_tokens=5))).finish_reason == "length"


async def test_a_server_that_dies_in_mid_answer_is_told_and_a_new_engine_answers(
    server: RpcServer, engine: Engine, target_path: Path, draft_path: Path
) -> None:
    await engine.send(load(target_path, draft_path, plan(server.address, n_ctx=8192)))
    await engine.first(Loaded)
    await engine.send(ask(1))
    await engine.first(Round)
    server.kill()
    failed = (await engine.rest())[-1]
    assert_lost(failed, server)

    async with running_engine() as other:
        await other.send(load(target_path, draft_path, plan()))
        await other.first(Loaded)
        assert (await other.answer(ask(1, max_tokens=5))).finish_reason == "length"


async def test_a_server_that_falls_silent_counts_as_gone_after_a_while(
    server: RpcServer, target_path: Path
) -> None:
    async with running_engine(engine_with("session.SILENCE_S = 1")) as engine:
        await engine.send(load(target_path, plan=plan(server.address, n_ctx=8192)))
        await engine.first(Loaded)
        await engine.send(ask(1))
        await engine.first(Round)
        server.hang()
        assert_lost((await engine.rest())[-1], server)


async def test_a_server_that_hangs_before_the_load_is_refused(
    server: RpcServer, target_path: Path
) -> None:
    server.hang()
    changes = "from specchat.llama import rpc; rpc.REACH_S = 0.5"
    async with running_engine(engine_with(changes)) as engine:
        await engine.send(load(target_path, plan=plan(server.address)))
        failed = await engine.first(Failed)
        assert failed.kind == "rpc_server_problem"
        assert_in_words(failed)
        await engine.send(load(target_path, plan=plan()))
        await engine.first(Loaded)


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """The address of something that answers every greeting with these bytes."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(len(REQUEST), socket.MSG_WAITALL) == REQUEST
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join(DEADLINE_S)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "no RPC server of llama.cpp"),
        (b"", "no RPC server of llama.cpp"),
        (ANSWER.pack(28, PROTOCOL[0] + 1, 0, 0), "version 8.0 of the protocol"),
        (ANSWER.pack(28, PROTOCOL[0], PROTOCOL[1] + 1, 0), "version 7.1 of the protocol"),
    ],
)
def test_what_answers_as_no_fitting_server_does_is_refused(
    library: Library, answer: bytes, words: str
) -> None:
    with answering(answer) as address, pytest.raises(RpcServerProblem, match=words):
        add_servers(library, [address])


def test_a_port_at_which_nobody_listens_is_refused_at_once(library: Library) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(RpcServerProblem, match="cannot be reached"):
            add_servers(library, [address])
        assert time.monotonic() - started < rpc.REACH_S


@pytest.mark.parametrize("host", ["nowhere.invalid", "no..where", "x" * 64])
def test_a_host_that_nobody_knows_is_refused(library: Library, host: str) -> None:
    with pytest.raises(RpcServerProblem, match="cannot be reached"):
        add_servers(library, [f"{host}:50052"])


@pytest.mark.real_model
async def test_half_of_a_real_model_on_the_server_writes_the_same_text(
    server: RpcServer, engine: Engine, smollm2_path: Path, worse_path: Path
) -> None:
    texts = []
    for placed in (plan(), plan(server.address, n_gpu_layers=15)):
        await engine.send(load(smollm2_path, worse_path, placed))
        await engine.first(Loaded)
        finished: Finished = await engine.answer(ask(1, "Name three colours.", max_tokens=24))
        texts.append(finished.text)
    assert texts[0] == texts[1]
