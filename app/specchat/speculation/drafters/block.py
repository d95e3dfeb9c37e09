"""Block drafters: DFlash and DSpark guess several tokens in one decode call.

DFlash fills a block of masked tokens at once, attending to features of the target's layers that
stand in its cache instead of the text. DSpark adds a head that lets each place see the most likely
token of the place before, and one that says how sure it is. llama.cpp's order of calls is in
common/speculative.cpp, its graphs in src/models/dflash.cpp.
"""

from collections.abc import Sequence
from time import perf_counter

from specchat.llama.context import Context, Logits, Outputs
from specchat.llama.feature_heads import BlockContext
from specchat.speculation.controller import LengthController, Reach
from specchat.speculation.distribution import Distribution
from specchat.speculation.drafters.base import Draft
from specchat.speculation.drafters.listening import ListeningDrafter


class BlockDrafter(ListeningDrafter):
    """Drafts a whole block with one call; how much of it is tested, the controller says.

    The places of a block know nothing of each other's draws, so that each token is drawn from a
    distribution of its own.
    """

    def __init__(self, target: Context, head: BlockContext) -> None:
        super().__init__(target, head, head.target_states)
        self._head = head

    @property
    def reach(self) -> Reach:
        """A block, in one call."""
        return Reach(longest=self._head.longest, at_once=True)

    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        """Read the features of what is new, then guess a block.

        Raises:
            Aborted: the abort flag was set.
        """
        pending, last = self.pending(ids), len(ids) - 1
        if not controller.start("model", None, pending):
            return Draft()
        started = perf_counter()
        self._cache.rollback(last)
        try:
            self._read(ids[:last])
            self._kept.forget_before(last)
            block = self._block(ids[last])
        finally:
            self._cache.rollback(last)  # masks are no text
        took_s = perf_counter() - started
        controller.spent("model", pending, took_s * 1e3)
        sure = self._head.confidences(len(block))
        tokens: list[int] = []
        rows: list[Distribution] = []
        for index in range(min(limit, len(block))):
            token, confidence = self._guesser.guess(block[index : index + 1], ids, tokens, rows)
            tokens.append(token)
            goes_on = controller.go_on(confidence if sure is None else sure[index])
            if not goes_on or token in self._end_tokens:
                break
        return Draft(tokens, rows or None, "model", took_s)

    def reusable(self, length: int) -> int:
        """All: what a place needs of the target is its own features, and they are read with it."""
        return length

    def _read(self, ids: Sequence[int]) -> None:
        for start in range(len(self._head.tokens), len(ids), self._head.n_batch):
            chunk = ids[start : start + self._head.n_batch]
            self._head.read(chunk, self._kept.of(start + 1, start + 1 + len(chunk)))

    def _block(self, last: int) -> Logits:
        """The rows of the block after the last token."""
        room = self._head.n_ctx - len(self._head.tokens)
        block = self._head.block(last)[:room]
        self._head.decode(block, Outputs.ALL)
        return self._head.rows(len(block))[self._head.first_row :]
