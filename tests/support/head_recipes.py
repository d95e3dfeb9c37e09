"""Tiny targets with trained heads, by their metadata."""

from support.orderly_models import recipe
from support.tiny_models import Recipe, Value

MIXTURE = {
    "expert_count": 4,
    "expert_used_count": 2,
    "expert_feed_forward_length": 32,
    "attention__key_length": 16,
    "attention__value_length": 16,
    "rope__dimension_count": 16,
}
STATE = {
    "ssm__conv_kernel": 4,
    "ssm__inner_size": 64,
    "ssm__state_size": 16,
    "ssm__time_step_rank": 4,
    "ssm__group_count": 2,
}
WINDOWED: dict[str, Value] = {
    "attention__key_length": 16,
    "attention__value_length": 16,
    "attention__key_length_swa": 16,
    "attention__value_length_swa": 16,
    "rope__dimension_count": 16,
    "rope__dimension_count_swa": 16,
    "attention__sliding_window": 32,
}
MTP_RECIPES: dict[str, Recipe] = {
    "one head": recipe(
        "glm4moe",
        block_count=4,
        nextn_predict_layers=1,
        expert_shared_count=1,
        leading_dense_block_count=1,
        expert_weights_scale=1.0,
        expert_weights_norm=True,
        **MIXTURE,
    ),
    "two heads": recipe(
        "hy_v3",
        block_count=5,
        nextn_predict_layers=2,
        expert_shared_feed_forward_length=32,
        **MIXTURE,
    ),
    "one head, hybrid": recipe(
        "qwen35",
        block_count=5,
        nextn_predict_layers=1,
        attention__key_length=16,
        attention__value_length=16,
        rope__dimension_count=16,
        rope__dimension_sections=[2, 2, 2, 2],
        full_attention_interval=2,
        **STATE,
    ),
    "one head, checkpoints": recipe(
        "qwen3next",
        block_count=5,
        nextn_predict_layers=1,
        full_attention_interval=2,
        expert_shared_feed_forward_length=32,
        **MIXTURE,
        **STATE,
    ),
    "one head, hybrid mixture": recipe(
        "qwen35moe",
        block_count=5,
        nextn_predict_layers=1,
        rope__dimension_sections=[2, 2, 2, 2],
        full_attention_interval=2,
        expert_shared_feed_forward_length=32,
        **MIXTURE,
        **STATE,
    ),
    "two heads, windows": recipe(
        "step35",
        block_count=6,
        nextn_predict_layers=2,
        expert_shared_feed_forward_length=32,
        **{**MIXTURE, **WINDOWED, "rope__dimension_count": 32},
        attention__sliding_window_pattern=[True, True, False, True, True, True],
    ),
}
GEMMA = recipe(
    "gemma4",
    block_count=6,
    attention__sliding_window_pattern=[True, True, False] * 2,
    attention__shared_kv_layers=0,
    embedding_length_per_layer_input=0,
    **WINDOWED,
)
ASSISTANT = recipe(
    "gemma4-assistant",
    block_count=2,
    nextn_predict_layers=2,
    embedding_length=32,
    embedding_length_out=64,
    attention__sliding_window_pattern=[True, False],
    **WINDOWED,
)
TARGETS: dict[str, Recipe] = {
    "llama": recipe("llama", block_count=4),
    "dense": recipe("qwen3", block_count=4, attention__key_length=16, attention__value_length=16),
    "hybrid": recipe(
        "qwen35",
        block_count=4,
        attention__key_length=16,
        attention__value_length=16,
        rope__dimension_count=16,
        rope__dimension_sections=[2, 2, 2, 2],
        full_attention_interval=2,
        **STATE,
    ),
    "windows": GEMMA,
    "mixture": recipe("qwen3moe", block_count=4, **MIXTURE),
    "mixture, windows": recipe(
        "gpt-oss",
        block_count=4,
        attention__sliding_window=32,
        **MIXTURE,
    ),
    "checkpoints": recipe(
        "qwen3next",
        block_count=4,
        full_attention_interval=2,
        expert_shared_feed_forward_length=32,
        **MIXTURE,
        **STATE,
    ),
}
"""Targets whose layers' inputs can be read."""
