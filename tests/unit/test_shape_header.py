"""What a header says about a model's memory."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from specchat.pairing.gguf_file import GgufFile, Tensor
from specchat.pairing.shape import ModelShape
from specchat.pairing.shape_header import shape_from_header


def header(
    architecture: str, *, n_layer: int = 12, tensors: tuple[Tensor, ...] = (), **facts: Any
) -> GgufFile:
    """A header with these facts; dots of a key are written as `__`."""
    numbers: dict[str, Any] = {
        "block_count": n_layer,
        "embedding_length": 1024,
        "context_length": 32768,
        "feed_forward_length": 3072,
        "attention__head_count": 16,
        "attention__head_count_kv": 4,
        **facts,
    }
    metadata: dict[str, Any] = {"general.architecture": architecture}
    for key, value in numbers.items():
        metadata[f"{architecture}.{key.replace('__', '.')}"] = value
    return GgufFile(
        path="model.gguf", size_bytes=0, metadata=metadata, tokens=(b"a",) * 100, tensors=tensors
    )


def shape(architecture: str, **facts: Any) -> ModelShape:
    return shape_from_header(header(architecture, **facts))


def kinds(model: ModelShape) -> str:
    """A letter a layer: full, window, recurrent, none."""
    return "".join(layer.memory[0] for layer in model.layers)


def test_a_token_leaves_kv_heads_times_head_length() -> None:
    [layer, *_] = shape("llama").layers
    assert (layer.key_width, layer.value_width) == (4 * 64, 4 * 64)


def test_lengths_in_the_header_count_more_than_the_usual_ones() -> None:
    [layer, *_] = shape("qwen3", attention__key_length=128, attention__value_length=96).layers
    assert (layer.key_width, layer.value_width) == (4 * 128, 4 * 96)


def test_without_a_number_of_kv_heads_every_head_has_its_own() -> None:
    [layer, *_] = shape("llama", attention__head_count_kv=None).layers
    assert layer.key_width == 1024


def test_kv_heads_may_differ_from_layer_to_layer() -> None:
    model = shape("openelm", n_layer=3, attention__head_count_kv=(2, 4, 8))
    assert [layer.key_width for layer in model.layers] == [128, 256, 512]


def test_a_compressed_cache_has_no_values() -> None:
    """Multi-head latent attention, as in DeepSeek V2 and GLM 4.7 Flash."""
    model = shape(
        "deepseek2",
        attention__head_count_kv=1,
        attention__key_length=576,
        attention__value_length=512,
        attention__key_length_mla=192,
        attention__value_length_mla=128,
    )
    assert (model.layers[0].key_width, model.layers[0].value_width) == (576, 0)
    assert model.attention_width == 16 * 576


def test_windows_follow_each_architecture_s_rule() -> None:
    window = {"attention__sliding_window": 512}
    assert kinds(shape("gemma3", **window)) == "wwwwwf" * 2
    assert kinds(shape("gemma2", **window)) == "wf" * 6
    assert kinds(shape("gpt-oss", **window)) == "wf" * 6
    assert kinds(shape("cohere2", **window)) == "wwwf" * 3
    assert kinds(shape("smallthinker", **window)) == "fwww" * 3
    assert kinds(shape("llama4")) == "wwwf" * 3
    assert kinds(shape("llama4", attention__sliding_window=0)) == "f" * 12


def test_a_window_that_llama_cpp_does_not_use_is_none() -> None:
    """Phi 3's is switched off there; a Mistral's header may name one that nothing reads."""
    for architecture in ("phi3", "llama", "qwen2"):
        model = shape(architecture, attention__sliding_window=2048)
        assert (kinds(model), model.window) == ("f" * 12, 0)


def test_a_model_without_a_window_in_its_header_has_none() -> None:
    assert kinds(shape("gemma3")) == "f" * 12
    assert shape("gemma2").window == 4096


def test_the_header_s_own_pattern_counts() -> None:
    pattern = (True, True, False) * 4
    model = shape(
        "gemma4",
        attention__sliding_window=1024,
        attention__sliding_window_pattern=pattern,
        attention__key_length=512,
        attention__key_length_swa=256,
        attention__value_length=512,
        attention__value_length_swa=256,
    )
    assert kinds(model) == "wwf" * 4
    assert [layer.key_width for layer in model.layers[:3]] == [1024, 1024, 2048]
    model = shape("gemma3", attention__sliding_window=512, attention__sliding_window_pattern=3)
    assert kinds(model) == "wwf" * 4


def test_layers_that_share_a_cache_have_none_of_their_own() -> None:
    model = shape(
        "gemma4",
        attention__sliding_window=512,
        attention__sliding_window_pattern=(True, False) * 6,
        attention__shared_kv_layers=4,
    )
    assert kinds(model) == "wf" * 4 + "n" * 4
    assert kinds(shape("gemma3n", n_layer=30))[20:] == "n" * 10


def test_one_layer_in_four_of_a_qwen_hybrid_keeps_a_cache() -> None:
    facts = {
        "ssm__conv_kernel": 4,
        "ssm__inner_size": 4096,
        "ssm__state_size": 128,
        "ssm__group_count": 16,
    }
    model = shape("qwen35", **facts)
    assert kinds(model) == "rrrf" * 3
    assert model.layers[0].state_bytes == 4 * (3 * (4096 + 2 * 16 * 128) + 128 * 4096)
    assert model.layers[3].state_bytes == 0
    assert kinds(shape("qwen35", full_attention_interval=3)) == "rrf" * 4
    listed = shape("qwen35", attention__recurrent_layers=(True, False) * 6)
    assert kinds(listed) == "rf" * 6


def test_layers_without_kv_heads_are_recurrent_in_other_hybrids() -> None:
    heads = (0, 0, 0, 4) * 3
    assert kinds(shape("granitehybrid", attention__head_count_kv=heads)) == "rrrf" * 3
    model = shape("lfm2", attention__head_count_kv=heads, shortconv__l_cache=3)
    assert kinds(model) == "rrrf" * 3
    assert model.layers[0].state_bytes == 4 * 2 * 1024


def test_a_nemotron_layer_is_one_thing_only() -> None:
    model = shape(
        "nemotron_h",
        n_layer=4,
        attention__head_count_kv=(0, 0, 4, 0),
        feed_forward_length=(0, 4096, 0, 4096),
    )
    assert kinds(model) == "rnfn"


def test_a_falcon_layer_keeps_a_cache_and_a_state() -> None:
    [layer, *_] = shape("falcon-h1", ssm__inner_size=2048, ssm__state_size=128).layers
    assert (layer.memory, layer.key_width) == ("full", 256)
    assert layer.state_bytes == 4 * 128 * 2048


def test_a_recurrent_model_has_no_cache() -> None:
    model = shape("rwkv7", wkv__head_size=64, token_shift_count=2)
    assert kinds(model) == "r" * 12
    assert {layer.key_width for layer in model.layers} == {0}
    assert model.layers[0].state_bytes == 4 * 1024 * (2 + 64)


def test_weights_are_counted_by_layer_and_experts_apart() -> None:
    tensors = (
        Tensor("token_embd.weight", (1024, 100), "Q8_0", 1000),
        Tensor("output_norm.weight", (1024,), "F32", 10),
        Tensor("output.weight", (1024, 100), "Q8_0", 1100),
        Tensor("blk.0.attn_q.weight", (1024, 1024), "Q8_0", 300),
        Tensor("blk.1.attn_q.weight", (1024, 1024), "Q8_0", 300),
        Tensor("blk.1.ffn_down_exps.weight", (256, 1024, 8), "Q8_0", 5000),
    )
    model = shape("qwen3moe", n_layer=2, tensors=tensors, expert_count=8, expert_used_count=2)
    assert [layer.weight_bytes for layer in model.layers] == [300, 5300]
    assert [layer.expert_bytes for layer in model.layers] == [0, 5000]
    assert [layer.largest_bytes for layer in model.layers] == [300, 5000]
    assert (model.input_bytes, model.output_bytes, model.shared_bytes) == (1000, 1110, 0)
    assert (model.n_expert, model.n_expert_used, model.n_ff_expert) == (8, 2, 256)


def test_without_an_output_matrix_the_embeddings_are_it() -> None:
    tensors = (
        Tensor("token_embd.weight", (1024, 100), "Q8_0", 1000),
        Tensor("output_norm.weight", (1024,), "F32", 10),
    )
    model = shape("llama", tensors=tensors)
    assert (model.input_bytes, model.output_bytes, model.shared_bytes) == (1000, 1010, 1000)


def test_heads_for_later_tokens_are_not_loaded_but_counted() -> None:
    """llama.cpp counts them among the layers that can be moved."""
    tensors = (Tensor("blk.12.nextn.eh_proj.weight", (2048, 1024), "Q8_0", 700),)
    model = shape("glm4moe", n_layer=13, nextn_predict_layers=1, tensors=tensors)
    assert kinds(model) == "f" * 12 + "n"
    assert model.layers[12].weight_bytes == 0


def test_a_gate_is_seen_in_a_matrix_of_its_own_or_in_a_wide_one() -> None:
    down = Tensor("blk.0.ffn_down.weight", (3072, 1024), "Q8_0", 1)
    up = Tensor("blk.0.ffn_up.weight", (1024, 3072), "Q8_0", 1)
    gate = Tensor("blk.0.ffn_gate.weight", (1024, 3072), "Q8_0", 1)
    wide = Tensor("blk.0.ffn_up.weight", (1024, 6144), "Q8_0", 1)
    assert shape("llama", tensors=(down, up, gate)).gated
    assert not shape("starcoder2", tensors=(down, up)).gated
    fused = shape("phi3", tensors=(down, wide))
    assert (fused.gated, fused.n_ff) == (True, 3072)


scalars = st.integers(-(2**63), 2**64) | st.booleans() | st.text(max_size=3) | st.floats()
values = st.none() | scalars | st.lists(scalars, max_size=20).map(tuple)
KEYS = (
    "block_count",
    "embedding_length",
    "context_length",
    "feed_forward_length",
    "attention__head_count",
    "attention__head_count_kv",
    "attention__key_length",
    "attention__sliding_window",
    "attention__sliding_window_pattern",
    "attention__recurrent_layers",
    "attention__shared_kv_layers",
    "nextn_predict_layers",
    "full_attention_interval",
    "expert_used_count",
    "ssm__inner_size",
)


@given(
    st.sampled_from(["llama", "gemma3", "gemma4", "qwen35", "nemotron_h", "lfm2", "rwkv7", "?"]),
    st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, values)),
    st.lists(
        st.builds(
            Tensor,
            st.sampled_from(
                ["blk.0.ffn_up.weight", "blk.99999999.x", "blk.-1.y", "token_embd.weight"]
            ),
            st.lists(st.integers(0, 2**63), max_size=4).map(tuple),
            st.just("F32"),
            st.integers(0, 2**63),
        ),
        max_size=5,
    ),
)
def test_any_header_gives_a_shape_of_bounded_size(
    architecture: str, facts: dict[str, Any], tensors: list[Tensor]
) -> None:
    count = facts.pop("block_count", 4)
    model = shape(architecture, n_layer=count, tensors=tuple(tensors), **facts)
    assert 1 <= len(model.layers) <= 512
    for layer in model.layers:
        assert min(layer.key_width, layer.value_width, layer.state_bytes) >= 0
