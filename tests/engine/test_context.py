"""The KV cache: going back, batches of any size, rows, and its last cell."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from specchat.errors import DecodeFailed
from specchat.llama.context import CELL_STEP, Context, Logits, Outputs, default_threads
from specchat.llama.library import Library
from specchat.llama.model import Model
from support.gguf_models import Table, byte_ids, random_table, write_bigram
from support.speaking import make_context

N_CTX = 512
TEXT = (
    "The sea was calm that morning, and the fishermen of the village had gone out early. "
    "By noon the wind had turned; grey clouds came up from the west, one after the other, "
    "and the old women on the quay began to count the sails. There were nine of them, then "
    "seven, then nine again. Nobody spoke. A boy climbed the wall and shouted what he saw."
)


@pytest.fixture(scope="module")
def table() -> Table:
    return random_table(0, "abcdefgh")


@pytest.fixture(scope="module")
def bigram(
    library: Library, table: Table, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Model]:
    model = Model(library, write_bigram(tmp_path_factory.mktemp("bigram") / "b.gguf", table))
    yield model
    model.close()


@pytest.fixture
def context(bigram: Model) -> Iterator[Context]:
    context = make_context(bigram, n_ctx=N_CTX)
    yield context
    context.close()


@pytest.fixture(scope="module")
def real_context(smollm2_model: Model) -> Iterator[Context]:
    context = make_context(smollm2_model, n_ctx=N_CTX, n_threads=default_threads())
    yield context
    context.close()


@pytest.fixture(scope="module")
def real_tokens(smollm2_model: Model) -> list[int]:
    tokens = smollm2_model.vocabulary.tokenize(TEXT, parse_special=False)
    assert len(tokens) > 75  # more than a micro-batch
    return tokens


def logits_after(context: Context, tokens: Sequence[int]) -> Logits:
    """A copy of the one row after the last of these tokens, which are appended."""
    for _ in context.prefill(tokens[:-1]):
        pass
    context.decode(tokens[-1:], Outputs.LAST)
    return context.rows(1).copy()


def assert_going_back_leaves_nothing(
    context: Context, tokens: Sequence[int], other: Sequence[int], lengths: Sequence[int]
) -> None:
    """After a rollback to each length and `other` instead, the logits are those of a cold start."""
    fresh = {}
    for length in lengths:
        context.rollback(0)
        fresh[length] = logits_after(context, [*tokens[:length], *other])
    context.rollback(0)
    logits_after(context, tokens)
    for length in sorted(lengths, reverse=True):
        assert context.rollback(length) == length
        assert context.tokens == tokens[:length]
        np.testing.assert_array_equal(logits_after(context, other), fresh[length])
        assert context.tokens == [*tokens[:length], *other]


def test_after_going_back_to_any_length_the_cache_is_as_if_never_further(
    context: Context,
) -> None:
    tokens = byte_ids("abcdefgh" * 3)
    assert_going_back_leaves_nothing(context, tokens, byte_ids("hg"), range(len(tokens)))


@pytest.mark.real_model
def test_on_a_real_model_going_back_to_any_length_is_exact_to_the_bit(
    real_context: Context, real_tokens: list[int]
) -> None:
    other = real_tokens[40:43]
    lengths = [1, 17, 60, 61, len(real_tokens) - 1]
    assert_going_back_leaves_nothing(real_context, real_tokens, other, lengths)


@pytest.mark.real_model
def test_a_prompt_gives_the_same_logits_to_the_bit_however_it_is_split(
    real_context: Context, real_tokens: list[int]
) -> None:
    """That an answer after a reused prefix is the answer after a cold start rests on this."""
    real_context.rollback(0)
    whole = logits_after(real_context, real_tokens)
    for sizes in ([1, 2, 7, 17, 1, 30], [61], [5, 64]):
        real_context.rollback(0)
        start, turn = 0, 0
        while start < len(real_tokens) - 1:
            end = min(start + sizes[turn % len(sizes)], len(real_tokens) - 1)
            real_context.decode(real_tokens[start:end], Outputs.NONE)
            start, turn = end, turn + 1
        split = logits_after(real_context, real_tokens[-1:])
        np.testing.assert_array_equal(split, whole, err_msg=f"batches of {sizes}")


def test_prefill_tells_how_far_it_is(context: Context) -> None:
    tokens = byte_ids("abcdefgh" * 60)
    done = list(context.prefill(tokens))
    assert done == [*range(context.n_batch, len(tokens), context.n_batch), len(tokens)]
    assert context.tokens == tokens
    assert list(context.prefill([])) == []


def test_going_back_to_where_it_is_or_further_changes_nothing(context: Context) -> None:
    tokens = byte_ids("abc")
    context.decode(tokens, Outputs.LAST)
    for length in (3, 4, 10_000):
        assert context.rollback(length) == 3
        assert context.tokens == tokens
    assert len(context.rows(1)) == 1  # the row of the last decode is there still


def test_every_token_has_its_row_when_all_are_asked_for(context: Context, table: Table) -> None:
    tokens = byte_ids("abcdef")
    context.decode(tokens, Outputs.ALL)
    for count in (1, 3, 6):
        rows = context.rows(count)
        assert rows.shape == (count, len(table))
        assert rows.dtype == np.float32
        np.testing.assert_allclose(rows, table[tokens[:count]], atol=1e-3)


def test_the_last_token_has_the_one_row_when_the_last_is_asked_for(
    context: Context, table: Table
) -> None:
    context.decode(byte_ids("abc"), Outputs.LAST)
    np.testing.assert_allclose(context.rows(1), table[byte_ids("c")], atol=1e-3)


def test_rows_are_a_view_of_llama_cpps_own_buffer_that_can_be_written_to(
    context: Context,
) -> None:
    context.decode(byte_ids("ab"), Outputs.ALL)
    rows = context.rows(2)
    assert not rows.flags.owndata
    rows[1, 5] = 123.0
    assert context.rows(2)[1, 5] == 123.0
    assert np.shares_memory(rows, context.rows(2))


def test_rows_that_the_last_decode_did_not_make_are_refused(context: Context) -> None:
    with pytest.raises(DecodeFailed, match="made 0"):
        context.rows(1)
    for outputs, made in ((Outputs.ALL, 3), (Outputs.LAST, 1), (Outputs.NONE, 0)):
        context.decode(byte_ids("abc"), outputs)
        if made:
            assert len(context.rows(made)) == made
        with pytest.raises(DecodeFailed, match=f"made {made}"):
            context.rows(made + 1)


@pytest.mark.parametrize(("asked", "made"), [(1, 256), (256, 256), (257, 512), (1000, 1024)])
def test_the_context_is_rounded_up_to_whole_steps(bigram: Model, asked: int, made: int) -> None:
    assert made % CELL_STEP == 0
    context = make_context(bigram, n_ctx=asked)
    assert context.n_ctx == made
    context.close()


def test_a_full_cache_refuses_another_token_and_keeps_what_it_has(
    context: Context, table: Table
) -> None:
    tokens = byte_ids("abcdefgh" * (N_CTX // 8))
    for _ in context.prefill(tokens):
        pass
    assert len(context.tokens) == context.n_ctx
    with pytest.raises(DecodeFailed) as refused:
        context.decode(byte_ids("a"), Outputs.LAST)
    assert refused.value.tried == f"Tried to decode 1 tokens at position {N_CTX} of {N_CTX}."
    assert refused.value.exit_code == 1
    assert context.tokens == tokens
    context.rollback(N_CTX - 1)
    context.decode(byte_ids("a"), Outputs.LAST)
    np.testing.assert_allclose(context.rows(1), table[byte_ids("a")], atol=1e-3)


def test_a_batch_that_is_longer_than_what_is_left_is_refused_whole(context: Context) -> None:
    for _ in context.prefill(byte_ids("abcdefgh" * (N_CTX // 8))[:-4]):
        pass
    with pytest.raises(DecodeFailed):
        context.decode(byte_ids("abcdefgh"), Outputs.ALL)
    assert len(context.tokens) == N_CTX - 4
    context.decode(byte_ids("abcd"), Outputs.ALL)
    assert len(context.tokens) == N_CTX


def test_a_token_that_does_not_exist_is_refused_and_the_cache_stays(context: Context) -> None:
    context.decode(byte_ids("ab"), Outputs.LAST)
    with pytest.raises(DecodeFailed, match=r"llama\.cpp answered -1"):
        context.decode([1_000_000], Outputs.LAST)
    assert context.tokens == byte_ids("ab")
    context.decode(byte_ids("c"), Outputs.LAST)


def test_closing_twice_is_closing_once(bigram: Model) -> None:
    context = make_context(bigram, n_ctx=256)
    context.close()
    context.close()
    assert context.handle is None
