"""Targets of a usual size and heads for them, as headers alone: they take no room on the disk."""

from pathlib import Path

from support.header_files import layers, texts, write_header_file

N_VOCAB, WIDTH, N_LAYERS = 300, 4096, 48
"""About 4 billion weights."""
MASK: dict[str, str | int | bool] = {"tokenizer.ggml.mask_token_id": 299}


def target(
    folder: Path,
    *,
    heads: bool = False,
    promised: bool = False,
    n_layers: int = N_LAYERS,
    architecture: str = "qwen35",
) -> Path:
    """A target that takes no room on the disk."""
    last = {
        f"blk.{n_layers}.attn_norm.weight": (WIDTH,),
        f"blk.{n_layers}.ffn_up.weight": (4 * WIDTH, WIDTH),
        f"blk.{n_layers}.nextn.eh_proj.weight": (WIDTH, 2 * WIDTH),
    }
    own = {
        "block_count": n_layers + (heads or promised),
        "embedding_length": WIDTH,
        "feed_forward_length": 4 * WIDTH,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
    }
    if heads or promised:
        own["nextn_predict_layers"] = 1
    return write_header_file(
        folder / "target.gguf",
        architecture,
        tokens=texts(N_VOCAB),
        shapes=layers(n_layers, WIDTH, N_VOCAB) | (last if heads else {}),
        own=own,
    )


def eagle3(folder: Path, name: str, width: int = WIDTH) -> Path:
    """An EAGLE-3 head for that target, or for one of another width."""
    return write_header_file(
        folder / name,
        "eagle3",
        tokens=texts(N_VOCAB),
        shapes={"fc.weight": (WIDTH, 3 * WIDTH), "blk.0.ffn_up.weight": (4 * WIDTH, WIDTH)},
        own={
            "block_count": 1,
            "embedding_length": WIDTH,
            "attention.head_count": 32,
            "attention.head_count_kv": 8,
            "target_hidden_size": width,
            "target_layers": [1, 20, 40],
        },
    )


def dspark(folder: Path, name: str) -> Path:
    """A DSpark head for that target."""
    return write_header_file(
        folder / name,
        "dflash",
        tokens=texts(N_VOCAB),
        shapes={"fc.weight": (WIDTH, 2 * WIDTH), "markov_w1.weight": (N_VOCAB, 64)},
        own={"embedding_length": WIDTH, "block_size": 8, "target_layers": [1, 40]},
        entries=MASK,
    )
