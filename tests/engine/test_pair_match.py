"""What is said of a draft before anything is loaded, and what the engine says once it is."""

from pathlib import Path

from msgspec.structs import replace

from specchat.choosing.matching import mismatch
from specchat.engine.protocol import Failed, Loaded
from specchat.pairing.gguf_file import read_gguf
from support.engine_process import FEW, load, running_engine
from support.gguf_models import N_VOCAB, random_table, write_bigram

REQUIRED = replace(FEW, draft_required=True)


async def test_a_draft_of_no_use_is_refused_in_the_words_of_the_engine(tmp_path: Path) -> None:
    table = random_table(0, "abcdefgh")
    other = [f"other {number}".encode() for number in range(N_VOCAB)]
    target = write_bigram(tmp_path / "target.gguf", table)
    draft = write_bigram(tmp_path / "other.gguf", table, texts=other)
    error = mismatch(read_gguf(target), read_gguf(draft))
    async with running_engine() as engine:
        await engine.send(load(target, draft, REQUIRED))
        refused = await engine.first(Failed)

    assert error is not None
    assert (error.kind, error.message, error.next_step) == (
        refused.kind,
        refused.message,
        refused.help,
    )


async def test_what_is_not_objected_to_is_loaded_by_the_engine(tmp_path: Path) -> None:
    table = random_table(0, "abcdefgh")
    target, draft = (write_bigram(tmp_path / f"{name}.gguf", table) for name in ("t", "d"))

    assert mismatch(read_gguf(target), read_gguf(draft)) is None
    async with running_engine() as engine:
        await engine.send(load(target, draft, REQUIRED))
        assert (await engine.first(Loaded)).draft is not None
