"""The vocabulary in a header, as llama.cpp would understand it (src/llama-vocab.cpp)."""

from specchat.pairing.compatibility import VocabularyFacts
from specchat.pairing.gguf_file import GgufFile

UNKNOWN_KIND = -1
NO_TOKEN = -1
KINDS = {
    "no_vocab": 0,
    "none": 0,
    "llama": 1,
    "gpt2": 2,
    "hybriddna": 2,
    "whitespace": 2,
    "gemma4": 2,
    "bert": 3,
    "t5": 4,
    "rwkv": 5,
    "plamo2": 6,
}
"""`enum llama_vocab_type` by `tokenizer.ggml.model`."""
KIND_NAMES = {
    0: "none",
    1: "SentencePiece",
    2: "byte-level BPE",
    3: "WordPiece",
    4: "unigram",
    5: "RWKV",
    6: "PLaMo-2",
}
BOS_EOS = {1: (1, 2), 2: (11, 11), 3: (101, NO_TOKEN), 4: (NO_TOKEN, 1), 6: (1, 2)}
"""Where the file names none, by kind."""
NO_DEFAULT_BOS = {"chatglm-bpe", "glm4", "glm5"}
"""Values of `tokenizer.ggml.pre`; the same below."""
ADDS_BOS = {
    "llama3",
    "llama-v3",
    "llama-bpe",
    "falcon3",
    "falcon-h1",
    "pixtral",
    "midm-2.0",
    "lfm2",
    "jina-v5-nano",
    "tekken",
    "chameleon",
}
ALWAYS_ADDS_BOS = {"gemma4", "granite-embed-multi-311m"}
"""Whatever the file says."""
SPECIAL_TOKENS = {
    "bos": "BOS",
    "eos": "EOS",
    "eot": "EOT",
    "eom": "EOM",
    "unknown": "unknown",
    "padding": "padding",
    "mask": "mask",
    "fim_pre": "FIM prefix",
    "fim_suf": "FIM suffix",
    "fim_mid": "FIM middle",
}
"""By the middle of their key, `tokenizer.ggml.*_token_id`."""


def vocabulary_of(file: GgufFile) -> VocabularyFacts:
    """What the header says, and llama.cpp's defaults where it says nothing."""
    kind, pre = _kind(file), _pre(file)
    tokens, special = file.tokens, special_tokens(file)
    if b"" in tokens:
        tokens = tuple(text or b"[EMPTY_%d]" % index for index, text in enumerate(tokens))
    adds_bos = kind in (1, 3) or (kind == 2 and pre in ADDS_BOS)
    always = kind == 2 and pre in ALWAYS_ADDS_BOS
    return VocabularyFacts(
        kind=kind,
        adds_bos=always or _flag(file, "add_bos_token", adds_bos),
        bos=special["bos"],
        adds_eos=_flag(file, "add_eos_token", kind == 4),
        eos=special["eos"],
        texts=tokens,
    )


def special_tokens(file: GgufFile) -> dict[str, int]:
    """Their ids by name; `NO_TOKEN` where there is none within the vocabulary."""
    bos, eos = BOS_EOS.get(_kind(file), (NO_TOKEN, NO_TOKEN))
    if _model(file) == "gemma4":
        bos, eos = NO_TOKEN, NO_TOKEN
    elif _pre(file) in NO_DEFAULT_BOS:
        bos = NO_TOKEN
    defaults = {"bos": bos, "eos": eos}
    return {name: _token(file, name, defaults.get(name, NO_TOKEN)) for name in SPECIAL_TOKENS}


def _kind(file: GgufFile) -> int:
    return KINDS.get(_model(file), UNKNOWN_KIND)


def _model(file: GgufFile) -> str:
    return str(file.metadata.get("tokenizer.ggml.model", ""))


def _pre(file: GgufFile) -> str:
    if _model(file) == "gemma4":
        return "gemma4"
    return str(file.metadata.get("tokenizer.ggml.pre", ""))


def _token(file: GgufFile, name: str, default: int) -> int:
    token = file.metadata.get(f"tokenizer.ggml.{name}_token_id")
    if isinstance(token, int) and 0 <= token < len(file.tokens):
        return token
    return default if default < len(file.tokens) else NO_TOKEN


def _flag(file: GgufFile, name: str, default: bool) -> bool:
    value = file.metadata.get(f"tokenizer.ggml.{name}")
    return value if isinstance(value, bool) else default
