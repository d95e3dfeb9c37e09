"""What a context remembers of its tokens, and the one way back to fewer of them.

How far llama.cpp can go back depends on the kind of memory, and where it cannot it often says that
it did: a snapshot older than the last decode call and a window that has moved on both answer True
and continue from garbage. So what is valid is known here, and nothing else is asked for.
"""

import ctypes
from time import perf_counter
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from specchat.llama.model import Model

SteppingBack = Literal["cache", "window", "snapshots", "checkpoints"]
"""How tokens are taken back. `cache`: every token has cells of its own, which are dropped.
`window`: the same while the sliding window still holds what comes before. `snapshots`: the states
after each token of the last decode call are kept. `checkpoints`: a state is kept from time to time,
and the tokens after it are decoded again."""

SEQUENCE, MARK = 0, 1
"""The sequence of the chat, and the one that holds a recurrent state to come back to."""
NOWHERE = 2**31 - 1
"""A range of positions that no cell lies in."""
CHECKPOINT_BYTES = 2**29
"""Main memory for the states of earlier turns; the newest one is kept whatever its size."""


class Checkpoint(NamedTuple):
    """A recurrent state in main memory."""

    length: int
    """Tokens that it has seen."""
    state: npt.NDArray[np.uint8]


class ContextMemory:
    """The memory of one sequence of tokens, told of every decode call.

    Args:
        handle: a `llama_context`.
        keeps_state: layers of it keep one state for all tokens.
        whole_window: sliding-window layers keep all tokens (`swa_full`).
        can_mark: the context has room for a second sequence, in one cache with the first.
        checkpoint_bytes: main memory for states of earlier turns.
    """

    def __init__(
        self,
        model: Model,
        handle: Any,
        *,
        keeps_state: bool,
        whole_window: bool,
        can_mark: bool,
        checkpoint_bytes: int = CHECKPOINT_BYTES,
    ) -> None:
        self._api = api = model.library.api
        self._context = handle
        self._memory = api.llama_get_memory(handle)
        self._window: int = 0 if whole_window else api.llama_model_n_swa(model.handle)
        self.n_snapshots: int = api.llama_n_rs_seq(handle)
        """Snapshots that llama.cpp granted, whatever was asked for."""
        self.kind: SteppingBack = "cache"
        if keeps_state:
            self.kind = "snapshots" if self.n_snapshots else "checkpoints"
        elif self._window:
            self.kind = "window"
        self._can_mark = can_mark and self.kind == "checkpoints"
        self._mark: int = 0
        self._valid_snapshots = 0
        self.checkpoint_bytes = checkpoint_bytes
        self.copy_s = 0.0
        """Seconds in which states were copied to main memory, or from there, so far."""
        self._checkpoints: list[Checkpoint] = []

    @property
    def keeps_state(self) -> bool:
        """Whether layers keep one state for all tokens, of which none can be taken out."""
        return self.kind in ("snapshots", "checkpoints")

    @property
    def length(self) -> int:
        """Tokens in it, as llama.cpp counts them."""
        return int(self._api.llama_memory_seq_pos_max(self._memory, SEQUENCE)) + 1

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """The lengths that states were saved at, ascending."""
        return tuple(checkpoint.length for checkpoint in self._checkpoints)

    def decoded(self, n_tokens: int) -> None:
        """A decode call has gone through.

        llama.cpp keeps the last tokens of a call in one micro-batch, so that their snapshots are
        of this call; older slots hold what earlier calls left there.
        """
        self._valid_snapshots = min(self.n_snapshots, n_tokens - 1)

    def mark(self, length: int) -> None:
        """Keep the state as it is now, after `length` tokens, for the next steps back.

        A second sequence takes part in it, and the next decode call writes elsewhere: nothing is
        copied. Of the KV cache nothing has to be kept, its cells are still there.
        """
        if not self._can_mark or length == self._mark or length == 0:
            return
        self._forget_mark()
        self._api.llama_memory_seq_cp(self._memory, SEQUENCE, MARK, NOWHERE, NOWHERE)
        self._mark = length

    def save(self, length: int) -> None:
        """Copy the state after `length` tokens to main memory, for later turns."""
        if not self.keeps_state or length == 0 or length in self.checkpoints:
            return
        started = perf_counter()
        flags = self._api.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
        size = self._api.llama_state_seq_get_size_ext(self._context, SEQUENCE, flags)
        state = np.empty(size, np.uint8)
        written = self._api.llama_state_seq_get_data_ext(
            self._context, _address(state), size, SEQUENCE, flags
        )
        self.copy_s += perf_counter() - started
        if written != size:
            return
        self._checkpoints.append(Checkpoint(length, state))
        while len(self._checkpoints) > 1 and self.saved_bytes > self.checkpoint_bytes:
            del self._checkpoints[0]

    @property
    def saved_bytes(self) -> int:
        """Main memory that the saved states take."""
        return sum(checkpoint.state.nbytes for checkpoint in self._checkpoints)

    def go_back(self, length: int, wanted: int) -> int:
        """Forget the tokens from position `wanted` on, of `length`.

        Returns:
            How many tokens are left: at most `wanted`; 0 where nothing nearer was kept.
        """
        dropped = wanted > 0 and self._drops_tail(length, wanted)
        return self._left(wanted if dropped else self._restore(wanted))

    def recover(self, length: int) -> int:
        """After a decode call that broke off: half a step of a recurrent state is no state.

        Returns:
            How many of the first `length` tokens are left.
        """
        return self._left(self._restore(length)) if self.keeps_state else length

    def clear(self) -> None:
        """Forget everything."""
        self._api.llama_memory_clear(self._memory, self.keeps_state)
        self._mark = self._valid_snapshots = 0
        self._checkpoints.clear()

    def _left(self, length: int) -> int:
        """What was kept of later tokens is of no use any more."""
        self._valid_snapshots = 0
        self._checkpoints = [kept for kept in self._checkpoints if kept.length <= length]
        if self._mark > length:
            self._forget_mark()
        return length

    def _drops_tail(self, length: int, wanted: int) -> bool:
        """Let llama.cpp drop the tail, where what is left is known to be right."""
        if self.kind == "checkpoints":
            return False
        if self.kind == "snapshots" and length - wanted > self._valid_snapshots:
            return False
        if self._window:
            first = self._api.llama_memory_seq_pos_min(self._memory, SEQUENCE)
            if first > max(0, wanted - self._window):
                return False  # the window before the new end has gone
        return bool(self._api.llama_memory_seq_rm(self._memory, SEQUENCE, wanted, -1))

    def _restore(self, wanted: int) -> int:
        """Come back to the nearest state that was kept at or before `wanted`."""
        saved = [checkpoint for checkpoint in self._checkpoints if checkpoint.length <= wanted]
        newest = saved[-1].length if saved else 1
        mark = self._mark
        if newest <= mark <= wanted and self._return_to_mark():
            return mark
        for checkpoint in reversed(saved):
            if self._load(checkpoint):
                return checkpoint.length
        self.clear()
        return 0

    def _return_to_mark(self) -> bool:
        self._api.llama_memory_seq_cp(self._memory, MARK, SEQUENCE, NOWHERE, NOWHERE)
        return self._drop_cells_from(self._mark)

    def _load(self, checkpoint: Checkpoint) -> bool:
        self._forget_mark()
        started = perf_counter()
        flags = self._api.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
        size = checkpoint.state.nbytes
        read = self._api.llama_state_seq_set_data_ext(
            self._context, _address(checkpoint.state), size, SEQUENCE, flags
        )
        self.copy_s += perf_counter() - started
        return bool(read == size) and self._drop_cells_from(checkpoint.length)

    def _drop_cells_from(self, length: int) -> bool:
        """The KV cells of a hybrid; its state is there already, and nothing of it is dropped."""
        removed = self._api.llama_memory_seq_rm(self._memory, SEQUENCE, length, -1)
        return bool(removed) and self.length == length

    def _forget_mark(self) -> None:
        if self._mark:
            self._api.llama_memory_seq_rm(self._memory, MARK, -1, -1)
            self._mark = 0


def _address(state: npt.NDArray[np.uint8]) -> Any:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
