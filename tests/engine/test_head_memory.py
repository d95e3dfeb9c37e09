"""The memory that a head is planned for, against llama.cpp's own account of its context."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from specchat.llama.context import CPU_BATCH, Context
from specchat.llama.extension import bind_extension
from specchat.llama.feature_heads import make_block_context, make_eagle_context
from specchat.llama.head import make_mtp_context
from specchat.llama.library import AbortFlag, Library
from specchat.llama.model import Model
from specchat.pairing.gguf_file import read_gguf
from specchat.pairing.head_shape import shape_of_built_in_heads, shape_of_draft
from specchat.pairing.memory_estimate import ContextSizes
from specchat.pairing.placement import PlacedModel, Use
from specchat.pairing.shape import ModelShape
from support.head_recipes import TARGETS
from support.heads import (
    make_target,
    write_assistant,
    write_block,
    write_eagle3,
    write_gemma,
    write_mtp,
    write_sidecar,
    write_without_heads,
)
from support.native_memory import can_tell, taken_by
from support.orderly_models import write_orderly

N_CTX = 2048


@pytest.fixture(autouse=True)
def needs_account(library: Library) -> None:
    if not can_tell(library):
        pytest.skip("llama.cpp's account can only be read on Linux, from a build with libstdc++")


def planned(shape: ModelShape) -> Use:
    sizes = ContextSizes(
        n_ctx=N_CTX, n_batch=CPU_BATCH[0], n_ubatch=CPU_BATCH[1], n_outputs=1, cache_type="q8_0"
    )
    [use] = PlacedModel(shape, (), sizes).spread(N_CTX, 0, [])
    return use


@contextmanager
def opened(target: Model, head: Model) -> Iterator[Context]:
    """The head's context beside its target's."""
    beside = make_target(target, n_ctx=N_CTX)
    extension, abort = bind_extension(target.library), AbortFlag(target.library)
    context: Context
    if head.architecture == "eagle3":
        context = make_eagle_context(head, beside, extension, abort=abort)
    elif head.architecture == "dflash":
        context = make_block_context(
            head, beside, extension, abort=abort, is_dspark=True, has_confidence=True
        )
    else:
        context = make_mtp_context(head, beside, extension, abort=abort)
    yield context
    context.close()
    beside.close()


@pytest.mark.parametrize("kind", ["one head", "two heads", "one head, hybrid"])
def test_heads_in_a_file_take_what_they_are_planned_for(
    library: Library, tmp_path: Path, kind: str
) -> None:
    path = write_mtp(library, tmp_path / "whole.gguf", kind)
    whole = Model(library, path, load_mtp=True)
    shape = shape_of_built_in_heads(read_gguf(path))
    assert shape is not None
    with opened(whole, whole) as context:
        assert planned(shape).kv == taken_by(library, context.handle).kv
    whole.close()


@pytest.mark.parametrize("kind", ["sidecar", "assistant", "eagle3", "eagle3, few", "dspark"])
def test_a_head_in_a_file_of_its_own_takes_what_it_is_planned_for(
    library: Library, tmp_path: Path, kind: str
) -> None:
    target, head = tmp_path / "target.gguf", tmp_path / "head.gguf"
    if kind == "sidecar":
        write_without_heads(library, target, "one head")
        write_sidecar(library, head, "one head")
    elif kind == "assistant":
        write_gemma(library, target)
        write_assistant(library, head)
    else:
        write_orderly(library, target, TARGETS["dense"])
        if kind == "dspark":
            write_block(library, head, kind)
        else:
            write_eagle3(library, head, n_known=12 if kind.endswith("few") else None)
    shape = shape_of_draft(read_gguf(head))
    models = Model(library, target), Model(library, head, is_head=True)
    with opened(*models) as context:
        assert planned(shape).kv == taken_by(library, context.handle).kv
    assert planned(shape).weights == pytest.approx(models[1].size_bytes, rel=0.01)
    for model in models:
        model.close()


def test_the_hidden_states_that_wait_are_planned_for(library: Library, tmp_path: Path) -> None:
    """Two calls of the target, beside what goes in and out of one."""
    head = write_eagle3(library, tmp_path / "head.gguf")
    shape = shape_of_draft(read_gguf(head))
    assert shape.head is not None
    assert shape.head.state_width == 3 * 64
    assert planned(shape).compute > 4 * (3 * 64) * 4 * CPU_BATCH[0]
