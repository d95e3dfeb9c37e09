"""Draft, verify, keep, roll back: one loop for every drafter, plain decoding included."""

from collections.abc import Generator, Iterator, Sequence
from time import perf_counter

import msgspec
import numpy as np

from specchat.llama.context import Context, Outputs
from specchat.speculation.controller import LengthController, Outcome, Source
from specchat.speculation.drafters.base import Draft, Drafter
from specchat.speculation.draws import CoupledDraws, Draws, RandomDraws
from specchat.speculation.reading import read_prompt
from specchat.speculation.sampling import Logits, Sampler, log_probabilities
from specchat.speculation.settings import Rule
from specchat.speculation.verify import Verdict, verify_block, verify_picks, verify_token

MOST_PENDING = 8
"""With more tokens to decode again, a round drafts nothing, so that all of them are kept: refused
drafts in a row would make the calls longer and longer."""


class Round(msgspec.Struct, frozen=True):
    """What one round brought. Times are in seconds and lie within `round_s`."""

    tokens: list[int]
    drafted: int
    accepted: int
    source: Source | None
    """Who drafted."""
    round_s: float
    draft_s: float
    verify_s: float
    """Inside the target's decode call."""
    draft_decode_s: float
    """Inside decode calls of a draft model, a part of `draft_s`."""
    ended: bool
    """Whether the last token ends the generation."""
    log_probabilities: list[float] | None = None
    """Of each token, by the target itself; None unless asked for."""
    replayed: int = 0
    """Tokens that the target decoded again, because its memory went back further than asked."""
    step_back_s: float = 0.0
    """Marking memories and going back, the target's and the drafter's, without decoding again."""


class Decoder:
    """Writes on from a prompt, a verification round at a time: one answer.

    Between rounds the target's cache holds every token but the last, the drafter has seen nothing
    that was refused, and both stay so however the rounds end: by an end token, by closing the
    generator, by an abort or by an error. A memory that goes back by checkpoints may hold fewer;
    what it lacks is decoded with the next round.

    Args:
        target: at least `1 + longest draft` rows of logits.
        drafter: None decodes plainly.
        sampler: the person's settings.
        rule: how drafted tokens are verified.
        controller: how far to draft.
        seed: of every draw.
        with_log_probabilities: keep them for each token; it costs a pass over every row.
    """

    def __init__(
        self,
        target: Context,
        drafter: Drafter | None,
        sampler: Sampler,
        rule: Rule,
        controller: LengthController,
        seed: int,
        *,
        with_log_probabilities: bool = False,
    ) -> None:
        self.target = target
        self.drafter = drafter
        self.ids: list[int] = []
        """The prompt and what was emitted."""
        self._sampler = sampler
        self._rule = rule
        self._controller = controller
        self._random = np.random.default_rng(seed)
        self._draws: Draws = CoupledDraws(seed) if rule == "coupled" else RandomDraws(self._random)
        self._with_log_probabilities = with_log_probabilities
        self._end_tokens = target.model.vocabulary.end_tokens
        self._step_back_s = 0.0

    def prefill(self, prompt: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Bring the target to a new prompt of at least one token, reusing what the cache shares.

        Yields:
            (reused, done): tokens found in the cache, and tokens in it now; first before any work.

        Raises:
            Aborted: the abort flag was set; what was decoded stays for the next time.
        """
        self.ids = list(prompt)
        return read_prompt(self.target, self.ids[:-1])

    def rounds(self, max_tokens: int | None = None) -> Generator[Round, None, None]:
        """Rounds until an end token, `max_tokens` or a full context.

        The clock of the first round starts after the drafter's prefill; the time a consumer takes
        between two rounds is part of the later one.

        Raises:
            Aborted: the abort flag was set.
        """
        if self.drafter is not None:
            self.drafter.begin(self.ids, self._sampler, self._draws, self._controller)
        emitted = 0
        clock = perf_counter()
        while (limit := self._draft_limit(emitted, max_tokens)) >= 0:
            pending = len(self.ids) - 1 - len(self.target.tokens)
            try:
                draft, draft_s = self._draft(limit, pending)
                logits, raw, verify_s = self._decode(draft, pending)
                verdict = self._verify(draft, logits)
                tokens = self._keep(draft, verdict)
            finally:
                self._roll_back(len(self.ids) - 1)
            emitted += len(tokens)
            now = perf_counter()
            round_s, clock = now - clock, now
            drafted, accepted = len(draft.tokens), verdict.accepted
            self._controller.finish(
                Outcome(
                    drafted,
                    accepted,
                    len(tokens),
                    round_s * 1e3,
                    verify_s * 1e3,
                    len(self.ids),
                    replayed=pending,
                    step_back_ms=self._step_back_s * 1e3,
                )
            )
            ended = tokens[-1] in self._end_tokens
            logs = None if raw is None else log_probabilities(raw, tokens)
            yield Round(
                tokens=tokens,
                drafted=drafted,
                accepted=accepted,
                source=draft.source,
                round_s=round_s,
                draft_s=draft_s,
                verify_s=verify_s,
                draft_decode_s=draft.decode_s,
                ended=ended,
                log_probabilities=logs,
                replayed=pending,
                step_back_s=self._step_back_s,
            )
            if ended:
                return

    def _draft_limit(self, emitted: int, max_tokens: int | None) -> int:
        """The longest draft that the context and the token limit allow; negative: the end."""
        limit = self.target.n_ctx - len(self.ids)
        if max_tokens is not None:
            limit = min(limit, max_tokens - emitted - 1)
        return min(limit, self.target.longest_draft)

    def _draft(self, limit: int, pending: int) -> tuple[Draft, float]:
        if pending > MOST_PENDING:
            limit = 0
        if self.drafter is None or not self._controller.begin(limit, pending):
            return Draft(), 0.0
        started = perf_counter()
        draft = self.drafter.draft(self.ids, limit, self._controller)
        for index, token in enumerate(draft.tokens):
            if token in self._end_tokens:  # nothing comes after it
                draft = draft.cut(index + 1)
                break
        return draft, perf_counter() - started

    def _decode(self, draft: Draft, pending: int) -> tuple[Logits, Logits | None, float]:
        """The target's rows, a copy of them if it is needed, and the seconds of the decode."""
        started = perf_counter()
        if draft.tokens:
            self.target.mark()
        marked = perf_counter()
        feed = [*self.ids[len(self.target.tokens) :], *draft.tokens]
        self.target.decode(feed, Outputs.ALL, without_row=pending)
        verify_s = perf_counter() - marked
        self._step_back_s = draft.step_back_s + marked - started
        logits = self.target.rows(1 + len(draft.tokens))
        return logits, logits.copy() if self._with_log_probabilities else None, verify_s

    def _verify(self, draft: Draft, logits: Logits) -> Verdict:
        drafted = draft.tokens
        if self._rule == "greedy":
            return verify_picks(drafted, self._sampler.picks(logits, self.ids, drafted))
        rows = self._sampler.distributions(logits, self.ids, drafted)
        if self._rule == "coupled":
            first = len(self.ids)
            picks = [self._draws.draw(row, first + index) for index, row in enumerate(rows)]
            return verify_picks(drafted, picks)
        verify = verify_block if self._rule == "block" else verify_token
        return verify(drafted, rows, draft.distributions, self._random.random)

    def _keep(self, draft: Draft, verdict: Verdict) -> list[int]:
        """Append what was kept; the token after a kept end token is not said."""
        tokens = draft.tokens[: verdict.accepted]
        if not tokens or tokens[-1] not in self._end_tokens:
            tokens = [*tokens, verdict.token]
        self.ids += tokens
        return tokens

    def _roll_back(self, length: int) -> None:
        started = perf_counter()
        self.target.rollback(length)
        if self.drafter is not None:
            self.drafter.rollback(length)
        self._step_back_s += perf_counter() - started
