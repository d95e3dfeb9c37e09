"""Made-up models of many kinds, large enough that rounding does not decide."""

from typing import Any

from support.tiny_models import Recipe, Value


def recipe(
    architecture: str,
    *,
    n_layer: int = 8,
    n_embd: int = 1024,
    heads: tuple[int, int | list[int]] = (16, 4),
    head_length: int = 0,
    n_ff: int | list[int] = 3072,
    n_vocab: int = 32000,
    shared_embeddings: bool = False,
    **more: Any,
) -> Recipe:
    """A model's metadata; what is particular to an architecture comes with dots written as `__`."""
    metadata: dict[str, Value] = {
        "context_length": 65536,
        "embedding_length": n_embd,
        "block_count": n_layer,
        "feed_forward_length": n_ff,
        "attention.head_count": heads[0],
        "attention.head_count_kv": heads[1],
        "attention.layer_norm_rms_epsilon": 1e-5,
    }
    if head_length:
        for key in ("attention.key_length", "attention.value_length", "rope.dimension_count"):
            metadata[key] = head_length
    for name, value in more.items():
        metadata[name.replace("__", ".")] = value
    return Recipe(
        architecture=architecture,
        metadata=metadata,
        n_vocab=n_vocab,
        shared_embeddings=shared_embeddings,
    )


STATE: dict[str, Any] = {
    "ssm__conv_kernel": 4,
    "ssm__inner_size": 2048,
    "ssm__state_size": 128,
    "ssm__time_step_rank": 16,
    "ssm__group_count": 8,
}
EXPERTS: dict[str, Any] = {"expert_count": 32, "expert_used_count": 8}
GRANITE: dict[str, Any] = {
    "logit_scale": 1.0,
    "attention__scale": 1.0,
    "embedding_scale": 1.0,
    "residual_scale": 1.0,
}
SECTIONS: dict[str, Any] = {"rope__dimension_sections": [11, 11, 10, 0]}
WINDOW_GEMMA2: dict[str, Any] = {
    "attention__sliding_window": 1024,
    "attn_logit_softcapping": 50.0,
    "final_logit_softcapping": 30.0,
}
COMPRESSED: dict[str, Any] = {
    "attention__kv_lora_rank": 512,
    "attention__q_lora_rank": 256,
    "attention__key_length": 576,
    "attention__value_length": 512,
    "attention__key_length_mla": 192,
    "attention__value_length_mla": 128,
    "rope__dimension_count": 64,
    "leading_dense_block_count": 1,
    "expert_count": 32,
    "expert_used_count": 4,
    "expert_feed_forward_length": 512,
    "expert_shared_count": 1,
    "expert_weights_scale": 1.0,
    "expert_weights_norm": True,
}

RECIPES: dict[str, Recipe] = {
    "dense": recipe("llama", n_layer=12, n_ff=2816),
    "dense, shared embeddings": recipe(
        "qwen2",
        n_layer=12,
        n_embd=896,
        heads=(14, 2),
        n_ff=4864,
        n_vocab=100_000,
        shared_embeddings=True,
    ),
    "dense, no gate": recipe("starcoder2", n_ff=4096, attention__layer_norm_epsilon=1e-5),
    "sliding window, 5 of 6": recipe(
        "gemma3",
        n_layer=12,
        n_embd=1152,
        heads=(4, 1),
        head_length=256,
        n_ff=6912,
        n_vocab=100_000,
        shared_embeddings=True,
        attention__sliding_window=512,
    ),
    "sliding window, 1 of 2": recipe(
        "gemma2",
        n_embd=1152,
        heads=(8, 4),
        head_length=256,
        n_ff=6912,
        shared_embeddings=True,
        **WINDOW_GEMMA2,
    ),
    "mixture": recipe("qwen3moe", head_length=128, **EXPERTS, expert_feed_forward_length=384),
    "mixture, sliding window": recipe(
        "gpt-oss",
        head_length=64,
        n_ff=1024,
        attention__sliding_window=128,
        expert_count=16,
        expert_used_count=4,
        expert_feed_forward_length=1024,
    ),
    "mixture, compressed attention": recipe("deepseek2", heads=(16, 1), **COMPRESSED),
    "hybrid, delta net": recipe(
        "qwen35", n_layer=12, heads=(8, 2), head_length=256, n_ff=3584, **STATE, **SECTIONS
    ),
    "hybrid, delta net, mixture": recipe(
        "qwen35moe",
        heads=(8, 2),
        head_length=256,
        n_ff=512,
        **EXPERTS,
        expert_feed_forward_length=256,
        expert_shared_feed_forward_length=256,
        **STATE,
        **SECTIONS,
    ),
    "hybrid, scan": recipe(
        "granitehybrid",
        n_layer=12,
        heads=(16, [0, 0, 0, 4] * 3),
        n_ff=2048,
        **GRANITE,
        **STATE,
    ),
    "hybrid, scan apart": recipe(
        "nemotron_h",
        n_layer=12,
        heads=(16, [0, 0, 4, 0] * 3),
        n_ff=[0, 4096, 0, 4096] * 3,
        attention__layer_norm_epsilon=1e-5,
        **STATE,
    ),
    "hybrid, both in a layer": recipe(
        "falcon-h1", n_layer=12, heads=(8, 2), head_length=128, n_ff=2048, **STATE
    ),
    "hybrid, short convolution": recipe(
        "lfm2",
        n_layer=12,
        heads=(16, [0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0]),
        n_ff=4608,
        shared_embeddings=True,
        shortconv__l_cache=3,
    ),
    "recurrent": recipe("mamba2", n_layer=12, heads=(0, 0), n_ff=0, **STATE),
}
