"""A shape from a catalog's facts, held against the header of the same file."""

from pathlib import Path
from typing import Any

import pytest

from specchat.pairing.gguf_file import read_gguf
from specchat.pairing.memory import MemoryPlan, Wishes, plan_memory
from specchat.pairing.shape import ModelShape, shape_from_facts
from specchat.pairing.shape_header import shape_from_header
from support.shapes import GIB, card, machine

QWEN: dict[str, Any] = {
    "name": "Qwen2.5 7B",
    "architecture": "qwen2",
    "size_bytes": 4_683_074_240,
    "n_layer": 28,
    "n_head_kv": 4,
    "head_dim": 128,
    "n_embd": 3584,
    "n_vocab": 152064,
    "n_ctx_train": 32768,
}


def kinds(model: ModelShape) -> str:
    return "".join(layer.memory[0] for layer in model.layers)


def planned(model: ModelShape) -> MemoryPlan:
    return plan_memory(machine(card(80 * GIB)), model, None, Wishes())


def test_it_says_that_it_is_an_estimate() -> None:
    assert not shape_from_facts(**QWEN).from_header


def test_its_parts_add_up_to_the_file() -> None:
    for params in (7.6, 1.5):  # with an output matrix of its own, and without
        model = shape_from_facts(**QWEN, params_b=params)
        whole = sum(layer.weight_bytes for layer in model.layers) + model.input_bytes
        whole += model.output_bytes - model.shared_bytes
        assert whole == pytest.approx(QWEN["size_bytes"], rel=0.001)


def test_a_width_that_is_not_known_is_guessed() -> None:
    model = shape_from_facts(**{**QWEN, "n_embd": None}, params_b=7.6)
    assert model.n_embd == pytest.approx(3584, rel=0.35)


def test_a_hybrid_caches_in_as_many_layers_as_its_bytes_say() -> None:
    """Qwen3.5 9B: 32 MiB for 1,024 tokens are 8 layers of its 32."""
    facts = {**QWEN, "architecture": "qwen35", "n_layer": 32, "n_head_kv": 4, "head_dim": 256}
    model = shape_from_facts(**facts, kv_bytes_per_1024=33_554_432)
    assert kinds(model) == "rrrf" * 8
    assert model.layers[3].key_width == 1024
    assert model.layers[0].state_bytes > 0


def test_the_windowed_layers_of_a_model_keep_a_cache_too() -> None:
    """A catalog counts what grows without end; our contexts keep the windowed layers whole."""
    facts = {**QWEN, "architecture": "gemma3", "n_layer": 48, "n_head_kv": 8, "head_dim": 256}
    model = shape_from_facts(**facts, kv_bytes_per_1024=67_108_864)
    assert kinds(model) == "wwwwwf" * 8
    [share, _] = planned(model).shares
    assert share.parts["target_kv"] == 48 * 8192 * 8 * 256 * 4


def test_the_experts_are_what_a_token_does_not_need() -> None:
    facts = {**QWEN, "architecture": "qwen3moe", "size_bytes": 18 * GIB, "n_layer": 48}
    model = shape_from_facts(**facts, params_b=30.5, active_b=3.3)
    experts = sum(layer.expert_bytes for layer in model.layers)
    assert 0.8 < experts / (18 * GIB) < 0.95


def test_facts_that_are_missing_give_a_shape_all_the_same() -> None:
    facts = {**QWEN, "n_layer": 0, "n_head_kv": 0, "head_dim": 0, "n_embd": None, "n_vocab": 0}
    assert planned(shape_from_facts(**facts)).fits


@pytest.mark.real_model
def test_the_facts_of_smollm2_come_within_a_tenth_of_its_header(smollm2_path: Path) -> None:
    file = read_gguf(smollm2_path)
    exact = planned(shape_from_header(file))
    estimated = planned(
        shape_from_facts(
            name="SmolLM2",
            architecture="llama",
            size_bytes=file.size_bytes,
            n_layer=30,
            n_head_kv=3,
            head_dim=64,
            n_embd=576,
            n_vocab=49152,
            n_ctx_train=8192,
            params_b=0.135,
        )
    )
    for one, other in zip(exact.shares, estimated.shares, strict=True):
        assert other.used_bytes == pytest.approx(one.used_bytes, rel=0.1)
