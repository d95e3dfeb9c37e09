"""Contexts of heads that read the inputs of some of their target's layers: EAGLE-3 and DFlash."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from specchat.architectures import GIVES_HIDDEN_STATES, GIVES_LAYER_INPUTS
from specchat.errors import DecodeFailed, UnsupportedModel
from specchat.llama.context import DECODE_ABORTED, DECODE_OK, Aborted, Context, Outputs
from specchat.llama.extension import FOR_LAYER_INPUTS, Extension
from specchat.llama.head import HeadContext
from specchat.llama.hidden import HiddenStates, LayerInputs, States
from specchat.llama.library import AbortFlag
from specchat.llama.memory import SEQUENCE
from specchat.llama.model import Model

EAGLE_BATCH = 128
"""Tokens to a call: llama.cpp makes a row of logits for each, whatever is asked for."""
EAGLE_LAYERS = 3
DEFAULT_BLOCK = 16
"""Tokens of a block where the file does not say."""
SECTIONED_ROPE = (8, 40)
"""`LLAMA_ROPE_TYPE_MROPE` and `_IMROPE` (llama.h): a state has four positions."""
SECTIONS = 4


class StateBatch:
    """A batch of hidden states without tokens."""

    def __init__(self, model: Model, size: int, width: int) -> None:
        self._api = api = model.library.api
        self.native = api.llama_batch_init(size, width, 1)
        self._states = np.ctypeslib.as_array(self.native.embd, (size * width,)).reshape(size, width)
        self._sections = (
            SECTIONS if api.llama_model_rope_type(model.handle) in SECTIONED_ROPE else 1
        )
        self._pointer = type(self.native.pos)
        # Its address: a pointer that ctypes reads out of a struct changes with the struct.
        self._llamas_own = ctypes.cast(self.native.pos, ctypes.c_void_p).value or 0
        self._buffer = (api.llama_pos * (size * self._sections))()
        self._positions = np.ctypeslib.as_array(self._buffer)
        self.native.pos = ctypes.cast(self._buffer, self._pointer)
        wants = np.ctypeslib.as_array(self.native.logits, (size,))
        self._wants_row = wants.view(np.int8)
        for index in range(size):
            self.native.n_seq_id[index] = 1
            self.native.seq_id[index][0] = SEQUENCE

    def fill(self, states: States, start: int, *, with_rows: bool) -> None:
        """States for the positions from `start` on."""
        count = len(states)
        self._states[:count] = states
        for section in range(self._sections):
            place = slice(section * count, (section + 1) * count)
            last = section > 0 and section == self._sections - 1
            self._positions[place] = 0 if last else np.arange(start, start + count)
        self._wants_row[:count] = with_rows
        self.native.n_tokens = count

    def close(self) -> None:
        """Free it."""
        self.native.pos = ctypes.cast(self._llamas_own, self._pointer)  # ours is not its to free
        self._api.llama_batch_free(self.native)


class EagleContext(HeadContext):
    """The KV cache of an EAGLE-3 head."""

    def __init__(
        self, model: Model, target: Context, extension: Extension, *, abort: AbortFlag
    ) -> None:
        layers = target_layers(model, extension)
        super().__init__(model, target, extension, n_outputs=1, abort=abort)
        self.target_states = LayerInputs(extension, target, layers)
        self._features = StateBatch(model, self.n_batch, self.target_states.width)

    def encode(self, features: States) -> States:
        """One state of what three of the target's layers made of each token.

        Raises:
            Aborted: the abort flag was set.
            DecodeFailed: llama.cpp refused or failed.
        """
        if self._abort.is_set:
            raise Aborted
        # The positions mean nothing, but llama.cpp wants them to follow those in the cache.
        self._features.fill(features, len(self.tokens), with_rows=True)
        mark = self._log.mark()
        code = self._api.llama_encode(self.handle, self._features.native)
        if code == DECODE_ABORTED:
            raise Aborted
        if code != DECODE_OK:
            raise _failed("encode", self._log.errors(mark))
        return self.states(len(features)).copy()

    def rehearse(self, n_tokens: int, outputs: Outputs) -> None:
        """As `Context.rehearse`: a state is made of features, then goes in with its token."""
        self.encode(np.zeros((n_tokens, self.target_states.width), np.float32))
        super().rehearse(n_tokens, outputs)

    def close(self) -> None:
        """Free the cache and its buffers."""
        if self.handle:
            self._features.close()
        super().close()

    def _adapt(self, params: Any) -> None:
        params.ctx_other = self._target.handle
        params.n_batch = params.n_ubatch = min(params.n_ubatch, EAGLE_BATCH)
        self.n_batch = params.n_batch


class BlockContext(Context):
    """The cache of a DFlash or DSpark drafter: features of the target's text, then a block.

    Args:
        is_dspark: the file has a Markov head.
        has_confidence: it has a confidence head too.
    """

    ATTENTION_ALONE = True

    def __init__(
        self,
        model: Model,
        target: Context,
        extension: Extension,
        *,
        abort: AbortFlag,
        is_dspark: bool,
        has_confidence: bool,
    ) -> None:
        layers = target_layers(model, extension)
        self._target = target
        self._block_size = int(model.metadata("dflash.block_size") or DEFAULT_BLOCK)
        anchored = is_dspark and model.metadata("dflash.sample_from_anchor") != "false"
        self.first_row = 0 if anchored else 1
        """The row of a block that holds the first guess: the last token's own, or the next."""
        self.longest = self._block_size - self.first_row
        """Most tokens that a block guesses."""
        self._mask = model.vocabulary.mask
        super().__init__(
            model,
            n_ctx=target.n_ctx,
            n_outputs=self._block_size,
            n_threads=target.n_threads,
            abort=abort,
        )
        self._hidden = HiddenStates(extension, self, every_token=False)
        self._has_confidence = has_confidence
        causal = model.metadata("dflash.attention.causal") == "true"
        self._api.llama_set_causal_attn(self.handle, causal)
        self.target_states = LayerInputs(extension, target, layers)
        self._features = StateBatch(model, self.n_batch, self.target_states.width)

    def block(self, last: int) -> list[int]:
        """The last token and the masked ones after it; never longer, or its heads fall silent."""
        return [last, *[self._mask] * (self._block_size - 1)]

    def read(self, tokens: Sequence[int], features: States) -> None:
        """Append what stands for these tokens: features of the target's layers.

        Raises:
            Aborted: the abort flag was set.
            DecodeFailed: llama.cpp refused or failed.
        """
        if self._abort.is_set:
            raise Aborted
        start = len(self.tokens)
        self._features.fill(features, start, with_rows=False)
        mark = self._log.mark()
        self._rows_made = 0
        code = self._api.llama_decode(self.handle, self._features.native)
        self.tokens += tokens
        if code != DECODE_OK:
            self.rollback(start)
            if code == DECODE_ABORTED:
                raise Aborted
            raise _failed("read", self._log.errors(mark))
        self._api.llama_synchronize(self.handle)
        self.memory.decoded(len(tokens))

    def rehearse(self, n_tokens: int, outputs: Outputs) -> None:
        """As `Context.rehearse`: features of all tokens but the last, then a block."""
        token, further = max(0, self.model.vocabulary.bos), n_tokens - 1
        if further:
            features = np.zeros((further, self.target_states.width), np.float32)
            self.read([token] * further, features)
        self.decode(self.block(token), Outputs.ALL)

    def confidences(self, count: int) -> list[float] | None:
        """How sure the head is of each guess of the last block; None without such a head."""
        if not self._has_confidence:
            return None
        first = self.first_row
        sure: list[float] = self._hidden.rows(first + count)[first:, 0].tolist()
        return sure

    def close(self) -> None:
        """Free the cache and its buffers."""
        if self.handle:
            self._features.close()
        super().close()

    def _adapt(self, params: Any) -> None:
        params.ctx_other = self._target.handle
        # Attention that sees ahead needs its whole call in one micro-batch.
        params.n_batch = params.n_ubatch = max(params.n_ubatch, self._block_size)
        self.n_batch = params.n_batch


def target_layers(model: Model, extension: Extension) -> list[int]:
    """The layers of its target that a head reads."""
    count = extension.call("llama_model_target_layer_ids_n", model.handle)
    ids = extension.call("llama_model_target_layer_ids", model.handle)
    return [int(ids[index]) for index in range(count)]


def make_eagle_context(
    model: Model, target: Context, extension: Extension, *, abort: AbortFlag
) -> EagleContext:
    """The context of an EAGLE-3 head beside its target's.

    Raises:
        UnsupportedModel: this build cannot run it, or it is not this target's.
        ContextTooLarge: the cache does not fit into memory.
    """
    _require_fit(model, target.model, extension)
    return EagleContext(model, target, extension, abort=abort)


def make_block_context(
    model: Model,
    target: Context,
    extension: Extension,
    *,
    abort: AbortFlag,
    is_dspark: bool,
    has_confidence: bool,
) -> BlockContext:
    """The context of a block drafter beside its target's.

    Raises:
        UnsupportedModel: this build cannot run it, or it is not this target's.
        ContextTooLarge: the cache does not fit into memory.
    """
    _require_fit(model, target.model, extension)
    return BlockContext(
        model,
        target,
        extension,
        abort=abort,
        is_dspark=is_dspark,
        has_confidence=has_confidence,
    )


def _require_fit(model: Model, target: Model, extension: Extension) -> None:
    tried = f"Tried to draft with {model.path.name} for {target.path.name}."
    extension.require(FOR_LAYER_INPUTS, tried)
    problem = _why_not(model, target, extension)
    if problem is not None:
        raise UnsupportedModel(tried, problem, "Choose a draft that was made for this model.")


def _why_not(model: Model, target: Model, extension: Extension) -> str | None:
    layers, eagle = target_layers(model, extension), model.architecture == "eagle3"
    if target.architecture not in GIVES_LAYER_INPUTS:
        return f"llama.cpp does not give out what goes into the layers of {target.architecture}."
    if eagle and len(layers) != EAGLE_LAYERS:
        return f"It reads {len(layers)} layers of its target, where EAGLE-3 reads {EAGLE_LAYERS}."
    read_after = target.n_layers if eagle and target.architecture in GIVES_HIDDEN_STATES else -1
    beyond = [layer for layer in layers if layer >= target.n_layers and layer != read_after]
    if not layers or min(layers) < 0 or beyond:
        return f"It reads layers {layers} of its target, and this one has {target.n_layers}."
    made_for = int(model.metadata("eagle3.target_hidden_size") or model.n_embd)
    if made_for != target.n_embd:
        return (
            f"It was made for a target of width {made_for:,}, and this one has {target.n_embd:,}."
        )
    if not eagle and model.vocabulary.mask < 0:
        return "Its file does not name the token that stands for a guess."
    if not eagle and extension.call("llama_model_dflash_selector_top_k", model.handle) > 0:
        return "It chooses among candidates (DFlash 2), which this version cannot do."
    return None


def _failed(what: str, log: list[str]) -> DecodeFailed:
    return DecodeFailed(
        f"Tried to {what} hidden states of the target.",
        f"llama.cpp says: {log[-1] if log else 'nothing'}.",
        "Leave the draft out, and please report this.",
    )
