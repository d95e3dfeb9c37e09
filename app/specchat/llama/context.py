"""A KV cache over a model: decode a batch, read its rows, go back."""

import ctypes
import os
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import psutil

from specchat.errors import ContextTooLarge, DecodeFailed, InvalidSetting
from specchat.llama.devices import memory_of
from specchat.llama.library import AbortFlag
from specchat.llama.memory import SEQUENCE, ContextMemory
from specchat.llama.model import Model

Logits = npt.NDArray[np.float32]

DECODE_OK = 0
DECODE_ABORTED = 2
CELL_STEP = 256
"""llama.cpp rounds a cache up to a multiple of this many cells."""
GPU_BATCH = (512, 512)
CPU_BATCH = (240, 60)
"""Tokens to a decode call and to a micro-batch of it.

From 64 tokens on, attention on the CPU takes another path, whose sums differ in the last bits.
Below it a prompt gives the same cache however it is split, so that an answer after a reused prefix
is the answer after a cold start (tests/real_model/test_conversation.py). The price is a third of
the prompt speed at 1,400 tokens of a 135M model, less where attention is a smaller part.
"""


class CacheType(NamedTuple):
    """A type of the numbers in a KV cache."""

    number: int
    """In `enum ggml_type` (ggml.h)."""
    bytes_per_32: int


CACHE_TYPES = {
    "f16": CacheType(1, 64),
    "q8_0": CacheType(8, 34),
    "q4_0": CacheType(2, 18),
}
FLASH_ATTENTION = 1
"""`LLAMA_FLASH_ATTN_TYPE_ENABLED` (llama.h): quantised values can be read no other way."""
REFUSED_TYPE = re.compile("cache type|V cache|flash_attn", re.IGNORECASE)
"""In the line that tells that a model cannot have a quantised cache."""


class Aborted(Exception):
    """A decode ended early because the abort flag was set. The cache holds `Context.tokens`."""


class Listener(Protocol):
    """Takes what a decode leaves behind, before the next one overwrites it."""

    def decoded(self, start: int, tokens: Sequence[int]) -> None:
        """These tokens are in the cache now, from this position on."""
        ...

    def reusable(self, length: int) -> int:
        """How many of the first `length` tokens of the cache need not be decoded again."""
        ...


class Outputs(Enum):
    """Which tokens of a batch get a row of logits."""

    NONE = 0
    LAST = 1
    ALL = 2


def default_threads() -> int:
    """Physical cores that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(psutil.cpu_count(logical=False) or 1, usable or 1))


class Context:
    """One sequence of tokens in a model's KV cache.

    Args:
        n_ctx: cells of the cache; llama.cpp rounds up to a multiple of 256.
        n_outputs: most rows of logits that one decode asks for.
        abort: ends a running decode when set.
        n_snapshots: states that recurrent layers are asked to keep, to take so many tokens back;
            each is one more in memory. `memory` tells what was granted.
        cache_type: of keys and values, one of `CACHE_TYPES`.
        whole_window_cache: layers with a sliding window keep every token all the same. Otherwise
            they keep the window and a micro-batch more; what goes back further starts over.

    Raises:
        ContextTooLarge: the cache does not fit into memory.
        InvalidSetting: the model cannot have a cache of this type.
    """

    ATTENTION_ALONE = False
    """Whether only layers of attention take part, whatever other layers the model has."""

    def __init__(
        self,
        model: Model,
        *,
        n_ctx: int,
        n_outputs: int,
        abort: AbortFlag,
        n_threads: int | None = None,
        n_snapshots: int = 0,
        cache_type: str = "f16",
        whole_window_cache: bool = True,
    ) -> None:
        self.model = model
        self.tokens: list[int] = []
        """The ids that are really in the cache, in order."""
        self.listener: Listener | None = None
        self._api = api = model.library.api
        self._abort = abort
        self._log = model.library.log
        n_ctx = -(-n_ctx // CELL_STEP) * CELL_STEP
        self.cache_type = cache_type
        window_only = not (whole_window_cache or model.is_recurrent) and (
            api.llama_model_n_swa(model.handle) > 0
        )
        params = api.llama_context_default_params()
        params.n_ctx = n_ctx
        params.n_batch, params.n_ubatch = GPU_BATCH if model.devices else CPU_BATCH
        params.swa_full = not window_only
        params.type_k = params.type_v = CACHE_TYPES[cache_type].number
        if cache_type != "f16":
            params.flash_attn_type = FLASH_ATTENTION
        self.n_batch: int = params.n_batch
        # A round within one micro-batch overwrites nothing that going back over it would need.
        self.n_outputs: int = min(n_outputs, params.n_ubatch if window_only else self.n_batch)
        params.n_outputs_max = self.n_outputs
        self.n_threads = n_threads or default_threads()
        params.n_threads = params.n_threads_batch = self.n_threads
        self._adapt(params)
        keeps_state = model.is_recurrent and not self.ATTENTION_ALONE
        mark = self._log.mark()
        self.handle: Any
        self.handle, can_mark = _make_native(model, params, n_snapshots, keeps_state=keeps_state)
        if not self.handle:
            raise _refused(model, n_ctx, cache_type, self._log.errors(mark))
        self.memory = ContextMemory(
            model,
            self.handle,
            keeps_state=keeps_state,
            whole_window=not window_only,
            can_mark=can_mark,
        )
        """How tokens are taken back."""
        api.llama_set_abort_callback(self.handle, abort.callback, abort.address)
        self.n_ctx: int = api.llama_n_ctx_seq(self.handle)
        self._batch = self._make_batch()
        self._map_batch()
        self._logits_address = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(
            ("llama_get_logits", api._lib)
        )
        self._views: dict[tuple[int, int], Logits] = {}
        self._rows_made = 0

    @property
    def longest_draft(self) -> int:
        """The most guesses that one call can test: their rows, and snapshots to refuse them all."""
        rows = self.n_outputs - 1
        return min(rows, self.memory.n_snapshots) if self.memory.kind == "snapshots" else rows

    def decode(self, tokens: Sequence[int], outputs: Outputs, *, without_row: int = 0) -> None:
        """Append tokens to the cache; returns when the device is done.

        Args:
            tokens: 1 to `n_batch` ids.
            outputs: which of them get a row, read with `rows`.
            without_row: so many at the start get none in any case.

        Raises:
            Aborted: the abort flag was set.
            DecodeFailed: llama.cpp refused or failed.
        """
        if self._abort.is_set:  # a GPU never asks the abort callback
            raise Aborted
        count, start = len(tokens), len(self.tokens)
        self._token[:count] = tokens
        self._position[:count] = self._counting[:count] + start
        self._wants_row[:count] = outputs is Outputs.ALL
        self._wants_row[:without_row] = False
        if outputs is Outputs.LAST:
            self._wants_row[count - 1] = True
        self._batch.n_tokens = count
        mark = self._log.mark()
        self._rows_made = 0
        code = self._api.llama_decode(self.handle, self._batch)
        if code != DECODE_OK:
            # Whole micro-batches of a long prompt may have stayed.
            kept = self.memory.length - start
            self.tokens += tokens[: max(0, kept)]
            if self.memory.keeps_state:
                del self.tokens[self.memory.recover(start) :]
            elif self.listener is not None:
                self.rollback(start)  # nobody has heard of what stayed
            if code == DECODE_ABORTED:
                raise Aborted
            raise self._decode_error(code, count, mark)
        self._api.llama_synchronize(self.handle)
        self.tokens += tokens
        self.memory.decoded(count)
        if outputs is not Outputs.NONE:
            self._rows_made = count - without_row if outputs is Outputs.ALL else 1
        if self.listener is not None:
            self._tell(start, tokens)

    def prefill(self, tokens: Sequence[int]) -> Iterator[int]:
        """Append any number of tokens without rows; yields how many are done after each batch.

        Raises:
            Aborted: the abort flag was set.
            DecodeFailed: llama.cpp refused or failed.
        """
        for start in range(0, len(tokens), self.n_batch):
            chunk = tokens[start : start + self.n_batch]
            self.mark()  # where an abort in the middle of this batch comes back to
            self.decode(chunk, Outputs.NONE)
            yield start + len(chunk)

    def rows(self, count: int) -> Logits:
        """The logits of the last decode, shape (count, n_vocab).

        A view of llama.cpp's own buffer: valid until the next decode, free to be written to.

        Raises:
            DecodeFailed: the last decode made fewer.
        """
        if count > self._rows_made:  # llama.cpp would hand out older ones
            raise DecodeFailed(
                f"Tried to read {count} rows of logits.",
                f"The last decode made {self._rows_made}.",
                "Please report this.",
            )
        address = self._logits_address(self.handle)
        view = self._views.get((address, count))
        if view is None:
            size = count * self.model.vocabulary.n_tokens
            buffer: Any = (ctypes.c_float * size).from_address(address)
            view = np.frombuffer(buffer, np.float32, size).reshape(count, -1)
            if len(self._views) >= self.n_outputs:  # the buffer has moved
                self._views.clear()
            self._views[address, count] = view
        return view

    def rehearse(self, n_tokens: int, outputs: Outputs) -> None:
        """Decode so many tokens of no meaning, as a round would, to see how long it takes.

        Raises:
            Aborted: the abort flag was set.
            DecodeFailed: llama.cpp refused or failed.
        """
        self.decode([max(0, self.model.vocabulary.bos)] * n_tokens, outputs)

    def mark(self) -> None:
        """Make the way back to here short, where memory steps back by checkpoints; it is cheap."""
        self.memory.mark(len(self.tokens))

    def save(self) -> None:
        """Keep a way back to here for later turns, where tokens cannot just be dropped."""
        self.memory.save(len(self.tokens))

    def reuse(self, length: int) -> int:
        """Keep the first `length` tokens for another sequence that starts with them.

        Returns:
            How many of them are left; the others have to be decoded anew.
        """
        return self.rollback(length if self.listener is None else self.listener.reusable(length))

    def rollback(self, length: int) -> int:
        """Drop every token from position `length` on.

        Returns:
            How many tokens are left: `length`, or fewer where the memory can only come back to an
            earlier place. The rest has to be decoded anew.

        Raises:
            DecodeFailed: the cache is not in the state it should be in; it was cleared.
        """
        if length >= len(self.tokens):
            return len(self.tokens)
        left = self.memory.go_back(len(self.tokens), length)
        del self.tokens[left:]
        if self.memory.length != left:
            self.memory.clear()
            self.tokens.clear()
            raise DecodeFailed(
                "Tried to go back in the context.",
                "The KV cache did not go back as far as asked.",
                "Send again; please report this.",
            )
        return left

    def close(self) -> None:
        """Free the cache and its buffers."""
        if self.handle:
            self._api.llama_batch_free(self._batch)
            self._api.llama_free(self.handle)
            self.handle = None

    def _adapt(self, params: Any) -> None:
        """Change parameters of the context before it is made; for other kinds of context."""

    def _make_batch(self) -> Any:
        return self._api.llama_batch_init(self.n_batch, 0, 1)

    def _tell(self, start: int, tokens: Sequence[int]) -> None:
        assert self.listener is not None
        try:
            self.listener.decoded(start, tokens)
        except BaseException:
            self.rollback(start)  # what nobody has heard of is decoded again
            raise

    def _map_batch(self) -> None:
        """Arrays over the batch's own memory: filling them is five times quicker than items."""

        def view(pointer: Any, dtype: type[np.generic]) -> npt.NDArray[Any]:
            return np.ctypeslib.as_array(pointer, (self.n_batch,)).view(dtype)

        self._token = view(self._batch.token, np.int32)
        self._position = view(self._batch.pos, np.int32)
        self._wants_row = view(self._batch.logits, np.int8)
        self._counting = np.arange(self.n_batch, dtype=np.int32)
        view(self._batch.n_seq_id, np.int32)[:] = 1
        for index in range(self.n_batch):
            self._batch.seq_id[index][0] = SEQUENCE

    def _decode_error(self, code: int, count: int, mark: int) -> DecodeFailed:
        log = self._log.errors(mark)
        detail = log[-1] if log else "nothing was logged"
        return DecodeFailed(
            f"Tried to decode {count} tokens at position {len(self.tokens)} of {self.n_ctx}.",
            f"llama.cpp answered {code}: {detail}.",
            "Use a smaller context, or fewer layers on the GPU.",
        )


def _make_native(
    model: Model, params: Any, n_snapshots: int, *, keeps_state: bool
) -> tuple[Any, bool]:
    """A native context or None, and whether it has a second sequence to mark a state with."""
    api = model.library.api
    params.n_rs_seq = min(n_snapshots, params.n_ubatch - 2) if keeps_state else 0
    handle = api.llama_init_from_model(model.handle, params)
    two_sequences = keeps_state and handle and not api.llama_n_rs_seq(handle)
    if two_sequences:
        api.llama_free(handle)
        params.n_seq_max, params.kv_unified = 2, True
        params.n_outputs_max = max(params.n_outputs_max, params.n_seq_max)  # it aborts otherwise
        handle = api.llama_init_from_model(model.handle, params)
    return handle, two_sequences


def _refused(
    model: Model, n_ctx: int, cache_type: str, log: list[str]
) -> ContextTooLarge | InvalidSetting:
    """Why llama.cpp made no context, by its error lines."""
    reason = next((line for line in log if REFUSED_TYPE.search(line)), None)
    if cache_type == "f16" or reason is None:
        return _too_large(model, n_ctx, cache_type, log)
    return InvalidSetting(
        f"Tried to keep the KV cache of {model.path.name} in {cache_type}.",
        f"This model cannot have one: {reason.split(': ', 1)[-1].rstrip('.')}.",
        "Use --cache-type f16.",
    )


def _too_large(model: Model, n_ctx: int, cache_type: str, log: list[str]) -> ContextTooLarge:
    needed = model.kv_bytes(n_ctx, CACHE_TYPES[cache_type].bytes_per_32) / 2**30
    free = [
        f"{memory_of(model.library, device)[1] / 2**30:.1f} GiB of {device.name}"
        for device in model.devices
    ]
    free = free or [f"{psutil.virtual_memory().available / 2**30:.1f} GiB of memory"]
    happened = f"Its KV cache needs about {needed:.1f} GiB; {' and '.join(free)} are free."
    if log:
        happened += f" llama.cpp says: {log[0].rstrip('.')}."
    return ContextTooLarge(
        f"Tried to make a context of {n_ctx:,} tokens for {model.path.name}.",
        happened,
        "Ask for a smaller one with --ctx.",
    )
