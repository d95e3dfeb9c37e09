"""Small GGUF files whose behaviour is known, written in a second."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from gguf import GGUFWriter, TokenType

BOS, EOS = 1, 2
FIRST_BYTE = 3
"""Ids of the byte vocabulary: unknown, BOS, EOS, then the 256 bytes."""
N_VOCAB = FIRST_BYTE + 256
NORM_EPSILON = 1e-6
NEVER = -60.0
"""A logit that is never drawn."""

Table = npt.NDArray[np.float32]


def byte_ids(text: str) -> list[int]:
    """The tokens of a text in the byte vocabulary."""
    return [FIRST_BYTE + byte for byte in text.encode()]


def random_table(seed: int, letters: str, *, spread: float = 1.5) -> Table:
    """Logits of shape (N_VOCAB, N_VOCAB): row t is what follows token t, always one of `letters`.

    Each letter favours another one, in a cycle through all of them, so that greedy text has some
    variety.
    """
    table = np.full((N_VOCAB, N_VOCAB), NEVER, np.float32)
    ids = byte_ids(letters)
    random = np.random.default_rng(seed)
    table[:, ids] = random.normal(0, spread, (N_VOCAB, len(ids)))
    cycle = random.permutation(ids)
    table[cycle, np.roll(cycle, -1)] = table[cycle].max(axis=1) + 0.5
    return table


def disturbed(table: Table, seed: int, letters: str, *, by: float) -> Table:
    """The same table with noise on the letters: a worse model of the same text."""
    other = table.copy()
    ids = byte_ids(letters)
    other[:, ids] += np.random.default_rng(seed).normal(0, by, (N_VOCAB, len(ids)))
    return other


def write_bigram(
    path: Path,
    table: Table,
    *,
    n_ctx_train: int = 32768,
    texts: Sequence[bytes] | None = None,
    add_bos: bool = False,
    control: Sequence[bytes] = (),
) -> Path:
    """A one-layer llama whose logits after token t are row t of the table, to 1e-3.

    Attention and feed-forward weights are zero, the embedding is one-hot, and the output matrix is
    the table: the whole real stack runs, and the law of the text is known in closed form. A table
    for more than N_VOCAB tokens gives the further ones names of their own; the first of them are
    these control tokens.
    """
    size, hidden, head = table.shape[0], table.shape[0], 32
    writer = GGUFWriter(path, "llama")
    writer.add_name("bigram")
    writer.add_block_count(1)
    writer.add_context_length(n_ctx_train)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(head)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_rope_dimension_count(head)
    writer.add_layer_norm_rms_eps(NORM_EPSILON)
    writer.add_vocab_size(size)
    writer.add_tokenizer_model("llama")
    names = [b"<unk>", b"<s>", b"</s>", *(f"<0x{byte:02X}>".encode() for byte in range(256))]
    names += control
    names += [f"<further {number}>".encode() for number in range(len(names), size)]
    writer.add_token_list(texts or names)
    writer.add_token_scores([0.0] * size)
    kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, *[TokenType.BYTE] * 256]
    kinds += [TokenType.CONTROL] * len(control)
    writer.add_token_types([*kinds, *[TokenType.NORMAL] * (size - len(kinds))])
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(add_bos)
    writer.add_add_space_prefix(False)
    ones, zeros = np.ones(hidden, np.float32), np.zeros
    writer.add_tensor("token_embd.weight", np.eye(size, hidden, dtype=np.float32))
    writer.add_tensor("output_norm.weight", ones)
    # The norm divides a one-hot state by the root of its mean square.
    output = np.ascontiguousarray(table.T * np.sqrt(1 / hidden + NORM_EPSILON), dtype=np.float32)
    writer.add_tensor("output.weight", output)
    writer.add_tensor("blk.0.attn_norm.weight", ones)
    writer.add_tensor("blk.0.ffn_norm.weight", ones)
    for name in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"):
        writer.add_tensor(f"blk.0.{name}.weight", zeros((head, hidden), np.float32))
    for name in ("attn_output", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", zeros((hidden, head), np.float32))
    return finish(writer, path)


def write_mamba(path: Path, *, seed: int = 1) -> Path:
    """A tiny random recurrent model: its state cannot step back."""
    hidden, inner, state, kernel, rank = 64, 128, 16, 4, 4
    random = np.random.default_rng(seed)

    def weights(*shape: int) -> npt.NDArray[np.float32]:
        return random.normal(0, 0.2, shape).astype(np.float32)

    writer = GGUFWriter(path, "mamba")
    writer.add_name("tiny mamba")
    writer.add_block_count(1)
    writer.add_context_length(4096)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_ssm_conv_kernel(kernel)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(rank)
    add_byte_vocabulary(writer)
    writer.add_tensor("token_embd.weight", weights(N_VOCAB, hidden))
    writer.add_tensor("output_norm.weight", np.ones(hidden, np.float32))
    writer.add_tensor("blk.0.attn_norm.weight", np.ones(hidden, np.float32))
    writer.add_tensor("blk.0.ssm_in.weight", weights(2 * inner, hidden))
    writer.add_tensor("blk.0.ssm_conv1d.weight", weights(inner, kernel))
    writer.add_tensor("blk.0.ssm_conv1d.bias", weights(inner))
    writer.add_tensor("blk.0.ssm_x.weight", weights(rank + 2 * state, inner))
    writer.add_tensor("blk.0.ssm_dt.weight", weights(inner, rank))
    writer.add_tensor("blk.0.ssm_dt.bias", weights(inner))
    writer.add_tensor("blk.0.ssm_a", -np.abs(weights(inner, state)) - 0.01)
    writer.add_tensor("blk.0.ssm_d", weights(inner))
    writer.add_tensor("blk.0.ssm_out.weight", weights(hidden, inner))
    return finish(writer, path)


def add_byte_vocabulary(writer: GGUFWriter, texts: Sequence[bytes] | None = None) -> None:
    """Three special tokens and the 256 bytes."""
    names = [b"<unk>", b"<s>", b"</s>", *(f"<0x{byte:02X}>".encode() for byte in range(256))]
    writer.add_vocab_size(N_VOCAB)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(texts or names)
    writer.add_token_scores([0.0] * N_VOCAB)
    kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, *[TokenType.BYTE] * 256]
    writer.add_token_types(kinds)
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)


def finish(writer: GGUFWriter, path: Path) -> Path:
    """Write the file and close it."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
