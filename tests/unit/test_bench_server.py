"""llama-server beside the engine: its options, its wire format, its end. The server is scripted."""

import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from specchat.bench.measure import memory_arguments
from specchat.bench.problems import ServerProblem
from specchat.bench.prompts import Prompt
from specchat.bench.server import Program, Server, ServerPlan, arguments
from specchat.bench.server_side import ServerContestant
from specchat.engine.protocol import Plan
from specchat.speculation.settings import SamplingSettings
from support import scripted_llama_server as scripted
from support.engine_process import is_gone, wait_until
from support.processes import Process

HELP = """----- common params -----

-t,    --threads N                      number of CPU threads to use during generation
                                        (env: LLAMA_ARG_THREADS)
-tb,   --threads-batch N                number of threads to use for the prompt (default:
                                        same as --threads)
-c,    --ctx-size N                     size of the prompt context
-fit,  --fit [on|off]                   whether to adjust unset arguments to fit in device memory
-ngl,  --gpu-layers, --n-gpu-layers N   max. number of layers to store in VRAM

----- speculative params -----

--spec-draft-model, -md, --model-draft FNAME
                                        draft model for speculative decoding (default: unused)
--spec-draft-ngl, -ngld, --gpu-layers-draft, --n-gpu-layers-draft N
                                        max. number of draft model layers to store in VRAM
--spec-draft-n-max N                    number of tokens to draft (default: 3)
--spec-draft-sampling {greedy,probabilistic}
                                        how the draft is sampled
--spec-type none,draft-simple,ngram-simple
                                        comma-separated list of types of speculative decoding to use
--draft, --draft-n, --draft-max N       the argument has been removed. use --spec-draft-n-max or
                                        --spec-ngram-mod-n-max

----- example-specific params -----

-np,   --parallel N                     number of server slots (default: -1, -1 = auto)
-cram, --cache-ram N                    set the maximum cache size in MiB (default: 8192)
--ui,  --webui, --no-ui, --no-webui     whether to enable the Web UI (default: enabled)
"""
OLD_HELP = """-t,    --threads N       number of threads
-c,    --ctx-size N      size of the prompt context
--draft-max, --draft, --draft-n N
                         number of tokens to draft for speculative decoding (default: 16)
-md,   --model-draft FNAME
                         draft model
--no-webui               Disable the Web UI
"""
PLAN = ServerPlan(
    target="/models/big.gguf",
    draft="/models/small.gguf",
    n_ctx=2048,
    n_threads=2,
    n_gpu_layers=-1,
    draft_length=5,
    greedy=False,
)
GREEDY = SamplingSettings(temperature=0, seed=7)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """What the scripted server was asked, a JSON list a line."""
    return tmp_path / "asked.log"


@pytest.fixture
def binary(tmp_path: Path, log: Path) -> Path:
    """A program that speaks llama-server's JSON."""
    path = tmp_path / "llama-server"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {scripted.__file__} {log} "$@"\n')
    path.chmod(0o755)
    return path


@asynccontextmanager
async def running(binary: Path, *given: str) -> AsyncIterator[Server]:
    server = await Server.start(binary, given)
    try:
        yield server
    finally:
        await server.close()


def asked(log: Path, path: str) -> list[dict[str, object]]:
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    return [body for where, body in entries if where == path]


def test_the_server_gets_the_files_and_settings_of_the_engine() -> None:
    given = " ".join(arguments(PLAN, HELP))

    assert given == (
        "--model /models/big.gguf --ctx-size 2048 --threads 2 --gpu-layers 999 --threads-batch 2"
        " --parallel 1 --cache-ram 0 --fit off --no-ui --model-draft /models/small.gguf"
        " --spec-type draft-simple --spec-draft-n-max 5 --gpu-layers-draft 999"
        " --spec-draft-sampling probabilistic"
    )


def test_an_older_server_gets_the_options_that_it_knows() -> None:
    given = " ".join(arguments(PLAN, OLD_HELP))

    assert given == (
        "--model /models/big.gguf --ctx-size 2048 --threads 2 --gpu-layers 999 --no-webui"
        " --model-draft /models/small.gguf --draft-max 5"
    )


def test_a_head_in_a_file_of_its_own_is_named_by_its_type() -> None:
    given = " ".join(arguments(replace(PLAN, spec_type="draft-eagle3"), HELP))

    assert "--model-draft /models/small.gguf --spec-type draft-eagle3 --spec-draft-n-max 5" in given


def test_heads_in_the_targets_own_file_draft_without_another_file() -> None:
    plan = replace(PLAN, draft=None, built_in=True, spec_type="draft-mtp")

    given = " ".join(arguments(plan, HELP))
    assert plan.name == "llama-server:5"
    assert "--spec-type draft-mtp --spec-draft-n-max 5" in given
    assert "--model-draft" not in given
    assert "--gpu-layers-draft" not in given


def test_without_a_draft_the_server_decodes_plainly() -> None:
    plan = ServerPlan(
        target="big.gguf",
        draft=None,
        n_ctx=512,
        n_threads=2,
        n_gpu_layers=4,
        draft_length=3,
        greedy=True,
        extra=("--no-mmap",),
    )

    assert plan.name == "llama-server"
    given = arguments(plan, HELP)
    assert not [option for option in given if "draft" in option or "spec" in option]
    assert given[given.index("--gpu-layers") + 1] == "4"
    assert given[-1] == "--no-mmap"


def test_a_server_that_cannot_draft_is_refused() -> None:
    with pytest.raises(ServerProblem, match="no option for the length of a draft"):
        arguments(PLAN, "-c, --ctx-size N  context")


def test_the_version_is_read_from_the_program(binary: Path) -> None:
    program = Program.read(binary)

    assert "--ctx-size" in program.help_text
    assert program.version == "7777 (abcdef)"


def test_a_program_is_found_here_and_on_the_search_path(
    binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{binary.parent}:{os.environ['PATH']}")
    assert Program.read(Path("llama-server")).path == binary
    monkeypatch.chdir(binary.parent)
    assert Program.read(Path("llama-server")).path == binary


def test_something_else_is_no_server(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    with pytest.raises(ServerProblem, match="It cannot be run"):
        Program.read(text)
    with pytest.raises(ServerProblem, match="It is another program"):
        Program.read(Path(sys.executable))


async def test_a_completion_is_measured_by_the_servers_own_timings(binary: Path, log: Path) -> None:
    async with running(binary) as server:
        contestant = await ServerContestant.of("llama-server:3", server)
        measured = await contestant.answer(Prompt("Hi", system="Be brief."), GREEDY, 20)
        undrafted = await contestant.answer(Prompt("Hi"), GREEDY, 1)

    assert measured.text == "Hello there"
    assert measured.tokens == (5, 6, 7)
    assert measured.finish_reason == "length"
    assert (measured.emitted, measured.decode_s, measured.tokens_per_second) == (9, 0.25, 32.0)
    assert (measured.drafted, measured.accepted) == (12, 7)
    assert measured.figures is None
    assert (undrafted.drafted, undrafted.accepted) == (0, 0)
    first = asked(log, "/completion")[0]
    rendered = "[system]Be brief.[user]Hi[assistant]"
    assert first["prompt"] == [1, *(3 + byte for byte in rendered.encode())]
    assert measured.prompt_tokens == len(rendered) + 1
    wanted = {
        "n_predict": 20,
        "temperature": 0,
        "top_k": 40,
        "top_p": 0.95,
        "min_p": 0.05,
        "seed": 7,
        "cache_prompt": False,
    }
    assert {key: first[key] for key in wanted} == wanted


async def test_the_server_is_gone_after_the_run(binary: Path) -> None:
    async with running(binary) as server:
        [program] = psutil.Process(server.pid).children()
        assert program.is_running()

    assert not program.is_running()
    assert not psutil.pid_exists(server.pid)


def test_a_bench_that_is_killed_takes_the_server_along(binary: Path) -> None:
    script = f"""
import asyncio, psutil
from pathlib import Path
from specchat.bench.server import Server
async def main():
    server = await Server.start(Path({str(binary)!r}), [])
    print(psutil.Process(server.pid).children()[0].pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    with Process([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as bench:
        assert bench.stdout is not None
        pid = int(bench.stdout.readline())
        assert not is_gone(pid)
        bench.kill()
    wait_until(lambda: is_gone(pid), "the server's end")


async def test_a_server_that_does_not_start_is_told_with_its_last_words(binary: Path) -> None:
    started = time.monotonic()
    with pytest.raises(ServerProblem, match=r"left with code 3.*\n  error: no such model"):
        await Server.start(binary, ["--broken"])
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("n_predict", "words"),
    [(scripted.REFUSED, "status 400.*unlucky"), (scripted.FATAL, "/completion")],
)
async def test_a_request_that_fails_is_told(binary: Path, n_predict: int, words: str) -> None:
    async with running(binary) as server:
        contestant = await ServerContestant.of("llama-server", server)
        with pytest.raises(ServerProblem, match=words):
            await contestant.answer(Prompt("Hi"), GREEDY, n_predict)


def test_the_server_keeps_its_memory_as_the_engine_does() -> None:
    assert memory_arguments(Plan()) == ()
    assert memory_arguments(Plan(cache_type="q8_0", experts_in_ram=True)) == (
        "--cpu-moe",
        "--cache-type-k",
        "q8_0",
        "--cache-type-v",
        "q8_0",
    )
