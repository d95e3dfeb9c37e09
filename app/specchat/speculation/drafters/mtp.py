"""MTP heads: trained layers that guess from the target's own hidden states.

After multi-token prediction (Gloeckle et al. 2024, arXiv 2404.19737) as DeepSeek-V3 trains it
(arXiv 2412.19437, section 2.2): a head reads a token together with the hidden state of the token
before, and says what comes next. llama.cpp's order of calls is in common/speculative.cpp.
"""

from collections.abc import Sequence

import numpy as np

from specchat.llama.context import Context, Logits, Outputs
from specchat.llama.head import ChainedHeadContext, HeadContext, SharedHeadContext
from specchat.llama.hidden import HiddenStates, States
from specchat.speculation.controller import Reach
from specchat.speculation.drafters.listening import SteppingDrafter


class MtpDrafter(SteppingDrafter):
    """Drafts with one head, which goes on from its own hidden state after its first token."""

    def __init__(self, target: Context, head: HeadContext) -> None:
        super().__init__(target, head, HiddenStates(head.extension, target, every_token=True))
        self._head = head

    def _read(self, ids: Sequence[int]) -> None:
        for start in range(len(self._head.tokens), len(ids), self._head.n_batch):
            chunk = ids[start : start + self._head.n_batch]
            self._head.read(chunk, self._kept.of(start, start + len(chunk)), Outputs.NONE)

    def _next(self, ids: Sequence[int], tokens: Sequence[int]) -> Logits:
        last = len(ids) - 1
        if tokens:
            self._head.read(tokens[-1:], self._head.states(1), Outputs.LAST)
        else:
            self._head.read(ids[last:], self._kept.of(last, last + 1), Outputs.LAST)
        return self._head.rows(1)


class ChainedMtpDrafter(MtpDrafter):
    """Drafts with several heads, each trained to guess one token further.

    The head for the i-th guess reads the whole draft before it.
    """

    def __init__(self, target: Context, head: ChainedHeadContext) -> None:
        super().__init__(target, head)
        self._heads = head
        self._chain: list[States] = []

    @property
    def reach(self) -> Reach:
        """As many tokens as there are heads."""
        return Reach(longest=self._heads.model.n_mtp_heads, rereads=True)

    def _read(self, ids: Sequence[int]) -> None:
        for start in range(len(self._head.tokens), len(ids), self._head.n_batch):
            chunk = ids[start : start + self._head.n_batch]
            self._heads.read_by_all(chunk, self._kept.of(start, start + len(chunk)))

    def _next(self, ids: Sequence[int], tokens: Sequence[int]) -> Logits:
        last, count = len(ids) - 1, len(tokens) + 1
        if tokens:
            self._chain.append(self._head.states(count - 1)[-1].copy())
        else:
            self._chain = [self._kept.of(last, last + 1)[0].copy()]
        self._head.rollback(last)
        self._head.select(len(tokens))
        self._head.read([ids[last], *tokens], np.stack(self._chain), Outputs.ALL)
        return self._head.rows(count)[-1:]

    def _forget_guesses(self, last: int) -> None:
        self._head.select(0)
        self._head.rollback(last)


class SharedMtpDrafter(MtpDrafter):
    """Drafts with a head that attends to its target's cells (Gemma 4): it never reads on its own.

    What it would have to be told is in the cells already, up to the last token.
    """

    def pending(self, ids: Sequence[int]) -> int:
        """Nothing but the last token."""
        return 1

    def _agree(self, start: int, tokens: Sequence[int]) -> None:
        """It has read nothing."""

    def _read(self, ids: Sequence[int]) -> None:
        """It reads nothing."""


def make_mtp_drafter(target: Context, head: HeadContext) -> MtpDrafter:
    """The drafter for these heads."""
    if isinstance(head, SharedHeadContext):
        return SharedMtpDrafter(target, head)
    if isinstance(head, ChainedHeadContext):
        return ChainedMtpDrafter(target, head)
    return MtpDrafter(target, head)
