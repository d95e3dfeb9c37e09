"""A model's shape from its header.

Which layers keep what follows llama.cpp's own rules: `load_arch_hparams` of each architecture
(src/models), `llama_hparams` (src/llama-hparams.cpp) and `create_memory` (src/llama-model.cpp).
"""

import re
from collections import defaultdict
from typing import NamedTuple

from specchat.architectures import HYBRID, RECURRENT
from specchat.pairing.gguf_file import GgufFile, Tensor
from specchat.pairing.shape import LayerMemory, LayerShape, ModelShape

BLOCK_NAME = re.compile(r"blk\.(\d+)\.")
INPUT_TENSORS = ("token_embd", "per_layer_token_embd", "position_embd", "token_types")
MAX_LAYERS = 512
"""`LLAMA_MAX_LAYERS` (src/llama-hparams.h)."""
STATE_NUMBER_BYTES = 4
"""llama.cpp keeps recurrent states in F32."""


class WindowRule(NamedTuple):
    """Which layers look back a limited number of tokens, where the header has no list of them."""

    every: int
    """One layer in so many sees the whole context."""
    full_first: bool = False
    """It is the first of them, not the last."""
    window: int = 0
    """Where the header names none. 0: then no layer is limited."""
    fixed: bool = False
    """The header's own number counts for nothing, but 0 means no window."""


WINDOW_RULES = {
    "afmoe": WindowRule(4),
    "cohere2": WindowRule(4),
    "cohere2moe": WindowRule(4, full_first=True),
    "exaone-moe": WindowRule(4, window=128),
    "exaone4": WindowRule(4, window=4096),
    "gemma2": WindowRule(2, window=4096),
    "gemma3": WindowRule(6),
    "gemma3n": WindowRule(5),
    "gemma4": WindowRule(6),
    "gpt-oss": WindowRule(2),
    "laguna": WindowRule(4, full_first=True),
    "llama4": WindowRule(4, window=8192, fixed=True),
    "mellum": WindowRule(4),
    "mimo2": WindowRule(6),
    "muse-glimmer": WindowRule(4),
    "olmo2": WindowRule(4),
    "plamo3": WindowRule(8),
    "smallthinker": WindowRule(4, full_first=True, window=4096, fixed=True),
    "step35": WindowRule(4),
}
EXAONE4_LAYERS_WITH_WINDOW = 64
GEMMA3N_LAYERS_WITH_CACHE = 20
"""The layers after these read the caches of the last ones before them."""
GEMMA3N_PER_LAYER = 256
FULL_ATTENTION_INTERVAL = {"minimax-01": 8}
"""One layer in so many keeps a cache; 4 for the others of its kind."""


def shape_from_header(file: GgufFile) -> ModelShape:
    """Layers, widths and sizes of a model whose header is here."""
    facts = HeaderFacts(file)
    blocks: dict[int, list[Tensor]] = defaultdict(list)
    outside: list[Tensor] = []
    for tensor in file.tensors:
        match = BLOCK_NAME.match(tensor.name)
        if match:
            blocks[int(match[1])].append(tensor)
        else:
            outside.append(tensor)
    windowed = facts.windowed_layers()
    layers = tuple(
        _layer(facts, index, blocks.get(index, []), windowed[index])
        for index in range(facts.n_layer_all)
    )
    inputs = [tensor for tensor in outside if tensor.name.startswith(INPUT_TENSORS)]
    outputs = [tensor for tensor in outside if not tensor.name.startswith(INPUT_TENSORS)]
    embeddings = sum(tensor.n_bytes for tensor in inputs if tensor.name == "token_embd.weight")
    shared = 0 if any(tensor.name == "output.weight" for tensor in outputs) else embeddings
    return ModelShape(
        name=str(file.metadata.get("general.name") or file.path.rpartition("/")[2]),
        architecture=file.architecture,
        layers=layers,
        input_bytes=sum(tensor.n_bytes for tensor in inputs),
        output_bytes=sum(tensor.n_bytes for tensor in outputs) + shared,
        n_embd=facts.n_embd,
        n_vocab=_n_vocab(file),
        n_head=max(1, *facts.per_layer("attention.head_count")),
        n_ff=_inner_width(blocks, ("ffn_down.", "ffn_down_shexp."))
        or max(facts.per_layer("feed_forward_length")),
        n_ctx_train=facts.number("context_length"),
        window=facts.window if any(windowed) else 0,
        n_expert=facts.number("expert_count"),
        n_expert_used=max(facts.per_layer("expert_used_count")),
        shared_bytes=shared,
        n_ff_expert=_inner_width(blocks, ("ffn_down_exps.",)),
        attention_width=max(facts.attention_width(index) for index in range(facts.n_layer_all)),
        recurrent_width=facts.recurrent_width(),
        per_layer_width=facts.per_layer_width(),
        gated=_is_gated(blocks),
    )


class HeaderFacts:
    """The numbers of the header that decide about memory."""

    def __init__(self, file: GgufFile) -> None:
        self._metadata = file.metadata
        self.architecture = file.architecture
        self.n_layer_all = min(MAX_LAYERS, max(1, self.number("block_count")))
        self.n_layer = self.n_layer_all - self.number("nextn_predict_layers")
        """Without heads for later tokens, which come after them and are not loaded."""
        self.n_embd = self.number("embedding_length")
        self.rule = WINDOW_RULES.get(self.architecture)
        self.window = self._window()
        self._heads = self.per_layer("attention.head_count")
        self._kv_heads = self.per_layer("attention.head_count_kv", self._heads)
        self._ff = self.per_layer("feed_forward_length")
        self._key_mla = self.number("attention.key_length_mla")

    def number(self, key: str, default: int = 0) -> int:
        """A whole number, or the default where it is missing or something else."""
        value = self._metadata.get(f"{self.architecture}.{key}")
        return value if isinstance(value, int) and value >= 0 else default

    def per_layer(self, key: str, default: list[int] | None = None) -> list[int]:
        """One number a layer; the header has one for all, or a list."""
        value = self._metadata.get(f"{self.architecture}.{key}")
        count = self.n_layer_all
        if isinstance(value, tuple):
            numbers = [item if isinstance(item, int) and item >= 0 else 0 for item in value]
            return (numbers + [0] * count)[:count]
        if isinstance(value, int) and value >= 0:
            return [int(value)] * count
        return default or [0] * count

    def head_length(self, which: str, *, windowed: bool) -> int:
        """Numbers of one KV head: `key` or `value`."""
        heads = max(1, self._heads[0])
        length = self.number(f"attention.{which}_length", self.n_embd // heads)
        if windowed:
            return self.number(f"attention.{which}_length_swa", length)
        return length

    def attention_width(self, index: int) -> int:
        """Numbers of all query heads; MLA computes in the width of its cache."""
        return self._heads[index] * self.head_length("key", windowed=False)

    def windowed_layers(self) -> list[bool]:
        """Which layers are limited to the window."""
        count = self.n_layer_all
        if self.window == 0:
            return [False] * count
        if self.architecture in ("lfm2", "lfm2moe"):
            return [heads > 0 for heads in self._kv_heads]
        given = self._metadata.get(f"{self.architecture}.attention.sliding_window_pattern")
        if isinstance(given, tuple):
            return ([bool(item) for item in given] + [False] * count)[:count]
        if self.rule is None:
            return [False] * count
        every = self.number("attention.sliding_window_pattern", self.rule.every)
        full = 0 if self.rule.full_first else every - 1
        return [
            index < self.n_layer and (every == 0 or index % every != full) for index in range(count)
        ]

    def memory(self, index: int) -> LayerMemory:
        """What a layer keeps of the text, windows apart."""
        if index >= self.n_layer or index >= self._layers_with_cache():
            return "none"
        if self.architecture in RECURRENT:
            return "recurrent"
        if self.architecture not in HYBRID or self.architecture == "falcon-h1":
            return "full"
        if self.architecture.startswith("nemotron_h"):
            if self._ff[index] > 0:
                return "none"
            return "full" if self._kv_heads[index] > 0 else "recurrent"
        return "recurrent" if self._is_recurrent(index) else "full"

    def state_bytes(self) -> int:
        """Of one recurrent layer (`llama_hparams::n_embd_r` and `n_embd_s`)."""
        convolution = max(0, self.number("ssm.conv_kernel") - 1)
        head = self.number("wkv.head_size")
        if head:
            numbers = self.n_embd * (self.number("token_shift_count", 2) + head)
        elif cells := self.number("shortconv.l_cache"):
            numbers = self.n_embd * (cells - 1)
        elif head := self.number("kda.head_dim"):
            numbers = self._heads[0] * head * (3 * (convolution or 3) + head)
        elif self.architecture == "minimax-01":
            numbers = self._heads[0] * self.head_length("key", windowed=False) ** 2
        else:
            inner, state = self.number("ssm.inner_size"), self.number("ssm.state_size")
            groups = self.number("ssm.group_count")
            numbers = convolution * (inner + 2 * groups * state) + state * inner
        return numbers * STATE_NUMBER_BYTES

    def per_layer_width(self) -> int:
        """Of all layers together."""
        usual = GEMMA3N_PER_LAYER if self.architecture == "gemma3n" else 0
        return self.n_layer_all * self.number("embedding_length_per_layer_input", usual)

    def recurrent_width(self) -> int:
        """Fitted to llama.cpp's compute buffers, for RWKV, scans (Mamba) and delta nets (Qwen)."""
        if self.number("wkv.head_size"):
            return 19 * self.n_embd
        inner = self.number("ssm.inner_size")
        convolved = inner + 2 * self.number("ssm.group_count") * self.number("ssm.state_size")
        if inner and self.architecture.startswith("qwen"):
            return 3 * (self.n_embd + convolved)
        return 2 * inner + 4 * convolved if inner else 0

    def cache_widths(self, index: int, *, windowed: bool) -> tuple[int, int]:
        """Numbers that a token leaves in a layer's K and V cache; MLA keeps no V."""
        heads = self._kv_heads[index]
        value = 0 if self._key_mla else heads * self.head_length("value", windowed=windowed)
        return heads * self.head_length("key", windowed=windowed), value

    def _window(self) -> int:
        given = self.number("attention.sliding_window")
        if self.architecture in ("lfm2", "lfm2moe"):
            return given
        if self.rule is None:
            listed = f"{self.architecture}.attention.sliding_window_pattern" in self._metadata
            return given if listed and self.architecture != "phi3" else 0
        if self.architecture == "exaone4" and self.n_layer != EXAONE4_LAYERS_WITH_WINDOW:
            return 0
        if self.rule.fixed:
            named = f"{self.architecture}.attention.sliding_window" in self._metadata
            return 0 if named and given == 0 else self.rule.window
        return given or self.rule.window

    def _layers_with_cache(self) -> int:
        if self.architecture == "gemma3n":
            return GEMMA3N_LAYERS_WITH_CACHE
        return self.n_layer_all - self.number("attention.shared_kv_layers")

    def _is_recurrent(self, index: int) -> bool:
        if self._kv_heads[index] == 0:
            return True
        given = self._metadata.get(f"{self.architecture}.attention.recurrent_layers")
        if isinstance(given, tuple):
            return index < len(given) and bool(given[index])
        if not self.architecture.startswith(("qwen", "minimax")):
            return False
        usual = FULL_ATTENTION_INTERVAL.get(self.architecture, 4)
        every = self.number("full_attention_interval", usual)
        return every == 0 or (index + 1) % every != 0


def _layer(facts: HeaderFacts, index: int, tensors: list[Tensor], windowed: bool) -> LayerShape:
    if index >= facts.n_layer:  # a head for later tokens: not loaded
        return LayerShape(weight_bytes=0, memory="none")
    memory = facts.memory(index)
    key, value = facts.cache_widths(index, windowed=windowed)
    keeps_cache = memory == "full"
    keeps_state = memory == "recurrent" or facts.architecture == "falcon-h1"
    sizes = [tensor.n_bytes for tensor in tensors]
    return LayerShape(
        weight_bytes=sum(sizes),
        expert_bytes=sum(tensor.n_bytes for tensor in tensors if "_exps." in tensor.name),
        memory="window" if keeps_cache and windowed else memory,
        key_width=key if keeps_cache else 0,
        value_width=value if keeps_cache else 0,
        state_bytes=facts.state_bytes() if keeps_state else 0,
        largest_bytes=max(sizes, default=0),
    )


def _n_vocab(file: GgufFile) -> int:
    """llama.cpp makes as many logits as the vocabulary has tokens."""
    if file.tokens:
        return len(file.tokens)
    size = file.metadata.get(f"{file.architecture}.vocab_size", 0)
    return size if isinstance(size, int) else 0


def _inner_width(blocks: dict[int, list[Tensor]], parts: tuple[str, ...]) -> int:
    """The most columns of the named matrices: the way out of a feed-forward part has its width."""
    return max((tensor.shape[0] for tensor in _matrices(blocks, parts)), default=0)


def _is_gated(blocks: dict[int, list[Tensor]]) -> bool:
    """A gate is a matrix of its own, or half of a wide one."""
    if _matrices(blocks, ("ffn_gate.", "_exps.")):
        return True
    inner = _inner_width(blocks, ("ffn_down.",))
    ups = [tensor.shape[1] for tensor in _matrices(blocks, ("ffn_up.",))]
    return not ups or max(ups) == 2 * inner


def _matrices(blocks: dict[int, list[Tensor]], parts: tuple[str, ...]) -> list[Tensor]:
    return [
        tensor
        for tensors in blocks.values()
        for tensor in tensors
        if len(tensor.shape) > 1 and any(part in tensor.name for part in parts)
    ]
