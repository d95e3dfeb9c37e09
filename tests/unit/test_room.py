"""What is said of a model that does not fit where it is to go."""

import psutil
import pytest

from specchat.engine.placement import read_shape, require_room
from specchat.engine.protocol import Notice
from specchat.errors import ContextTooLarge, OutOfMemory
from specchat.pairing.machine import Device
from specchat.pairing.memory_estimate import ContextSizes
from support.shapes import GIB, card, model

PATH = "models/large.gguf"
TARGET = model()
"""4.7 GiB of weights; 8,192 tokens of context are 0.4 GiB."""


def room(*fast: Device, layers: int = -1, n_ctx: int = 8192) -> tuple[Notice, ...]:
    sizes = ContextSizes(n_ctx=n_ctx, n_ubatch=512 if fast else 60, n_outputs=17)
    return require_room(PATH, TARGET, fast, layers, sizes)


@pytest.fixture(autouse=True)
def four_gib_of_ram_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = psutil.virtual_memory()._replace(available=4 * GIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)


def test_what_fits_is_let_through_without_a_word() -> None:
    assert room(card(8 * GIB)) == ()
    assert room(card(4 * GIB), layers=14) == ()


def test_a_device_that_has_filled_up_is_named_with_what_is_needed_and_free() -> None:
    with pytest.raises(OutOfMemory) as refused:
        room(card(4 * GIB, total_bytes=8 * GIB))
    assert str(refused.value) == (
        "Tried to put large.gguf on CUDA0. It takes about 4.7 GiB there with a context of 8,192 "
        "tokens; 4.0 GiB are free. Ask for a smaller context with --ctx, put fewer layers there "
        "with --gpu-layers, or end other programs that use it."
    )


def test_a_device_that_does_not_say_what_it_has_is_left_to_llama_cpp() -> None:
    assert room(card(0)) == ()


def test_a_context_that_main_memory_cannot_hold_is_refused() -> None:
    with pytest.raises(ContextTooLarge) as refused:
        room(n_ctx=100_000)
    assert str(refused.value) == (
        "Tried to make a context of 100,000 tokens for large.gguf. It takes about 5.4 GiB; 4.0 GiB "
        "of memory are free. Ask for a smaller one with --ctx."
    )


def test_weights_that_main_memory_cannot_hold_are_mapped_and_that_is_said() -> None:
    [notice] = room()
    assert notice.kind == "memory_short"
    assert f"{notice.title}: {notice.message} {notice.help}" == (
        "Main memory is short: large.gguf takes about 4.9 GiB of it; 4.0 GiB are free. What has no "
        "room is read from the disk again for every token. Choose a smaller model or quantisation, "
        "or close other programs."
    )


def test_a_file_that_cannot_be_read_is_left_to_llama_cpp() -> None:
    assert read_shape("nowhere.gguf") is None
