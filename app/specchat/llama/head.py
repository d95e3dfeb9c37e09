"""The context of a trained head: tokens go in together with hidden states of its target."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from specchat.architectures import GIVES_HIDDEN_STATES, RUNS_MTP, SHARES_CELLS
from specchat.errors import UnsupportedModel
from specchat.llama.context import Context, Outputs
from specchat.llama.extension import FOR_CHAINED_HEADS, FOR_MTP, Extension
from specchat.llama.hidden import HiddenStates, States
from specchat.llama.library import AbortFlag
from specchat.llama.model import Model

MTP_CONTEXT = 1
"""`LLAMA_CONTEXT_TYPE_MTP` (llama.h)."""


class HeadContext(Context):
    """The KV cache of a head that reads its target's hidden states.

    Args:
        model: the target itself, if the head is in its file, or the head's own file.
        target: whose hidden states it reads; closed after this one.

    Raises:
        ContextTooLarge: the cache does not fit into memory.
    """

    ATTENTION_ALONE = True  # that is what heads are made of

    def __init__(
        self,
        model: Model,
        target: Context,
        extension: Extension,
        *,
        n_outputs: int,
        abort: AbortFlag,
    ) -> None:
        self._target = target
        self._width = model.n_embd_out
        super().__init__(
            model, n_ctx=target.n_ctx, n_outputs=n_outputs, n_threads=target.n_threads, abort=abort
        )
        self.extension = extension
        self._hidden = HiddenStates(extension, self, every_token=False)

    def read(self, tokens: Sequence[int], states: States, outputs: Outputs) -> None:
        """Append tokens, each with the hidden state that goes with it.

        Args:
            outputs: of several tokens `NONE` or `ALL`; the states of others cannot be read.

        Raises:
            Aborted: the abort flag was set.
            DecodeFailed: llama.cpp refused or failed.
        """
        assert outputs is not Outputs.LAST or len(tokens) == 1
        self._states[: len(tokens)] = states
        self.decode(tokens, outputs)

    def rehearse(self, n_tokens: int, outputs: Outputs) -> None:
        """As `Context.rehearse`, with hidden states of no meaning."""
        self._states[:n_tokens] = 0
        super().rehearse(n_tokens, outputs)

    def states(self, count: int) -> States:
        """The head's own hidden states after the last decode, one for each row of logits."""
        return self._hidden.rows(count)

    def select(self, head: int) -> None:
        """Which of several heads the next decodes run."""
        self.extension.call("llama_set_nextn_layer_offset", self.handle, head)

    def close(self) -> None:
        """Free the cache and its buffers."""
        if self.handle:
            self._batch.token = type(self._batch.token)()  # ours, not llama.cpp's to free
        super().close()

    def _adapt(self, params: Any) -> None:
        params.ctx_type = MTP_CONTEXT
        params.ctx_other = self._target.handle

    def _make_batch(self) -> Any:
        """Tokens and hidden states side by side; llama.cpp itself makes one or the other."""
        batch = self._api.llama_batch_init(self.n_batch, self._width, 1)
        self._own_tokens = (self._api.llama_token * self.n_batch)()
        batch.token = self._own_tokens
        self._states: States = np.ctypeslib.as_array(batch.embd, (self.n_batch * self._width,))
        self._states = self._states.reshape(self.n_batch, self._width)
        return batch


class ChainedHeadContext(HeadContext):
    """The context of several heads, each trained to guess one token further.

    Every head is a layer with keys and values of its own in the same cells, so that each of them
    reads every token.
    """

    def read_by_all(self, tokens: Sequence[int], states: States) -> None:
        """Append tokens to the cells of every head.

        Raises:
            Aborted: the abort flag was set; no head has read them.
            DecodeFailed: llama.cpp refused or failed.
        """
        start = len(self.tokens)
        try:
            for head in range(self.model.n_mtp_heads):
                self.rollback(start)
                self.select(head)
                self.read(tokens, states, Outputs.NONE)
        except BaseException:
            self.rollback(start)  # some heads have not read it
            raise
        finally:
            self.select(0)

    def rehearse(self, n_tokens: int, outputs: Outputs) -> None:
        """As `Context.rehearse`, for a first guess: all heads read, and the first one guesses."""
        if n_tokens > 1:
            further = n_tokens - 1
            token = max(0, self.model.vocabulary.bos)
            self.read_by_all([token] * further, np.zeros((further, self._width), np.float32))
        super().rehearse(1, outputs)

    def rehearse_guess(self, number: int) -> None:
        """The decode call of a later guess, the second or one after it."""
        self.select(number - 1)
        try:
            super().rehearse(number, Outputs.ALL)
        finally:
            self.select(0)


class SharedHeadContext(HeadContext):
    """The context of a head that attends to its target's own cells and has none itself.

    So nothing is read before it guesses, nothing stays, and every guess of a round is made at the
    position after the target's last cell (llama.cpp's src/models/gemma4-assistant.cpp).
    """

    def decode(self, tokens: Sequence[int], outputs: Outputs, *, without_row: int = 0) -> None:
        """As `Context.decode`, after whatever the target holds."""
        self.tokens = list(self._target.tokens)
        super().decode(tokens, outputs, without_row=without_row)

    def rollback(self, length: int) -> int:
        """The cells are the target's to drop."""
        del self.tokens[length:]
        return len(self.tokens)


def make_mtp_context(
    model: Model, target: Context, extension: Extension, *, abort: AbortFlag
) -> HeadContext:
    """The context of the MTP heads in a file, beside their target's.

    Raises:
        UnsupportedModel: this build cannot run them, or they are not this target's.
        ContextTooLarge: the cache does not fit into memory.
    """
    name = target.model.path.name
    source = "its own MTP heads" if model is target.model else model.path.name
    tried = f"Tried to draft with {source} for {name}."
    problem = _why_no_mtp(model, target.model)
    if problem is not None:
        raise UnsupportedModel(tried, problem, "Leave the heads out, or choose others.")
    chained = model.n_mtp_heads > 1 and model.architecture not in SHARES_CELLS
    extension.require(FOR_CHAINED_HEADS if chained else FOR_MTP, tried)
    if model.architecture in SHARES_CELLS:
        return SharedHeadContext(model, target, extension, n_outputs=1, abort=abort)
    if chained:
        n_outputs = model.n_mtp_heads + 1
        return ChainedHeadContext(model, target, extension, n_outputs=n_outputs, abort=abort)
    return HeadContext(model, target, extension, n_outputs=1, abort=abort)


def _why_no_mtp(model: Model, target: Model) -> str | None:
    if target.architecture not in GIVES_HIDDEN_STATES:
        return f"llama.cpp does not give out the hidden states of {target.architecture}."
    if model.architecture not in RUNS_MTP:
        return f"llama.cpp has no way to run MTP heads of {model.architecture}."
    if not model.has_mtp or model.n_mtp_heads == 0:
        return "No MTP heads were loaded."
    of = SHARES_CELLS.get(model.architecture, target.architecture)
    if of != target.architecture:
        return f"They are heads for {of}, and the target is {target.architecture}."
    if model.n_embd_out != target.n_embd_out:
        return (
            f"They were made for a target of width {model.n_embd_out:,}, "
            f"and this one has {target.n_embd_out:,}."
        )
    return None
