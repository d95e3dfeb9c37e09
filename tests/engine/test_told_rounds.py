"""What a round tells: who guessed, the text of each token, the marks of thinking."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from specchat.engine.protocol import Finished, Loaded, PromptProgress
from support.engine_process import ask, load, rounds_in, running_engine
from support.gguf_models import (
    EOS,
    N_VOCAB,
    NEVER,
    byte_ids,
    random_table,
    write_bigram,
)

MARKS = (b"<|im_start|>", b"<think>", b"</think>")
START, OPEN, CLOSE = range(N_VOCAB, N_VOCAB + len(MARKS))


@pytest.fixture(scope="module")
def thinking_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that thinks "é" after any prompt that ends with d, and then says c."""
    size = N_VOCAB + len(MARKS)
    table = np.full((size, size), NEVER, np.float32)
    [first, second] = byte_ids("é")
    path = [byte_ids("d")[0], START, OPEN, first, second, CLOSE, byte_ids("c")[0], EOS]
    for token, follower in pairwise(path):
        table[token, follower] = 5.0
    folder = tmp_path_factory.mktemp("thinking")
    return write_bigram(folder / "thinking.gguf", table, control=MARKS)


async def test_control_tokens_that_mark_thinking_come_up_in_the_text(thinking_path: Path) -> None:
    async with running_engine() as engine:
        await engine.send(load(thinking_path), ask(1, "abcd"))
        events = await engine.until(Finished)
        finished = events[-1]
        assert isinstance(finished, Finished)
        assert finished.text == "<think>é</think>c"
        sizes = [size for each in rounds_in(events) for size in each.sizes]
        assert sizes == [0, len("<think>"), 0, 1, len("</think>"), 1, 0]
        assert len(finished.tokens) == len(sizes)


async def test_a_prompt_that_ends_within_thinking_is_told_before_the_answer(
    thinking_path: Path,
) -> None:
    async with running_engine() as engine:
        await engine.send(load(thinking_path))
        await engine.first(Loaded)
        for number, (text, opened) in enumerate((("a<think>\n", "think"), ("abcd", None))):
            await engine.send(ask(number, text, max_tokens=2))
            events = await engine.until(Finished)
            progress = [event for event in events if isinstance(event, PromptProgress)]
            assert progress
            assert {event.opened for event in progress} == {opened}


async def test_a_round_names_who_guessed(tmp_path: Path) -> None:
    path = write_bigram(tmp_path / "bigram.gguf", random_table(0, "abcd"))
    async with running_engine() as engine:
        await engine.send(load(path, path), ask(1, "abcdabcd", max_tokens=200))
        events = await engine.until(Finished)
        finished = events[-1]
        assert isinstance(finished, Finished)
        rounds = rounds_in(events)
        assert {each.source for each in rounds if not each.drafted} <= {None}
        assert {each.source for each in rounds if each.drafted} <= {"ngram", "model"}
        by_ngram = sum(each.accepted for each in rounds if each.source == "ngram")
        assert by_ngram == finished.figures.accepted_ngram > 0
        assert all(len(each.sizes) == len(each.tokens) for each in rounds)
        assert sum(sum(each.sizes) for each in rounds) == len(finished.text)
