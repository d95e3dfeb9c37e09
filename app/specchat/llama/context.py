"""A KV cache over a model: decode a batch, read its rows, go back."""

import ctypes
import os
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import psutil

from specchat.errors import ContextTooLarge, DecodeFailed
from specchat.llama.library import AbortFlag
from specchat.llama.model import Model

Logits = npt.NDArray[np.float32]

DECODE_OK = 0
DECODE_ABORTED = 2
CELL_STEP = 256
"""llama.cpp rounds a cache up to a multiple of this many cells."""
SEQUENCE = 0
"""The one sequence of a chat's cache."""

GPU_BATCH = (512, 512)
CPU_BATCH = (240, 60)
"""Tokens to a decode call and to a micro-batch of it.

From 64 tokens on, attention on the CPU takes another path, whose sums differ in the last bits.
Below it a prompt gives the same cache however it is split, so that an answer after a reused prefix
is the answer after a cold start (tests/real_model/test_conversation.py). The price is a third of
the prompt speed at 1,400 tokens of a 135M model, less where attention is a smaller part.
"""

MEMORY_KEPT_FREE = 0.05
"""Share of the free memory that a new KV cache leaves alone."""


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

    Raises:
        ContextTooLarge: the cache does not fit into memory.
    """

    LAYERS_OF_ITS_OWN = True
    """Whether the cache is as large as the whole model makes it."""

    def __init__(
        self,
        model: Model,
        *,
        n_ctx: int,
        n_outputs: int,
        abort: AbortFlag,
        n_threads: int | None = None,
    ) -> None:
        self.model = model
        self.tokens: list[int] = []
        """The ids that are really in the cache, in order."""
        self.listener: Listener | None = None
        self._api = api = model.library.api
        self._abort = abort
        self._log = model.library.log
        n_ctx = -(-n_ctx // CELL_STEP) * CELL_STEP
        if self.LAYERS_OF_ITS_OWN:
            _require_room(model, n_ctx)
        params = api.llama_context_default_params()
        params.n_ctx = n_ctx
        params.n_batch, params.n_ubatch = GPU_BATCH if model.devices else CPU_BATCH
        self.n_batch: int = params.n_batch
        self.n_outputs: int = min(n_outputs, self.n_batch)
        params.n_outputs_max = self.n_outputs
        self.n_threads = n_threads or default_threads()
        params.n_threads = params.n_threads_batch = self.n_threads
        self._adapt(params)
        mark = self._log.mark()
        self.handle: Any = api.llama_init_from_model(model.handle, params)
        if not self.handle:
            raise _too_large(model, n_ctx, self._log.errors(mark))
        self._memory = api.llama_get_memory(self.handle)
        api.llama_set_abort_callback(self.handle, abort.callback, abort.address)
        self.n_ctx: int = api.llama_n_ctx_seq(self.handle)
        self.can_step_back = not model.is_recurrent
        """Whether the tail of the cache can be dropped; a recurrent state only starts over."""
        self._batch = self._make_batch()
        self._map_batch()
        self._logits_address = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(
            ("llama_get_logits", api._lib)
        )
        self._views: dict[tuple[int, int], Logits] = {}
        self._rows_made = 0

    def decode(self, tokens: Sequence[int], outputs: Outputs) -> None:
        """Append tokens to the cache; returns when the device is done.

        Args:
            tokens: 1 to `n_batch` ids.
            outputs: which of them get a row, read with `rows`.

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
        if outputs is Outputs.LAST:
            self._wants_row[count - 1] = 1
        self._batch.n_tokens = count
        mark = self._log.mark()
        self._rows_made = 0
        code = self._api.llama_decode(self.handle, self._batch)
        if code != DECODE_OK:
            # Whole micro-batches of a long prompt may have stayed.
            kept = self._length_in_cache() - start
            self.tokens += tokens[: max(0, kept)]
            if not self.can_step_back:
                self.rollback(0)  # half a step of a recurrent state is no state
            elif self.listener is not None:
                self.rollback(start)  # nobody has heard of what stayed
            if code == DECODE_ABORTED:
                raise Aborted
            raise self._decode_error(code, count, mark)
        self._api.llama_synchronize(self.handle)
        self.tokens += tokens
        if outputs is not Outputs.NONE:
            self._rows_made = count if outputs is Outputs.ALL else 1
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

    def reuse(self, length: int) -> int:
        """Keep the first `length` tokens for another sequence that starts with them.

        Returns:
            How many of them are left; the others have to be decoded anew.
        """
        return self.rollback(length if self.listener is None else self.listener.reusable(length))

    def rollback(self, length: int) -> int:
        """Drop every token from position `length` on.

        Returns:
            How many tokens are left: `length`, or 0 where the memory cannot step back and was
            cleared. The rest has to be decoded anew.

        Raises:
            DecodeFailed: the cache is not in the state it should be in; it was cleared.
        """
        if length >= len(self.tokens):
            return len(self.tokens)
        if not self.can_step_back or length == 0:
            self._api.llama_memory_clear(self._memory, not self.can_step_back)
            length = 0
        elif not self._api.llama_memory_seq_rm(self._memory, SEQUENCE, length, -1):
            raise self._broken_cache("The KV cache refused to drop its tail.")
        del self.tokens[length:]
        if self._length_in_cache() != length:
            raise self._broken_cache("The KV cache did not go back as far as asked.")
        return length

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

    def _length_in_cache(self) -> int:
        return int(self._api.llama_memory_seq_pos_max(self._memory, SEQUENCE)) + 1

    def _broken_cache(self, happened: str) -> DecodeFailed:
        self._api.llama_memory_clear(self._memory, True)
        self.tokens.clear()
        return DecodeFailed(
            "Tried to go back in the context.", happened, "Send again; please report this."
        )

    def _decode_error(self, code: int, count: int, mark: int) -> DecodeFailed:
        log = self._log.errors(mark)
        detail = log[-1] if log else "nothing was logged"
        return DecodeFailed(
            f"Tried to decode {count} tokens at position {len(self.tokens)} of {self.n_ctx}.",
            f"llama.cpp answered {code}: {detail}.",
            "Use a smaller context, or fewer layers on the GPU.",
        )


def _require_room(model: Model, n_ctx: int) -> None:
    """Refuse a cache that this machine's memory cannot hold: filling it would end the process."""
    if model.devices or model.is_recurrent:
        return  # then the cache is on the device, or has no such size
    needed = model.kv_bytes(n_ctx)
    if needed > psutil.virtual_memory().available * (1 - MEMORY_KEPT_FREE):
        raise _too_large(model, n_ctx, [])


def _too_large(model: Model, n_ctx: int, log: list[str]) -> ContextTooLarge:
    needed = model.kv_bytes(n_ctx) / 2**30
    free = psutil.virtual_memory().available / 2**30
    happened = f"Its KV cache needs about {needed:.1f} GiB; {free:.1f} GiB of memory are free."
    if log:
        happened += f" llama.cpp says: {log[0].rstrip('.')}."
    return ContextTooLarge(
        f"Tried to make a context of {n_ctx:,} tokens for {model.path.name}.",
        happened,
        "Ask for a smaller one with --ctx.",
    )
