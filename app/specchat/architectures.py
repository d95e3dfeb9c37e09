"""What llama.cpp can do with which architectures: lists that cannot be asked for.

All were read in one llama.cpp; where, each list says. A name that is wrongly in a list can end the
engine's process, one that is missing only leaves something unused.
"""

READ_IN = "0c1e57098"
"""The commit of llama.cpp that every list was read in."""
BROUGHT_BY = "0.3.36"
"""The version of llama-cpp-python that brings it. With another one all lists are read anew, and the
numbers in `llama/` that name a header of llama.cpp."""

GIVES_HIDDEN_STATES = frozenset(
    {
        "bailingmoe3",
        "cohere2moe",
        "deepseek2",
        "deepseek32",
        "deepseek4",
        "gemma4",
        "glm-dsa",
        "glm4moe",
        "glm5-next",
        "gpt-oss",
        "hy_v3",
        "mimo2",
        "nemotron_h",
        "nemotron_h_moe",
        "qwen35",
        "qwen35moe",
        "qwen3next",
        "step35",
    }
)
"""Whose graph sets `t_h_nextn` (src/models/*.cpp). Others give rows of zeros, without an error."""

GIVES_LAYER_INPUTS = frozenset(
    {
        "bailingmoe3",
        "deepseek4",
        "gemma4",
        "gpt-oss",
        "hunyuan_vl",
        "lfm2",
        "llama",
        "mimo2",
        "minimax-01",
        "minimax-m2",
        "muse-glimmer",
        "nanbeige",
        "nemotron_h",
        "qwen3",
        "qwen35",
        "qwen35moe",
        "qwen3moe",
        "qwen3next",
        "qwen4exp",
    }
)
"""Whose graph sets `t_layer_inp` (src/models/*.cpp). With any other one the next decode ends the
process."""

RUNS_MTP = GIVES_HIDDEN_STATES - {"gemma4", "gpt-oss", "nemotron_h", "glm5-next"} | {
    "gemma4-assistant"
}
"""With a graph for MTP heads: `LLM_GRAPH_TYPE_DECODER_MTP` in `build_arch_graph`
(src/models/*.cpp); with any other one the process may end."""

SHARES_CELLS = {"gemma4-assistant": "gemma4"}
"""Heads that attend to their target's cache, and the only targets that they know
(src/llama-context.cpp)."""

LATENT_ATTENTION = frozenset({"deepseek2", "deepseek32", "glm-dsa"})
"""Whose layers keep one compressed row for all heads (`attention.key_length_mla`)."""

RECURRENT = frozenset({"arwkv7", "mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7"})
HYBRID = frozenset(
    {
        "bailingmoe3",
        "deepseek4",
        "falcon-h1",
        "glm5-next",
        "granitehybrid",
        "jamba",
        "kimi-k3",
        "kimi-linear",
        "lfm2",
        "lfm2moe",
        "minimax-01",
        "nemotron_h",
        "nemotron_h_moe",
        "plamo2",
        "qwen35",
        "qwen35moe",
        "qwen3next",
        "qwen4exp",
    }
)
"""All or some of whose layers keep a state instead of a cache (`llm_arch_is_recurrent` and
`llm_arch_is_hybrid` in src/llama-arch.cpp)."""

KEEPS_SNAPSHOTS = frozenset(
    {
        "bailingmoe3",
        "deepseek4",
        "glm5-next",
        "kimi-k3",
        "lfm2",
        "lfm2moe",
        "nemotron_h",
        "nemotron_h_moe",
        "qwen35",
        "qwen35moe",
        "qwen4exp",
    }
)
"""Of whose state llama.cpp can keep snapshots (`llm_arch_supports_rs_rollback` in
src/llama-arch.cpp), so that a few tokens can be taken back."""
