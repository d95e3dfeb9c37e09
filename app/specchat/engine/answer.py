"""One answer in the making: from the prompt's tokens to `Finished`."""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter

import numpy as np

from specchat.engine.alarms import AnswerFacts, alarms
from specchat.engine.drafter_names import DrafterName, what_drafts
from specchat.engine.protocol import (
    Event,
    Finished,
    FinishReason,
    Generate,
    Notice,
    PromptProgress,
    Round,
)
from specchat.engine.thinking import opened_by
from specchat.errors import PromptTooLong
from specchat.llama.context import Aborted, Context
from specchat.neighbours import Watch
from specchat.speculation import decoder as speculation
from specchat.speculation.controller import LengthController, Reason
from specchat.speculation.decoder import Decoder
from specchat.speculation.drafters.base import Drafter
from specchat.speculation.metrics import Figures, Meter
from specchat.speculation.sampling import Sampler
from specchat.speculation.text import TextStream

Emit = Callable[[Callable[[], Event]], None]
"""Takes what makes an event: it is made and sent beside the decoding, and in order."""


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
        left_out: int,
        target: Context,
        drafter: Drafter | None,
        drafter_name: DrafterName,
        controller: LengthController,
        longest: int,
        watch: Watch,
    ) -> None:
        self._started = perf_counter()
        self._request = request
        self._prompt = prompt
        self._left_out = left_out
        self._drafter_name = drafter_name
        self._rule = request.speculation.effective_rule(request.sampling)
        self._controller = controller
        seed = request.sampling.seed
        self._seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        vocabulary = target.model.vocabulary
        self._decoder = Decoder(
            target,
            drafter,
            Sampler(request.sampling, vocabulary.suppressed),
            self._rule,
            controller,
            self._seed,
            with_log_probabilities=request.log_probabilities,
        )
        self._text = TextStream(vocabulary.piece, request.stop)
        opened = opened_by(vocabulary, prompt)
        self._opened = opened.name if opened else None
        self._meter = Meter(len(prompt), longest)
        self._log_probabilities: list[float] = []
        self._model_tested = self._model_accepted = 0
        self._watch = watch
        _require_fit(prompt, target.n_ctx, left_out)

    def run(self, emit: Emit) -> None:
        """Prefill and decode to the end, with events on the way; an abort ends it too."""
        try:
            self._prefill(emit)
            reason = self._decode(emit)
        except Aborted:
            reason = "cancelled"
        target = self._decoder.target
        full = reason == "length" and len(self._decoder.ids) > target.n_ctx
        emit(partial(self._finished, reason, len(target.tokens), full))

    def _prefill(self, emit: Emit) -> None:
        total, memory = len(self._prompt), self._decoder.target.memory
        copied_before_s = memory.copy_s
        for reused, done in self._decoder.prefill(self._prompt):
            emit(partial(self._read, done - reused, total - reused, reused))
        self._meter.state_copy_s = memory.copy_s - copied_before_s

    def _decode(self, emit: Emit) -> FinishReason:
        target, controller = self._decoder.target, self._controller
        text: str | None = None
        rounds = self._decoder.rounds(self._request.max_tokens)
        for step in rounds:
            if self._request.stop:  # then the text decides whether to go on
                text = self._text.add(step.tokens)
            now = perf_counter()
            emit(partial(self._told, step, text, controller.reason, len(target.tokens), now))
            if step.ended or (text is not None and self._text.stopped):
                rounds.close()
                return "stop"
        return "length"

    # From here on: what makes the events, beside the decoding of later rounds.

    def _read(self, done: int, total: int, reused: int) -> PromptProgress:
        self._meter.reused_tokens = reused
        return PromptProgress(
            id=self._request.id,
            done=done,
            total=total,
            reused=reused,
            opened=self._opened,
            left_out=self._left_out,
        )

    def _told(
        self, step: speculation.Round, text: str | None, reason: Reason, n_past: int, now: float
    ) -> Round:
        meter, baseline = self._meter, self._controller.baseline
        is_plain = not step.drafted and not step.replayed
        meter.add_round(
            drafted=step.drafted,
            accepted=step.accepted,
            emitted=len(step.tokens),
            round_s=step.round_s,
            draft_s=step.draft_s,
            verify_s=step.verify_s,
            draft_decode_s=step.draft_decode_s,
            by_ngram=step.source == "ngram",
            step_back_s=step.step_back_s,
            replayed=step.replayed,
            snapshots_s=baseline.price_ms(step.verify_s * 1e3) / 1e3 if is_plain else 0.0,
        )
        if step.source == "model":
            self._model_tested += min(step.accepted + 1, step.drafted)
            self._model_accepted += step.accepted
        meter.plain_tokens_per_second = baseline.tokens_per_second(n_past)
        meter.plain_age_s = baseline.age_s
        if meter.rounds == 1:
            meter.time_to_first_token_s = now - self._started
        self._log_probabilities += step.log_probabilities or ()
        text = self._text.add(step.tokens) if text is None else text
        return Round(
            id=self._request.id,
            text=text,
            tokens=tuple(step.tokens),
            sizes=tuple(self._text.sizes[meter.emitted - len(step.tokens) : meter.emitted]),
            drafted=step.drafted,
            accepted=step.accepted,
            source=step.source,
            reason=reason.words,
            reason_kind=reason.kind,
            n_past=n_past,
            figures=meter.figures(),
        )

    def _finished(self, reason: FinishReason, n_past: int, full: bool) -> Finished:
        # Tokens of a stop string are not part of the answer.
        tokens = self._decoder.ids[len(self._prompt) :][: self._text.kept_tokens]
        self._meter.emitted = len(tokens)
        logs = tuple(self._log_probabilities[: len(tokens)])
        length = self._request.speculation.draft_length
        tail = self._text.finish()
        figures = self._meter.figures()
        return Finished(
            id=self._request.id,
            finish_reason=reason,
            text=self._text.text,
            tail=tail,
            tokens=tuple(tokens),
            n_past=n_past,
            seed=self._seed,
            rule=self._rule,
            drafter=self._drafter_name,
            draft_length=0 if self._drafter_name == "none" else length,
            log_probabilities=logs if self._request.log_probabilities else None,
            figures=figures,
            alarms=self._alarms(figures),
            left_out=self._left_out,
            context_full=full,
        )

    def _alarms(self, figures: Figures) -> tuple[Notice, ...]:
        length = self._request.speculation.draft_length
        return alarms(
            AnswerFacts(
                figures=figures,
                temperature=self._request.sampling.temperature,
                fixed_length=None if length == "auto" else length,
                model_tested=self._model_tested,
                model_accepted=self._model_accepted,
                break_even=self._controller.break_even("model"),
                what_drafts=what_drafts(self._drafter_name),
                others=self._watch.others(),
                snapshots_ms=self._controller.baseline.snapshots_ms,
            )
        )


def _require_fit(prompt: Sequence[int], n_ctx: int, left_out: int) -> None:
    if len(prompt) > n_ctx:
        it = "Even without its earlier messages it" if left_out else "It"
        raise PromptTooLong(
            "Tried to answer the conversation.",
            f"{it} has {len(prompt):,} tokens, and the context holds {n_ctx:,}.",
            "Shorten it, start a new chat, or ask for a larger context with --ctx.",
        )
