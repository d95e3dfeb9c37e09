"""Tiny random models whose layers keep a state, of every kind that llama.cpp steps back for."""

from typing import Any

from support.memory_recipes import GRANITE, recipe
from support.tiny_models import Recipe

STATE: dict[str, Any] = {
    "ssm__conv_kernel": 4,
    "ssm__inner_size": 128,
    "ssm__state_size": 32,
    "ssm__time_step_rank": 4,
    "ssm__group_count": 2,
}
SMALL: dict[str, Any] = {"n_layer": 4, "n_embd": 64, "heads": (4, 2), "n_ff": 96}

WITH_SNAPSHOTS: dict[str, Recipe] = {
    "qwen35": recipe(
        "qwen35",
        **{**SMALL, "head_length": 32},
        **{**STATE, "full_attention_interval": 2},
        rope__dimension_sections=[4, 4, 4, 4],
    ),
    "nemotron_h": recipe(
        "nemotron_h",
        **{**SMALL, "heads": (4, [0, 2, 0, 0]), "n_ff": [0, 0, 96, 0]},
        attention__layer_norm_epsilon=1e-5,
        **STATE,
    ),
    "lfm2": recipe("lfm2", **{**SMALL, "heads": (4, [0, 2, 0, 2])}, shortconv__l_cache=3),
}
WITH_CHECKPOINTS: dict[str, Recipe] = {
    "mamba": recipe(
        "mamba", **{**SMALL, "heads": (0, 0), "n_ff": 0}, **{**STATE, "ssm__state_size": 16}
    ),
    "mamba2": recipe("mamba2", **{**SMALL, "heads": (0, 0), "n_ff": 0}, **STATE),
    "jamba": recipe("jamba", **{**SMALL, "heads": (4, [0, 2, 0, 2])}, **STATE),
    "granitehybrid": recipe(
        "granitehybrid", **{**SMALL, "heads": (4, [0, 2, 0, 2])}, **GRANITE, **STATE
    ),
    "falcon-h1": recipe("falcon-h1", **{**SMALL, "head_length": 32}, **STATE),
    "rwkv7": recipe(
        "rwkv7",
        **{**SMALL, "heads": (0, 0)},
        # AVX-512 steps over so many numbers of a head at once, and past the end of a smaller one.
        wkv__head_size=64,
        attention__layer_norm_epsilon=1e-5,
        attention__decay_lora_rank=8,
        attention__iclr_lora_rank=8,
        attention__value_residual_mix_lora_rank=8,
        attention__gate_lora_rank=8,
    ),
}
HYBRIDS = WITH_SNAPSHOTS | WITH_CHECKPOINTS
