"""The one way back: whatever was decoded and taken back, the state is as if it never was."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from specchat.llama.context import Context, Logits, Outputs
from specchat.llama.library import AbortFlag, Library
from specchat.llama.memory import SEQUENCE
from specchat.llama.model import Model
from support.gguf_models import random_table, write_bigram
from support.hybrid_models import HYBRIDS, WITH_CHECKPOINTS, WITH_SNAPSHOTS
from support.memory_recipes import recipe
from support.tiny_models import write_random

SNAPSHOTS = 8
N_CTX = 512
WALKS, STEPS = 2, 40

GEMMA = recipe(
    "gemma3",
    n_layer=6,
    n_embd=64,
    heads=(4, 2),
    head_length=32,
    n_ff=96,
    shared_embeddings=True,
    attention__sliding_window=32,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hybrids")


@pytest.fixture(scope="module")
def models(library: Library, folder: Path) -> Iterator[dict[str, Model]]:
    made = {
        name: Model(library, write_random(library, folder / f"{name}.gguf", each))
        for name, each in HYBRIDS.items()
    }
    yield made
    for model in made.values():
        model.close()


def context_of(model: Model, *, whole_window: bool = True) -> Context:
    """A context as the engine makes it, of one thread."""
    return Context(
        model,
        n_ctx=N_CTX,
        n_outputs=1 + SNAPSHOTS,
        abort=AbortFlag(model.library),
        n_threads=1,
        n_snapshots=SNAPSHOTS,
        whole_window_cache=whole_window,
    )


def some_tokens(count: int, seed: int = 0) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(3, 259, count)]


def next_row(context: Context, token: int = 100) -> Logits:
    """The logits after one more token."""
    context.decode([token], Outputs.LAST)
    row: Logits = context.rows(1)[0].copy()
    return row


def row_from_scratch(context: Context, tokens: Sequence[int], token: int = 100) -> Logits:
    """The same in an emptied context."""
    context.rollback(0)
    for _ in context.prefill(tokens):
        pass
    return next_row(context, token)


@pytest.mark.parametrize("name", HYBRIDS)
def test_llama_cpp_is_asked_for_snapshots_and_what_it_granted_is_read_back(
    models: dict[str, Model], name: str
) -> None:
    context = context_of(models[name])
    granted = SNAPSHOTS if name in WITH_SNAPSHOTS else 0
    assert context.memory.kind == ("snapshots" if granted else "checkpoints")
    assert context.memory.n_snapshots == granted
    assert context.longest_draft == SNAPSHOTS
    context.close()


@pytest.mark.parametrize("name", HYBRIDS)
def test_after_any_walk_forth_and_back_the_state_is_one_built_from_scratch(
    models: dict[str, Model], name: str
) -> None:
    """To the bit: batches of any size, marks, saved states and steps back of any length."""
    context, fresh = context_of(models[name]), context_of(models[name])
    for seed in range(WALKS):
        random = np.random.default_rng(seed)
        context.rollback(0)
        for step in range(STEPS):
            if random.random() < 0.3:
                context.mark()
            if random.random() < 0.2:
                context.save()
            room = N_CTX - 2 - len(context.tokens)
            new = some_tokens(min(room, int(random.integers(1, 2 + SNAPSHOTS))), 1000 * seed + step)
            before = [*context.tokens, *new]
            context.decode(new, Outputs.ALL)
            if random.random() < 0.7:
                far = random.random() < 0.2
                back = int(random.integers(0, len(before) if far else 2 + len(new)))
                wanted = max(0, len(before) - back)
                left = context.rollback(wanted)
                assert left <= wanted
                assert context.tokens == before[:left]
            if step % 4 == 0:
                rebuilt = row_from_scratch(fresh, context.tokens)
                np.testing.assert_array_equal(next_row(context), rebuilt)
    context.close()
    fresh.close()


@pytest.mark.parametrize("name", WITH_SNAPSHOTS)
def test_snapshots_take_back_any_part_of_the_last_call(models: dict[str, Model], name: str) -> None:
    context, fresh = context_of(models[name]), context_of(models[name])
    tokens = some_tokens(29)
    for back in range(1, SNAPSHOTS + 1):
        context.rollback(0)
        context.decode(tokens[:20], Outputs.NONE)
        context.decode(tokens[20:], Outputs.ALL)
        assert context.rollback(29 - back) == 29 - back
        rebuilt = row_from_scratch(fresh, tokens[: 29 - back])
        np.testing.assert_array_equal(next_row(context), rebuilt)
    context.close()
    fresh.close()


@pytest.mark.parametrize("name", WITH_SNAPSHOTS)
def test_a_snapshot_of_an_earlier_call_is_never_used_though_llama_cpp_would_take_it(
    models: dict[str, Model], name: str
) -> None:
    context, fresh = context_of(models[name]), context_of(models[name])
    tokens = some_tokens(24)
    truth = row_from_scratch(fresh, tokens[:22])

    def single_steps() -> None:
        context.rollback(0)
        context.decode(tokens[:20], Outputs.NONE)
        for token in tokens[20:]:
            context.decode([token], Outputs.LAST)

    single_steps()
    api, native = models[name].library.api, context.handle
    assert api.llama_memory_seq_rm(api.llama_get_memory(native), SEQUENCE, 22, -1)
    del context.tokens[22:]
    assert np.abs(next_row(context) - truth).max() > 0.1, "llama.cpp has learnt to refuse it"

    single_steps()
    assert context.rollback(22) == 0
    context.decode(tokens[:22], Outputs.NONE)
    np.testing.assert_array_equal(next_row(context), truth)
    context.close()
    fresh.close()


@pytest.mark.parametrize("name", WITH_CHECKPOINTS)
def test_a_mark_is_come_back_to_as_often_as_is_wanted(models: dict[str, Model], name: str) -> None:
    context, fresh = context_of(models[name]), context_of(models[name])
    tokens = some_tokens(20)
    context.decode(tokens, Outputs.NONE)
    context.mark()
    truth = row_from_scratch(fresh, tokens)
    for back in (1, 3, 8):
        np.testing.assert_array_equal(next_row(context), truth)
        context.decode(some_tokens(8, seed=back), Outputs.ALL)
        assert context.rollback(29 - back) == 20
    context.close()
    fresh.close()


@pytest.mark.parametrize("name", ["qwen35", "jamba"])
def test_of_saved_states_the_nearest_before_is_taken_and_later_ones_are_forgotten(
    models: dict[str, Model], name: str
) -> None:
    context = context_of(models[name])
    tokens = some_tokens(100)
    for start in range(0, 100, 20):
        context.decode(tokens[start : start + 20], Outputs.NONE)
        context.save()
    assert list(context.memory.checkpoints) == [20, 40, 60, 80, 100]
    assert context.rollback(70) == 60
    assert list(context.memory.checkpoints) == [20, 40, 60]
    assert context.rollback(19) == 0
    assert not context.memory.checkpoints
    context.close()


def test_saved_states_keep_to_their_budget_and_the_newest_stays_whatever_its_size(
    models: dict[str, Model],
) -> None:
    context = context_of(models["mamba"])
    context.decode(some_tokens(10), Outputs.NONE)
    context.save()
    one = context.memory.saved_bytes
    context.memory.checkpoint_bytes = 2 * one
    for _ in range(4):
        context.decode(some_tokens(10), Outputs.NONE)
        context.save()
    assert list(context.memory.checkpoints) == [40, 50]
    assert context.memory.saved_bytes == 2 * one
    context.memory.checkpoint_bytes = one // 2
    context.decode(some_tokens(10), Outputs.NONE)
    context.save()
    assert list(context.memory.checkpoints) == [60]
    context.close()


def test_a_plain_cache_marks_and_saves_nothing(library: Library, folder: Path) -> None:
    bigram = Model(library, write_bigram(folder / "bigram.gguf", random_table(0, "abcd")))
    context = context_of(bigram)
    context.decode(some_tokens(10), Outputs.NONE)
    context.mark()
    context.save()
    assert (context.memory.kind, context.memory.checkpoints) == ("cache", ())
    assert context.rollback(3) == 3
    context.close()
    bigram.close()


def test_a_window_that_has_moved_on_is_built_anew_and_not_gone_back_to(
    library: Library, folder: Path
) -> None:
    model = Model(library, write_random(library, folder / "gemma3.gguf", GEMMA))
    context, fresh = (context_of(model, whole_window=False) for _ in range(2))
    tokens = some_tokens(480)
    for _ in context.prefill(tokens):
        pass
    assert context.memory.kind == "window"
    assert context.rollback(476) == 476, "a draft's length is within what is kept"
    np.testing.assert_array_equal(next_row(context), row_from_scratch(fresh, tokens[:476]))
    assert context.rollback(60) == 0
    for _ in context.prefill(tokens[:60]):
        pass
    np.testing.assert_array_equal(next_row(context), row_from_scratch(fresh, tokens[:60]))
    for each in (context, fresh):
        each.close()
    model.close()
