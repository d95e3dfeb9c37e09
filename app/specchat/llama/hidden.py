"""Hidden states: what a target's layers made of each token, for heads that guess from it."""

import ctypes
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from specchat.llama.context import Context
from specchat.llama.extension import Extension

States = npt.NDArray[np.float32]


class HiddenStates:
    """The rows that decodes of a context leave behind, one for each token or each output.

    Made right after its context: llama.cpp lays out its buffers by what is to be kept.

    Args:
        every_token: a row for each token; otherwise one for each row of logits, and in calls of
            several tokens only where all of them get one: the graphs of most heads give the first
            rows of the batch instead (`embeddings_nextn_masked` in src/llama-context.cpp).
    """

    def __init__(self, extension: Extension, context: Context, *, every_token: bool) -> None:
        self.width = context.model.n_embd_out
        self._extension = extension
        self._handle = context.handle
        extension.call("llama_set_embeddings_nextn", self._handle, True, not every_token)

    def rows(self, count: int) -> States:
        """The first rows of the last decode: a view, valid until the next one."""
        address = self._extension.call("llama_get_embeddings_nextn", self._handle)
        return _view(address, count, self.width)


def _view(pointer: Any, rows: int, width: int) -> States:
    address = ctypes.addressof(pointer.contents)
    buffer: Any = (ctypes.c_float * (rows * width)).from_address(address)
    view: States = np.frombuffer(buffer, np.float32)
    return view.reshape(rows, width)


class LayerInputs:
    """What goes into some of a target's layers, side by side: a row for each token of a decode.

    Args:
        layers: numbers of layers. The one after the last layer is its hidden state.

    The context's architecture has to give these out; with any other the next decode ends the
    process (`GIVES_LAYER_INPUTS`).
    """

    def __init__(self, extension: Extension, context: Context, layers: Sequence[int]) -> None:
        self._extension = extension
        self._handle = context.handle
        self._layers = layers
        self._n_layers = context.model.n_layers
        self._width = context.model.n_embd
        self.width = self._width * len(layers)
        for layer in layers:
            if layer < self._n_layers:
                extension.call("llama_set_embeddings_layer_inp", self._handle, layer, True)
            else:
                extension.call("llama_set_embeddings_nextn", self._handle, True, False)

    def rows(self, count: int) -> States:
        """The rows of the last decode, of all its tokens."""
        return np.concatenate([self._of(layer, count) for layer in self._layers], axis=1)

    def _of(self, layer: int, count: int) -> States:
        if layer < self._n_layers:
            address = self._extension.call("llama_get_embeddings_layer_inp", self._handle, layer)
        else:
            address = self._extension.call("llama_get_embeddings_nextn", self._handle)
        return _view(address, count, self._width)


class TargetStates(Protocol):
    """Hidden states of a target, by the tokens of its last decode."""

    width: int

    def rows(self, count: int) -> States:
        """Of the first tokens of it; valid until the next decode."""
        ...


class KeptStates:
    """The hidden states of the latest positions of a sequence, without a gap.

    Args:
        size: most rows that are kept.
    """

    def __init__(self, width: int, size: int) -> None:
        self._rows = np.zeros((size, width), np.float32)
        self._offset = 0
        """Where the row of position `first` is."""
        self.first = self.end = 0
        """Positions of the first row, and after the last one."""

    def room(self) -> int:
        """How many rows more can be kept."""
        return len(self._rows) - (self.end - self.first)

    def put(self, position: int, rows: States) -> None:
        """These rows follow; what was at this position or later is replaced.

        After a gap, or before the first row, nothing that was kept is of use.
        """
        if self.first <= position <= self.end:
            self.end = position
        else:
            self.first = self.end = position
        count = self.end - self.first
        if self._offset + count + len(rows) > len(self._rows):
            self._rows[:count] = self._rows[self._offset : self._offset + count]
            self._offset = 0
        start = self._offset + count
        self._rows[start : start + len(rows)] = rows
        self.end += len(rows)

    def of(self, start: int, end: int) -> States:
        """The rows of these positions, all of which are kept."""
        assert self.first <= start <= end <= self.end, (self.first, start, end, self.end)
        place = self._offset + start - self.first
        return self._rows[place : place + end - start]

    def forget_before(self, position: int) -> None:
        """Rows before this position are not needed again."""
        if position > self.first:
            dropped = min(position, self.end) - self.first
            self._offset += dropped
            self.first += dropped
