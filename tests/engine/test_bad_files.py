"""Files that are no models, damaged models and drafts that do not match: refusals in words."""

import asyncio
import os
import random
import struct
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from specchat.engine.protocol import Failed, Finished, Loaded, Notice, Plan
from specchat.errors import EngineCrashed
from specchat.speculation.settings import MAX_INTEGER
from support.engine_process import Engine, ask, assert_in_words, load, running_engine
from support.gguf_models import random_table, write_bigram

NAMES = [b"<unk>", b"<s>", b"</s>", *(f"<0x{byte:02X}>".encode() for byte in range(256))]
TENSOR_COUNT_AT, METADATA_COUNT_AT = 8, 16
"""Where a GGUF file says how much it holds: 64-bit numbers, little-endian."""

CACHE_BYTES_A_TOKEN = 128
"""Of the byte model: one layer, one head, 32 keys and values of two bytes."""

HOSTILE_FILES = 300
HOSTILE_BYTES = 2048
HOSTILE_DEADLINE_S = 10.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def sound(folder: Path) -> Path:
    """A sound model."""
    return write_bigram(folder / "sound.gguf", random_table(0, "abcdefgh"))


@pytest.fixture
async def engine(sound: Path) -> AsyncIterator[Engine]:
    """An engine that has to be able to load a sound model afterwards, in the same process."""
    async with running_engine() as engine:
        pid = engine.client.pid
        yield engine
        await engine.send(load(sound))
        await engine.first(Loaded)
        assert engine.client.pid == pid


async def refusal(engine: Engine, target: Path, plan: Plan | None = None) -> Failed:
    """The words with which a target is refused."""
    await engine.send(load(target, plan=plan or Plan(n_ctx=1024, measure_costs=False)))
    failed = await engine.first(Failed)
    assert_in_words(failed)
    assert failed.exit_code == 2
    assert target.name in failed.message
    return failed


async def test_a_missing_file_is_not_found(engine: Engine, tmp_path: Path) -> None:
    failed = await refusal(engine, tmp_path / "missing.gguf")
    assert failed.kind == "model_not_found"
    assert "There is no such file." in failed.message


async def test_a_folder_is_no_file(engine: Engine, tmp_path: Path) -> None:
    failed = await refusal(engine, tmp_path)
    assert failed.kind == "model_not_found"
    assert "That is a folder." in failed.message


async def test_a_path_that_no_file_can_have_is_not_found(engine: Engine, tmp_path: Path) -> None:
    failed = await refusal(engine, tmp_path / ("long" * 100))
    assert failed.kind == "model_not_found"
    assert "It cannot be read: File name too long." in failed.message


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file of /proc")
async def test_a_file_that_cannot_be_read_says_why(engine: Engine) -> None:
    failed = await refusal(engine, Path("/proc/self/mem"))
    assert failed.kind == "model_not_found"
    assert "It cannot be read: Input/output error." in failed.message


@pytest.mark.parametrize(
    ("content", "happened"),
    [
        (b"", "The file is empty."),
        (b"GG", "It is not a GGUF file"),
        (b"Once upon a time there was a model.\n" * 100, "It is not a GGUF file"),
    ],
    ids=["empty", "two bytes", "a text"],
)
async def test_something_else_under_the_name_of_a_model_is_no_gguf_file(
    engine: Engine, tmp_path: Path, content: bytes, happened: str
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    failed = await refusal(engine, path)
    assert failed.kind == "not_a_model"
    assert happened in failed.message


async def test_a_cut_file_is_said_to_be_cut_wherever_it_ends(
    engine: Engine, sound: Path, tmp_path: Path
) -> None:
    whole = sound.read_bytes()
    tensors = whole.index(b"token_embd.weight")
    vocabulary = whole.index(b"tokenizer.ggml.tokens")
    ends = [4, 8, 20, 30, 200, vocabulary + 100, tensors + 5, tensors + 1000, 100_000]
    path = tmp_path / "cut.gguf"
    for end in [*ends, len(whole) - 1]:
        path.write_bytes(whole[:end])
        failed = await refusal(engine, path)
        assert failed.kind == "not_a_model", end
        assert "cut short or damaged" in failed.message


@pytest.mark.parametrize("at", [TENSOR_COUNT_AT, METADATA_COUNT_AT], ids=["tensors", "metadata"])
async def test_an_absurd_count_in_the_header_is_damage(
    engine: Engine, sound: Path, tmp_path: Path, at: int
) -> None:
    for count in (2**63 - 1, 2**63, 2**64 - 1, 2**40, 100_000):
        data = bytearray(sound.read_bytes())
        struct.pack_into("<Q", data, at, count)
        path = tmp_path / "absurd.gguf"
        path.write_bytes(data)
        assert (await refusal(engine, path)).kind in ("not_a_model", "unsupported_model")


async def test_an_unknown_architecture_is_named(
    engine: Engine, sound: Path, tmp_path: Path
) -> None:
    data = sound.read_bytes()
    value = data.index(b"llama", data.index(b"general.architecture"))
    path = tmp_path / "unknown.gguf"
    path.write_bytes(data[:value] + b"lemur" + data[value + 5 :])
    failed = await refusal(engine, path)
    assert failed.kind == "unsupported_model"
    assert "does not know the architecture lemur." in failed.message


async def test_a_tensor_of_another_name_is_refused_with_the_reason(
    engine: Engine, sound: Path, tmp_path: Path
) -> None:
    path = tmp_path / "renamed.gguf"
    path.write_bytes(sound.read_bytes().replace(b"output_norm", b"output_form"))
    failed = await refusal(engine, path)
    assert failed.kind == "unsupported_model"
    assert "output_norm" in failed.message


async def test_a_context_that_cannot_fit_is_refused_and_the_process_lives(
    engine: Engine, sound: Path
) -> None:
    n_ctx = psutil.virtual_memory().total // CACHE_BYTES_A_TOKEN
    if n_ctx > MAX_INTEGER:
        pytest.skip("this machine has memory for any context")
    failed = await refusal(engine, sound, Plan(n_ctx=n_ctx, measure_costs=False))
    assert failed.kind == "context_too_large"
    assert "GiB of memory are free" in failed.message
    assert "--ctx" in failed.help


def mismatched(folder: Path, kind: str) -> tuple[Path, str, str]:
    """A draft that cannot be used: its path, the kind of the error and some of its words."""
    path = folder / f"{kind.replace(' ', '-')}.gguf"
    table = random_table(0, "abcdefgh")
    if kind == "missing":
        return path, "model_not_found", "There is no such file."
    if kind == "damaged":
        write_bigram(path, table)
        os.truncate(path, 100_000)
        return path, "not_a_model", "cut short or damaged"
    if kind == "other texts":
        texts = list(NAMES)
        texts[100], texts[200] = texts[200], texts[100]
        write_bigram(path, table, texts=texts)
        return path, "draft_mismatch", "Token 100 is '<0x61>' for the target and '<0xC5>'"
    if kind == "another size":
        write_bigram(path, table[:120, :120], texts=NAMES[:120])
        return path, "draft_mismatch", "Its vocabulary has 120 tokens, the target's has 259."
    write_bigram(path, table, add_bos=True)
    return path, "draft_mismatch", "It begins a text with another token than the target."


BAD_DRAFTS = ["missing", "damaged", "other texts", "another size", "another beginning"]


@pytest.mark.parametrize("kind", BAD_DRAFTS)
async def test_a_draft_that_has_to_be_used_and_cannot_be_is_refused(
    engine: Engine, sound: Path, folder: Path, kind: str
) -> None:
    draft, error, words = mismatched(folder, kind)
    await engine.send(
        load(sound, draft, Plan(n_ctx=1024, measure_costs=False, draft_required=True))
    )
    failed = await engine.first(Failed)
    assert_in_words(failed)
    assert failed.kind == error
    assert words in failed.message
    assert draft.name in failed.message
    await engine.send(ask(1))
    assert (await engine.first(Failed)).kind == "no_model"


@pytest.mark.parametrize("kind", BAD_DRAFTS)
async def test_a_chat_goes_on_without_a_draft_that_cannot_be_used(
    engine: Engine, sound: Path, folder: Path, kind: str
) -> None:
    draft, error, words = mismatched(folder, kind)
    await engine.send(load(sound, draft))
    loaded = await engine.first(Loaded)
    assert loaded.draft is None
    assert loaded.drafter == "ngram"
    notices: dict[str, Notice] = {notice.kind: notice for notice in loaded.notices}
    assert words in notices[error].message
    assert "n-gram" in notices[error].message
    assert notices[error].help
    assert (await engine.answer(ask(1, max_tokens=10))).drafter == "ngram"


async def test_a_hostile_file_is_refused_loaded_or_ends_its_own_process(
    sound: Path, tmp_path: Path
) -> None:
    """Bytes changed at random in the header: llama.cpp may abort, but nothing hangs, and nothing
    of ours fails unexpectedly."""
    chance, whole = random.Random(20), sound.read_bytes()
    path = tmp_path / "hostile.gguf"
    outcomes = {"refused": 0, "loaded": 0, "crashed": 0}
    files = iter(range(HOSTILE_FILES))
    while sum(outcomes.values()) < HOSTILE_FILES:
        async with running_engine() as engine:
            for number in files:
                path.write_bytes(damaged(whole, chance))
                async with asyncio.timeout(HOSTILE_DEADLINE_S):
                    outcome = await try_out(engine, path, id=number)
                outcomes[outcome] += 1
                if outcome == "crashed":
                    break
    assert outcomes["refused"] > HOSTILE_FILES / 4
    assert outcomes["loaded"] > 0


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """A copy with one or several bytes of the header changed; the magic stays."""
    data = bytearray(whole)
    for _ in range(chance.choice([1, 1, 2, 8])):
        data[chance.randrange(4, HOSTILE_BYTES)] = chance.choice([0, 255, chance.randrange(256)])
    return bytes(data)


async def try_out(engine: Engine, path: Path, id: int) -> str:
    """What comes of loading a file, and of an answer where it loads."""
    await engine.send(load(path))
    event = (await engine.until(Loaded, Failed))[-1]
    loaded = isinstance(event, Loaded)
    if loaded:
        await engine.send(ask(id, max_tokens=2))
        event = (await engine.until(Finished, Failed))[-1]
    if isinstance(event, Failed) and event.kind == EngineCrashed.kind:
        assert await engine.rest() == []
        # llama.cpp ended it; an error of ours that nobody thought of would leave a code.
        assert "was ended by SIG" in event.message, event
        return "crashed"
    if isinstance(event, Failed):
        assert_in_words(event)
        return "refused"
    return "loaded"
