"""How a pair lies in memory changes what it takes and what it costs, never the text."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from gguf import GGMLQuantizationType

from specchat.engine.protocol import Loaded, Plan
from specchat.errors import InvalidSetting
from specchat.llama.context import Context, Outputs
from specchat.llama.library import AbortFlag, Library
from specchat.llama.model import Model
from specchat.pairing.gguf_file import read_gguf
from specchat.pairing.memory_estimate import CacheType
from specchat.pairing.shape_header import shape_from_header
from specchat.speculation.drafters.model import ModelDrafter
from specchat.speculation.drafters.ngram import NgramDrafter
from support.engine_process import load, running_engine
from support.gguf_models import byte_ids
from support.memory_recipes import recipe
from support.speaking import said, speak
from support.tiny_models import write_hollow, write_random

WINDOW = 32
SMALL: dict[str, Any] = {"n_layer": 4, "n_embd": 64, "heads": (4, 2), "n_ff": 96}
DENSE = recipe("llama", **SMALL, head_length=32)
NARROW = recipe("llama", **SMALL, head_length=16)
WINDOWED = replace(
    recipe("gemma3", **SMALL, head_length=32, attention__sliding_window=WINDOW),
    # A window of its own sums in another order; quantised weights would make more of that.
    quantisation=GGMLQuantizationType.F32,
)
BULKY = recipe("llama", n_layer=64, n_embd=256, heads=(16, 16), head_length=128, n_ff=256)
"""Little weight, and half a MiB of cache for a token."""
PROMPT = byte_ids("The sea was calm that morning, and the fishermen had gone out early. " * 3)
TOKENS = 120


@pytest.fixture(scope="module")
def dense(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path = write_random(library, tmp_path_factory.mktemp("dense") / "dense.gguf", DENSE)
    model = Model(library, path)
    yield model
    model.close()


@pytest.fixture(scope="module")
def windowed(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path = write_random(library, tmp_path_factory.mktemp("windowed") / "windowed.gguf", WINDOWED)
    model = Model(library, path)
    yield model
    model.close()


def context_of(
    model: Model, *, cache_type: CacheType = "f16", whole: bool = True, n_outputs: int = 17
) -> Context:
    return Context(
        model,
        n_ctx=2048,
        n_outputs=n_outputs,
        n_threads=1,
        abort=AbortFlag(model.library),
        cache_type=cache_type,
        whole_window_cache=whole,
    )


@pytest.mark.parametrize("cache_type", ["q8_0", "q4_0"])
def test_with_a_quantised_cache_drafting_does_not_change_the_text(
    dense: Model, cache_type: CacheType
) -> None:
    context = context_of(dense, cache_type=cache_type)
    plain = said(speak(context, None, PROMPT, tokens=TOKENS, draft_length=0))
    context.rollback(0)  # a cold start, as the next one is not
    drafter = ModelDrafter(context_of(dense, cache_type="f16", n_outputs=1), 259)

    for length in (1, 4, 12):
        rounds = speak(context, drafter, PROMPT, tokens=TOKENS, draft_length=length)
        assert said(rounds) == plain
        assert sum(step.accepted for step in rounds) > 0
    drafter.close()
    context.close()


@pytest.mark.parametrize("cache_type", ["q8_0", "q4_0"])
def test_a_quantised_cache_is_of_that_type(dense: Model, cache_type: CacheType) -> None:
    log = dense.library.log
    mark = log.mark()
    context_of(dense, cache_type=cache_type).close()
    lines = [text for number, _, text in log._lines if number > mark]
    assert any(f"K ({cache_type})" in line and f"V ({cache_type})" in line for line in lines), lines


def test_heads_too_narrow_for_a_quantised_cache_are_said_to_be_so(
    library: Library, tmp_path: Path
) -> None:
    model = Model(library, write_random(library, tmp_path / "narrow.gguf", NARROW))
    with pytest.raises(InvalidSetting) as refused:
        context_of(model, cache_type="q8_0")
    assert refused.value.tried == "Tried to keep the KV cache of narrow.gguf in q8_0."
    assert refused.value.happened.startswith("This model cannot have one: ")
    assert refused.value.next_step == "Use --cache-type f16."
    model.close()


def test_a_cache_of_the_window_alone_gives_the_same_text(windowed: Model) -> None:
    whole = context_of(windowed)
    plain = said(speak(whole, None, PROMPT, tokens=400, draft_length=0))
    whole.close()
    small = context_of(windowed, whole=False)
    assert small.memory.kind == "window"
    own = ModelDrafter(context_of(windowed, whole=False, n_outputs=1), 259)

    for drafter, length in ((None, 0), (NgramDrafter(), 5), (own, 3), (own, 12)):
        small.rollback(0)
        rounds = speak(small, drafter, PROMPT, tokens=400, draft_length=length)
        assert said(rounds) == plain, (drafter, length)
    own.close()
    small.close()


def test_going_back_over_a_round_never_leaves_the_window(windowed: Model) -> None:
    """Every length of draft, refused as a whole, at every place of the ring of cells."""
    context = context_of(windowed, whole=False)
    for _ in context.prefill(PROMPT):
        pass
    longest = context.n_outputs - 1
    for number in range(600):
        length = len(context.tokens)
        context.decode([3 + number % 256] * (1 + number % (longest + 1)), Outputs.ALL)
        assert context.rollback(length + 1) == length + 1
    context.close()


def test_going_back_beyond_the_window_starts_over_and_is_right(windowed: Model) -> None:
    small, fresh = context_of(windowed, whole=False), context_of(windowed)
    speak(small, None, PROMPT * 3, tokens=200, draft_length=0)
    assert small.rollback(len(PROMPT)) == 0

    again = said(speak(small, None, PROMPT, tokens=50, draft_length=0))

    assert again == said(speak(fresh, None, PROMPT, tokens=50, draft_length=0))
    small.close()
    fresh.close()


def test_a_round_stays_within_a_micro_batch_where_only_the_window_is_kept(
    windowed: Model,
) -> None:
    context = context_of(windowed, whole=False, n_outputs=65)
    assert context.n_outputs == 60
    context.close()


async def test_a_draft_that_memory_has_no_room_for_is_left_out_in_words(
    library: Library, tmp_path: Path
) -> None:
    target = write_random(library, tmp_path / "target.gguf", DENSE)
    draft = write_hollow(library, tmp_path / "draft.gguf", BULKY)
    [layer, *_] = shape_from_header(read_gguf(draft)).layers
    token_bytes = 64 * 2 * (layer.key_width + layer.value_width)
    n_ctx = psutil.virtual_memory().total // token_bytes
    async with running_engine() as engine:
        await engine.send(load(target, draft, Plan(n_ctx=n_ctx, measure_costs=False)))
        loaded = await engine.first(Loaded)

    assert loaded.draft is None
    notices = {notice.kind: notice for notice in loaded.notices}
    assert f"a context of {n_ctx:,} tokens for draft.gguf" in notices["context_too_large"].message
    assert "n-gram" in notices["context_too_large"].message


async def test_the_plan_reaches_the_contexts(library: Library, tmp_path: Path) -> None:
    narrow = write_random(library, tmp_path / "narrow.gguf", NARROW)
    plan = Plan(n_ctx=512, measure_costs=False, draft_cache_type="q8_0", experts_in_ram=True)
    async with running_engine() as engine:
        await engine.send(load(narrow, narrow, plan))
        loaded = await engine.first(Loaded)
    messages = [notice.message for notice in loaded.notices]
    assert any("Tried to keep the KV cache of narrow.gguf in q8_0." in text for text in messages)
    kinds = {notice.kind for notice in loaded.notices}
    assert kinds == {"invalid_setting", "no_experts", "no_template"}
