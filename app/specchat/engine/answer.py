"""One answer in the making: from the prompt's tokens to `Finished`."""

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from specchat.engine.protocol import (
    DrafterName,
    Event,
    Finished,
    FinishReason,
    Generate,
    PromptProgress,
    Round,
)
from specchat.errors import PromptTooLong
from specchat.llama.context import Aborted
from specchat.speculation import decoder as speculation
from specchat.speculation.controller import FixedLength
from specchat.speculation.decoder import Decoder
from specchat.speculation.metrics import Meter
from specchat.speculation.sampling import Sampler
from specchat.speculation.text import TextStream

Emit = Callable[[Event], None]


class Answer:
    """Runs one request and tells of it.

    Raises:
        InvalidSetting: the rule does not go with the sampling.
        PromptTooLong: the context cannot hold the prompt and one token more.
    """

    def __init__(
        self,
        request: Generate,
        *,
        prompt: Sequence[int],
        decoder: Decoder,
        drafter: DrafterName,
        draft_length: int,
    ) -> None:
        self._started = perf_counter()
        self._request = request
        self._prompt = prompt
        self._decoder = decoder
        self._drafter = drafter
        self._rule = request.speculation.effective_rule(request.sampling)
        self._controller = FixedLength(draft_length)
        self._vocabulary = decoder.target.model.vocabulary
        self._text = TextStream(self._vocabulary.piece, request.stop)
        self._meter = Meter(len(prompt), draft_length)
        seed = request.sampling.seed
        self._seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        _require_fit(prompt, decoder.target.n_ctx)

    def run(self, emit: Emit) -> Finished:
        """Prefill and decode to the end, with events on the way; an abort ends it too."""
        try:
            self._prefill(emit)
            reason = self._decode(emit)
        except Aborted:
            reason = "cancelled"
        return self._finished(reason)

    def _prefill(self, emit: Emit) -> None:
        total = len(self._prompt)
        for reused, done in self._decoder.prefill(self._prompt):
            self._meter.reused_tokens = reused
            emit(
                PromptProgress(
                    id=self._request.id, done=done - reused, total=total - reused, reused=reused
                )
            )

    def _decode(self, emit: Emit) -> FinishReason:
        rounds = self._decoder.rounds(
            Sampler(self._request.sampling, self._vocabulary.suppressed),
            self._rule,
            self._controller,
            np.random.default_rng(self._seed),
            self._request.max_tokens,
        )
        for step in rounds:
            new_text = self._text.add(step.tokens)
            self._count(step)
            emit(
                Round(
                    id=self._request.id,
                    text=new_text,
                    tokens=tuple(step.tokens),
                    drafted=step.drafted,
                    accepted=step.accepted,
                    reason=self._controller.reason,
                    n_past=len(self._decoder.target.tokens),
                    figures=self._meter.figures(),
                )
            )
            if step.ended or self._text.stopped:
                rounds.close()
                return "stop"
        return "length"

    def _count(self, step: speculation.Round) -> None:
        self._meter.add_round(
            drafted=step.drafted,
            accepted=step.accepted,
            emitted=len(step.tokens),
            round_s=step.round_s,
            draft_s=step.draft_s,
            verify_s=step.verify_s,
        )
        if self._meter.rounds == 1:
            self._meter.time_to_first_token_s = perf_counter() - self._started

    def _finished(self, reason: FinishReason) -> Finished:
        # Tokens of a stop string are not part of the answer.
        tokens = self._decoder.ids[len(self._prompt) :][: self._text.kept_tokens]
        self._meter.emitted = len(tokens)
        tail = self._text.finish()
        return Finished(
            id=self._request.id,
            finish_reason=reason,
            text=self._text.text,
            tail=tail,
            tokens=tuple(tokens),
            n_past=len(self._decoder.target.tokens),
            seed=self._seed,
            rule=self._rule,
            drafter=self._drafter,
            draft_length=self._controller.length,
            figures=self._meter.figures(),
        )


def _require_fit(prompt: Sequence[int], n_ctx: int) -> None:
    if len(prompt) > n_ctx:
        raise PromptTooLong(
            "Tried to answer the conversation.",
            f"It has {len(prompt):,} tokens, and the context holds {n_ctx:,}.",
            "Shorten it, start a new chat, or ask for a larger context with --ctx.",
        )
