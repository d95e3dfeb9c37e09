"""Heads that read layers and are often right: their attention points at the letter that counts.

Queries and keys are the same for every letter, so that only the distance decides where a place
looks (RoPE turns the pair f of a key by its position times 10000^(-f/8)); values are one number a
letter, and what comes out is the embedding of the letter that the target is likely to have there.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from specchat.llama.library import Library
from support.gguf_models import byte_ids
from support.heads import BLOCK, MASK
from support.orderly_models import (
    LETTERS,
    Edit,
    Weights,
    embeddings,
    output_matrix,
    passes_token_on,
    recipe,
    write_orderly,
)

WIDTH, HEAD, N_HEADS, N_KV_HEADS = 64, 16, 4, 2
SHARPNESS = 12.0
"""Times queries: a key at the next distance counts e to the power of 3 less."""
LOUDNESS = 3.0
"""Of what attention adds, in embeddings."""


def write_pointed_eagle3(library: Library, path: Path, *, n_known: int | None = None) -> Path:
    """An EAGLE-3 head that goes by the token that it is given, with its target's output matrix.

    Args:
        n_known: letters that it knows; None: every token.
    """
    made = recipe("eagle3", block_count=1, target_layers=[1, 2, 3], target_hidden_size=WIDTH)
    alike = np.tile(_at_distance(0), N_HEADS)
    rows = _letters()
    edits: dict[str, Edit] = {
        "attn_norm.weight": np.ones_like,
        "attn_q.weight": _of_token(np.outer(SHARPNESS * alike, _known_by(rows))),
        "attn_k.weight": _of_token(np.outer(np.tile(_at_distance(0), N_KV_HEADS), _known_by(rows))),
        "attn_v.weight": _of_token(np.tile(np.linalg.pinv(rows.T), (N_KV_HEADS, 1))),
        "attn_output.weight": _put(np.tile(LOUDNESS / N_HEADS * _raw_letters().T, N_HEADS)),
        "fc.weight": passes_token_on,
    }
    extra: dict[str, npt.NDArray[np.generic]] = {}
    if n_known is not None:
        extra["d2t"] = np.array(byte_ids(LETTERS)[:n_known], np.int64)
        extra["output.weight"] = output_matrix((WIDTH, made.n_vocab), 1)[extra["d2t"]]
    return write_orderly(
        library, path, made, edits=edits, drop=["token_embd", "output.weight"], extra=extra
    )


def write_pointed_dflash(library: Library, path: Path) -> Path:
    """A DFlash drafter whose places look back to the text, each head at a distance of its own."""
    made = recipe(
        "dflash",
        block_count=1,
        block_size=BLOCK,
        target_layers=[1, 2, 3],
        attention__key_length=HEAD,
        attention__value_length=HEAD,
    )
    rows, mask = _letters(), _normed(embeddings((WIDTH, made.n_vocab), 1)[[MASK]])[0]
    seen = np.linalg.pinv(np.vstack([rows, mask])) @ np.r_[np.ones(len(rows)), -1.0]
    queries = np.concatenate([_at_distance(1 + head) for head in range(N_HEADS)])
    edits: dict[str, Edit] = {
        "attn_norm.weight": np.ones_like,
        "attn_q_norm.weight": lambda weights: np.full_like(weights, SHARPNESS),
        "attn_k_norm.weight": np.ones_like,
        "attn_q.weight": _put(np.outer(queries, mask / (mask @ mask))),
        "attn_k.weight": _put(np.outer(np.tile(_at_distance(0), N_KV_HEADS), seen)),
        "attn_v.weight": _put(np.tile(np.linalg.pinv(rows.T), (N_KV_HEADS, 1))),
        "attn_output.weight": _put(np.hstack([_after(head) for head in range(N_HEADS)])),
        "fc.weight": passes_token_on,
    }
    return write_orderly(
        library,
        path,
        made,
        edits=edits,
        drop=["token_embd", "output.weight"],
        vocabulary={"mask_token_id": MASK},
    )


def _at_distance(distance: int) -> Weights:
    """The query, before it is turned, that a key of (1, 0) pairs meets best so far behind."""
    angles = distance * 10000.0 ** (-np.arange(HEAD // 2) / (HEAD // 2))
    return np.concatenate([np.cos(angles), -np.sin(angles)]).astype(np.float32)


def _raw_letters() -> Weights:
    return embeddings((WIDTH, 259), 1)[byte_ids(LETTERS)]


def _letters() -> Weights:
    """A row for each letter, as it comes out of a norm."""
    return _normed(_raw_letters())


def _normed(rows: Weights) -> Weights:
    return np.asarray(rows / np.sqrt((rows**2).mean(axis=1, keepdims=True)), np.float32)


def _known_by(rows: Weights) -> Weights:
    """What gives 1 with each of these rows."""
    known: Weights = np.linalg.pinv(rows) @ np.ones(len(rows), np.float32)
    return known


def _after(steps: int) -> Weights:
    """A column for each letter: the embedding of what greedily comes so many letters later."""
    raw = _raw_letters()
    likeliest = (raw @ output_matrix((WIDTH, 259), 1)[byte_ids(LETTERS)].T).argmax(axis=1)
    place = np.arange(len(raw))
    for _ in range(steps):
        place = likeliest[place]
    loudness = LOUDNESS if steps else 0.7 * LOUDNESS  # a later place finds no text at distance 1
    return loudness * raw[place].T


def _put(weights: Weights) -> Edit:
    """In place of the random ones."""
    return lambda random: weights.astype(np.float32).reshape(random.shape)


def _of_token(weights: Weights) -> Edit:
    """Of two rows side by side, a token's embedding and a state, the first alone counts."""
    return lambda random: np.hstack([weights, np.zeros_like(weights)]).astype(np.float32)
