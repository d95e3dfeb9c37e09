"""EAGLE-3: a small layer that guesses from three of the target's layers.

Li et al. 2025, "EAGLE-3: Scaling up Inference Acceleration of Large Language Models via
Training-Time Test" (arXiv 2503.01840). Features of three layers become one state; the head reads a
token together with the state of the token before. llama.cpp's order of calls is in
common/speculative.cpp.
"""

from collections.abc import Sequence

from specchat.llama.context import Context, Logits, Outputs
from specchat.llama.feature_heads import EagleContext
from specchat.speculation.drafters.listening import SteppingDrafter


class Eagle3Drafter(SteppingDrafter):
    """Drafts with an EAGLE-3 head, which goes on from its own hidden state.

    The pair of the token at p and the state before it has its place at p - 1, so that the first
    token of a text is never read.
    """

    SKIPPED = 1

    def __init__(self, target: Context, head: EagleContext) -> None:
        super().__init__(target, head, head.target_states)
        self._head = head

    def _read(self, ids: Sequence[int]) -> None:
        for place in range(len(self._head.tokens), len(ids) - 1, self._head.n_batch):
            chunk = ids[place + 1 : place + 1 + self._head.n_batch]
            states = self._head.encode(self._kept.of(place + 1, place + 1 + len(chunk)))
            self._head.read(chunk, states, Outputs.NONE)

    def _next(self, ids: Sequence[int], tokens: Sequence[int]) -> Logits:
        last = len(ids) - 1
        if tokens:
            self._head.read(tokens[-1:], self._head.states(1), Outputs.LAST)
        else:
            state = self._head.encode(self._kept.of(last, last + 1))
            self._head.read(ids[last:], state, Outputs.LAST)
        return self._head.rows(1)
