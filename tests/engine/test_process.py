"""The engine's process: what it says, how it stops, and how it ends."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

import specchat
from specchat.engine.client import LOGS_KEPT
from specchat.engine.protocol import (
    Event,
    Failed,
    Finished,
    Loaded,
    LoadProgress,
    PromptProgress,
    Round,
    Stop,
    encode_frame,
)
from specchat.errors import EngineCrashed
from specchat.speculation.settings import SpeculationSettings
from support.engine_process import (
    DEADLINE_S,
    FEW,
    POLL_S,
    ROOMY,
    Engine,
    ask,
    engine_with,
    is_gone,
    load,
    rounds_in,
    running_engine,
    wait_until,
)
from support.gguf_models import random_table, write_bigram
from support.processes import Process

PROMPTLY_S = 3.0
"""An end that waits for no decode, no load and no grace to run out; the rest is a busy machine."""


@pytest.fixture(scope="module")
def bigram_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte model that writes for as long as it may."""
    table = random_table(0, "abcdefgh")
    return write_bigram(tmp_path_factory.mktemp("bigram") / "bigram.gguf", table)


@pytest.fixture(scope="module")
def other_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte model of other letters."""
    table = random_table(1, "stuvwxyz")
    return write_bigram(tmp_path_factory.mktemp("bigram") / "other.gguf", table)


@pytest.fixture
def pipe_path(tmp_path: Path) -> Path:
    """A file that is never read to its end: who loads it, loads until something else happens."""
    path = tmp_path / "slow.gguf"
    os.mkfifo(path)
    return path


@pytest.fixture
async def engine(bigram_path: Path) -> AsyncIterator[Engine]:
    """An engine with the byte model loaded."""
    async with running_engine() as engine:
        await engine.send(load(bigram_path, plan=ROOMY))
        await engine.first(Loaded)
        yield engine


def only_failure(events: list[Event]) -> Failed:
    """The one failure among these events, which is the last of them."""
    [failed] = [event for event in events if isinstance(event, Failed)]
    assert events[-1] is failed
    return failed


async def test_loading_tells_its_progress_and_then_what_was_loaded(bigram_path: Path) -> None:
    async with running_engine() as engine:
        await engine.send(load(bigram_path, bigram_path))
        *progress, loaded = await engine.until(Loaded)
        assert isinstance(loaded, Loaded)
        fractions: dict[str, list[float]] = {"target": [], "draft": []}
        for event in progress:
            assert isinstance(event, LoadProgress)
            fractions[event.step].append(event.fraction)
        for told in fractions.values():
            assert told == sorted(told)
            assert told[-1] == 1.0
        assert loaded.target == loaded.draft
        assert loaded.target.path == str(bigram_path)
        assert loaded.target.architecture == "llama"
        assert loaded.target.n_ctx_train == 32768
        assert loaded.drafter == "chain"
        assert loaded.n_ctx == FEW.n_ctx
        assert loaded.n_threads >= 1
        assert loaded.engine.specchat == specchat.__version__
        assert "CPU" in loaded.engine.backend
        assert [notice.kind for notice in loaded.notices] == ["no_template"]
        assert loaded.load_s > 0


async def test_an_answer_comes_in_rounds_whose_text_adds_up(engine: Engine) -> None:
    await engine.send(ask(1, max_tokens=50))
    *events, finished = await engine.until(Finished)
    assert isinstance(finished, Finished)
    rounds = rounds_in(events)
    assert len(rounds) > 1
    assert {step.id for step in rounds} == {finished.id} == {1}
    assert "".join(step.text for step in rounds) + finished.tail == finished.text
    assert [token for step in rounds for token in step.tokens] == list(finished.tokens)
    assert len(finished.text) == len(finished.tokens) == 50
    assert finished.finish_reason == "length"
    assert rounds[-1].figures == finished.figures


async def test_stop_ends_the_answer_and_keeps_what_came(engine: Engine) -> None:
    await engine.send(ask(1))
    await engine.first(Round)
    await engine.send(Stop(1))
    finished = await engine.first(Finished)
    assert finished.finish_reason == "cancelled"
    assert finished.text
    assert len(finished.text) == finished.figures.emitted < 4096
    whole = await engine.answer(ask(2, max_tokens=finished.figures.emitted))
    assert whole.text == finished.text


async def test_stop_ends_a_long_prompt_and_what_was_read_stays(engine: Engine) -> None:
    long = "abcdefgh" * 1000
    await engine.send(ask(1, long))
    while (await engine.first(PromptProgress)).done == 0:
        pass
    await engine.send(Stop(1))
    finished = await engine.first(Finished)
    assert finished.finish_reason == "cancelled"
    assert finished.figures.rounds == 0
    assert 0 < finished.n_past < 7000
    await engine.send(ask(2, long, max_tokens=1))
    progress = await engine.first(PromptProgress)
    assert progress.reused == finished.n_past
    await engine.send(Stop(2))


async def test_a_stop_for_an_answer_that_has_ended_leaves_the_next_one_alone(
    engine: Engine,
) -> None:
    await engine.answer(ask(1, max_tokens=5))
    await engine.send(Stop(1))
    finished = await engine.answer(ask(2, max_tokens=300))
    assert finished.finish_reason == "length"
    assert finished.figures.emitted == 300


async def test_a_stop_right_after_its_question_ends_the_answer(engine: Engine) -> None:
    await engine.send(ask(1), Stop(1))
    finished = await engine.first(Finished)
    assert (finished.id, finished.finish_reason) == (1, "cancelled")
    assert finished.figures.emitted < 1000


async def test_a_stop_that_comes_before_its_answer_runs_ends_it_without_a_token(
    bigram_path: Path,
) -> None:
    async with running_engine() as engine:
        # Both are heard while the model still loads.
        await engine.send(load(bigram_path), ask(1), Stop(1))
        finished = await engine.first(Finished)
        assert (finished.finish_reason, finished.text) == ("cancelled", "")
        assert (await engine.answer(ask(2, max_tokens=5))).figures.emitted == 5


async def test_two_questions_are_answered_one_after_the_other(engine: Engine) -> None:
    await engine.send(ask(1, max_tokens=30), ask(2, "efgh", max_tokens=30))
    first = await engine.until(Finished)
    second = await engine.until(Finished)
    for number, events in enumerate([first, second], 1):
        assert {getattr(event, "id", None) for event in events} == {number}
        assert isinstance(events[-1], Finished)
        assert events[-1].finish_reason == "length"


async def test_stopping_the_answer_that_waits_leaves_the_running_one_alone(
    engine: Engine,
) -> None:
    await engine.send(ask(1, max_tokens=300), ask(2))
    await engine.first(Round)
    await engine.send(Stop(2))
    first, second = await engine.first(Finished), await engine.first(Finished)
    assert (first.id, first.finish_reason, first.figures.emitted) == (1, "length", 300)
    assert (second.id, second.finish_reason) == (2, "cancelled")


async def test_an_answer_without_a_model_is_refused_in_words(bigram_path: Path) -> None:
    async with running_engine() as engine:
        await engine.send(ask(7))
        failed = await engine.first(Failed)
        assert (failed.kind, failed.id) == ("no_model", 7)
        assert "No model is loaded." in failed.message
        await engine.send(load(bigram_path))
        await engine.first(Loaded)


async def test_loading_again_replaces_what_was_loaded(engine: Engine, other_path: Path) -> None:
    before = await engine.answer(ask(1, max_tokens=20))
    await engine.send(load(other_path, other_path))
    loaded = await engine.first(Loaded)
    assert (loaded.target.path, loaded.drafter) == (str(other_path), "chain")
    after = await engine.answer(ask(2, "stuv", max_tokens=20))
    assert set(before.text) <= set("abcdefgh")
    assert set(after.text) <= set("stuvwxyz")
    assert after.drafter == "chain"


async def test_after_a_load_that_failed_the_process_still_serves(
    engine: Engine, bigram_path: Path, tmp_path: Path
) -> None:
    pid = engine.client.pid
    await engine.send(load(tmp_path / "missing.gguf"))
    assert (await engine.first(Failed)).kind == "model_not_found"
    await engine.send(ask(1))
    assert (await engine.first(Failed)).kind == "no_model"
    await engine.send(load(bigram_path))
    await engine.first(Loaded)
    assert (await engine.answer(ask(2, max_tokens=5))).figures.emitted == 5
    assert engine.client.pid == pid


async def test_a_killed_process_is_one_failure_and_the_end(engine: Engine) -> None:
    await engine.send(ask(1))
    await engine.first(Round)
    os.kill(engine.client.pid, signal.SIGKILL)
    failed = only_failure(await engine.rest())
    assert failed.kind == EngineCrashed.kind
    assert failed.exit_code == 1
    assert "SIGKILL" in failed.message
    assert str(engine.client.log_path) in failed.help
    with pytest.raises(StopAsyncIteration):
        await engine.next()
    await engine.send(ask(2))  # lost, and no error


async def test_a_signal_without_a_name_is_told_by_its_number(engine: Engine) -> None:
    number = signal.SIGRTMIN + 1
    os.kill(engine.client.pid, number)
    assert str(int(number)) in only_failure(await engine.rest()).message


@pytest.mark.parametrize("when", ["loading", "reading the prompt", "answering", "idle"])
async def test_closing_is_prompt_whatever_the_engine_does(
    bigram_path: Path, pipe_path: Path, when: str
) -> None:
    async with running_engine() as engine:
        if when == "loading":
            await engine.send(load(pipe_path))
        else:
            await engine.send(load(bigram_path, plan=ROOMY))
            await engine.first(Loaded)
        if when == "reading the prompt":
            await engine.send(ask(1, "abcdefgh" * 1000))
            await engine.first(PromptProgress)
        elif when == "answering":
            await engine.send(ask(1))
            await engine.first(Round)
        started = time.monotonic()
        await engine.close()
        assert time.monotonic() - started < PROMPTLY_S
        assert is_gone(engine.client.pid)
        assert not [event for event in await engine.rest() if isinstance(event, Failed)]


async def test_closing_is_prompt_when_nobody_has_read_the_events(bigram_path: Path) -> None:
    command = engine_with("""
answer = session.Session.answer
def told(*arguments):
    finished = answer(*arguments)
    print("answered", flush=True)
    return finished
session.Session.answer = told
""")
    async with running_engine(command) as engine:
        # One round a token: far more bytes than a pipe and asyncio's reader hold.
        plain = SpeculationSettings(drafter="none")
        request = msgspec.structs.replace(ask(1, max_tokens=1000), speculation=plain)
        await engine.send(load(bigram_path, plan=ROOMY), request)
        async with asyncio.timeout(DEADLINE_S):
            while "answered" not in engine.client.log_path.read_text():
                await asyncio.sleep(POLL_S)
        started = time.monotonic()
        await engine.close()
        assert time.monotonic() - started < PROMPTLY_S
        assert is_gone(engine.client.pid)


@pytest.mark.parametrize("when", ["idle", "answering", "loading"])
def test_a_parent_that_dies_takes_the_engine_along(
    bigram_path: Path, pipe_path: Path, when: str
) -> None:
    script = f"""
import asyncio
from pathlib import Path
from support.engine_process import ROOMY, ask, load, running_engine
from specchat.engine.protocol import Loaded, Round
async def main():
    async with running_engine() as engine:
        if {when != "loading"}:
            await engine.send(load(Path({str(bigram_path)!r}), plan=ROOMY))
            await engine.first(Loaded)
        else:
            await engine.send(load(Path({str(pipe_path)!r})))
        if {when == "answering"}:
            await engine.send(ask(1))
            await engine.first(Round)
        print(engine.client.pid, flush=True)
        await engine.rest()
asyncio.run(main())
"""
    tests = Path(__file__).parents[1]
    with Process(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=tests
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert not is_gone(child)
        parent.kill()
    wait_until(lambda: is_gone(child), "the engine's end")


async def test_what_is_printed_in_the_engine_goes_to_the_log_and_not_between_the_frames(
    bigram_path: Path,
) -> None:
    command = engine_with("""
import ctypes, os
answer = session.Session.answer
def noisy(*arguments):
    print("said by Python", flush=True)
    os.write(1, b"written to descriptor 1\\n")
    libc = ctypes.CDLL(None)
    libc.puts(b"put by a native library")
    libc.fflush(None)
    return answer(*arguments)
session.Session.answer = noisy
""")
    async with running_engine(command) as engine:
        await engine.send(load(bigram_path))
        await engine.first(Loaded)
        assert (await engine.answer(ask(1, max_tokens=20))).figures.emitted == 20
        log = engine.client.log_path.read_text()
        for line in ["said by Python", "written to descriptor 1", "put by a native library"]:
            assert line in log


async def test_what_llama_cpp_warns_of_is_in_the_log(tmp_path: Path, bigram_path: Path) -> None:
    broken = tmp_path / "cut.gguf"
    broken.write_bytes(bigram_path.read_bytes()[:100_000])
    async with running_engine() as engine:
        await engine.send(load(broken))
        await engine.first(Failed)
        assert "not within the file bounds" in engine.client.log_path.read_text()


@pytest.mark.parametrize(
    "garbage",
    [b"\xff" * 4, b"\0\0\0\x05hello", encode_frame(Stop(1))[:-1] + b"\xc1", b"\0\0"],
    ids=["a length beyond reason", "no MessagePack", "a broken command", "half a header"],
)
def test_garbage_instead_of_commands_ends_the_engine(garbage: bytes) -> None:
    """The pipe stays open: the engine has to leave of its own accord, or at the end of half a
    header."""
    with Process[bytes](
        [sys.executable, "-m", "specchat.engine"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(garbage)
        process.stdin.flush()
        if len(garbage) < 4:
            process.stdin.close()
            process.stdin = None
        wait_until(lambda: process.poll() is not None, "the engine's end")


@pytest.mark.parametrize("where", ["session.Session.answer", "session.Answer._told"])
async def test_an_unexpected_error_in_the_engine_is_a_crash_with_its_traceback(
    bigram_path: Path, where: str
) -> None:
    """While decoding, and while making an event beside it."""
    command = engine_with(f"""
def failing(*arguments):
    raise ZeroDivisionError("nobody thought of this")
{where} = failing
""")
    async with running_engine(command) as engine:
        await engine.send(load(bigram_path), ask(1))
        failed = only_failure(await engine.rest())
        assert failed.kind == EngineCrashed.kind
        assert "code 1" in failed.message
        assert failed.log[-1] == "ZeroDivisionError: nobody thought of this"
        assert any(line.startswith("Traceback") for line in failed.log)


async def test_of_old_logs_the_newest_few_stay(specchat_home: Path) -> None:
    folder = specchat_home / "log"
    folder.mkdir(parents=True)
    (folder / "notes.log").write_text("not ours")
    old = [folder / f"engine-1-{number}.log" for number in range(10)]
    for age, path in enumerate(old):
        path.write_text("old")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    async with running_engine() as engine:
        left = set(folder.glob("engine-*.log"))
        assert left == {engine.client.log_path, *old[: LOGS_KEPT - 1]}
        assert (folder / "notes.log").exists()


async def test_a_log_that_another_process_removes_meanwhile_is_no_trouble(
    specchat_home: Path,
) -> None:
    folder = specchat_home / "log"
    folder.mkdir(parents=True)
    (folder / "engine-1-0.log").symlink_to(folder / "removed")  # listed, but not there
    async with running_engine() as engine:
        assert engine.client.log_path.exists()


COUNTING_ONLY_THE_TWO = """
import os
import psutil
from specchat import neighbours

def busy_seconds():
    both = [psutil.Process(pid).cpu_times() for pid in (os.getpid(), os.getppid())]
    return sum(each.user + each.system for each in both)

neighbours._busy_seconds = busy_seconds
"""


async def test_the_work_of_who_asks_is_not_that_of_other_programs(bigram_path: Path) -> None:
    """A screen that draws quickly is no reason to tell the person to end other programs."""
    asked = ask(1, max_tokens=2000)
    async with running_engine(engine_with(COUNTING_ONLY_THE_TWO)) as engine:
        await engine.send(load(bigram_path, plan=ROOMY))
        await engine.first(Loaded)
        stopping = threading.Event()
        thread = threading.Thread(target=work, args=(stopping,))
        thread.start()
        try:
            finished = await engine.answer(asked)
        finally:
            stopping.set()
            thread.join()

    assert finished.figures.emitted == 2000
    assert "busy_machine" not in [alarm.kind for alarm in finished.alarms]


def work(stopping: threading.Event) -> None:
    """Take a core until told to stop."""
    while not stopping.is_set():
        sum(range(10_000))
