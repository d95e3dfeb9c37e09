"""Draft, verify, keep, roll back: one loop for every drafter, plain decoding included."""

from collections.abc import Generator, Iterator, Sequence
from time import perf_counter

import msgspec
import numpy as np

from specchat.llama.context import Context, Outputs
from specchat.speculation.controller import LengthController
from specchat.speculation.drafters.base import Draft, Drafter
from specchat.speculation.sampling import Sampler
from specchat.speculation.sequence import shared_prefix
from specchat.speculation.settings import Rule
from specchat.speculation.verify import Verdict, verify_greedy, verify_token


class Round(msgspec.Struct, frozen=True):
    """What one round brought. Times are in seconds and lie within `round_s`."""

    tokens: list[int]
    drafted: int
    accepted: int
    round_s: float
    draft_s: float
    verify_s: float
    ended: bool
    """Whether the last token ends the generation."""


class Decoder:
    """Writes on from a prompt, a verification round at a time.

    Between rounds the target's cache holds every token but the last, the drafter has seen nothing
    that was refused, and both stay so however the rounds end: by an end token, by closing the
    generator, by an abort or by an error.

    Args:
        target: at least `1 + longest draft` rows of logits.
        drafter: None decodes plainly. A target that cannot step back always does.
    """

    def __init__(self, target: Context, drafter: Drafter | None) -> None:
        self.target = target
        self.drafter = drafter if target.can_step_back else None
        self.ids: list[int] = []
        """The prompt and what was emitted."""
        self._end_tokens = target.model.vocabulary.end_tokens

    def prefill(self, prompt: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Bring the target to a new prompt of at least one token, reusing what the cache shares.

        Yields:
            (reused, done): tokens found in the cache, and tokens in it now; first before any work.

        Raises:
            Aborted: the abort flag was set; what was decoded stays for the next time.
        """
        self.ids = list(prompt)
        wanted = self.ids[:-1]
        reused = self.target.rollback(shared_prefix(self.target.tokens, wanted))
        yield reused, reused
        for done in self.target.prefill(wanted[reused:]):
            yield reused, reused + done

    def rounds(
        self,
        sampler: Sampler,
        rule: Rule,
        controller: LengthController,
        random: np.random.Generator,
        max_tokens: int | None = None,
    ) -> Generator[Round, None, None]:
        """Rounds until an end token, `max_tokens` or a full context.

        The clock of the first round starts after the drafter's prefill; the time a consumer takes
        between two rounds is part of the later one.

        Raises:
            Aborted: the abort flag was set.
        """
        if self.drafter is not None:
            self.drafter.begin(self.ids, sampler, random)
        emitted = 0
        clock = perf_counter()
        while (limit := self._draft_limit(emitted, max_tokens)) >= 0:
            try:
                draft, draft_s = self._draft(limit, controller)
                verdict, verify_s = self._verify(draft, sampler, rule, random)
                tokens = self._keep(draft, verdict)
            finally:
                self._roll_back(len(self.ids) - 1)
            emitted += len(tokens)
            now = perf_counter()
            round_s, clock = now - clock, now
            ended = tokens[-1] in self._end_tokens
            yield Round(
                tokens, len(draft.tokens), verdict.accepted, round_s, draft_s, verify_s, ended
            )
            if ended:
                return

    def _draft_limit(self, emitted: int, max_tokens: int | None) -> int:
        """The longest draft that the context and the token limit allow; negative: the end."""
        limit = self.target.n_ctx - len(self.ids)
        if max_tokens is not None:
            limit = min(limit, max_tokens - emitted - 1)
        return min(limit, self.target.n_outputs - 1)

    def _draft(self, limit: int, controller: LengthController) -> tuple[Draft, float]:
        if self.drafter is None or limit == 0 or not controller.wants_more(0):
            return Draft(), 0.0
        started = perf_counter()
        draft = self.drafter.draft(self.ids, limit, controller)
        for index, token in enumerate(draft.tokens):
            if token in self._end_tokens:  # nothing comes after it
                draft = draft.cut(index + 1)
                break
        return draft, perf_counter() - started

    def _verify(
        self, draft: Draft, sampler: Sampler, rule: Rule, random: np.random.Generator
    ) -> tuple[Verdict, float]:
        started = perf_counter()
        self.target.decode([self.ids[-1], *draft.tokens], Outputs.ALL)
        verify_s = perf_counter() - started
        logits = self.target.rows(1 + len(draft.tokens))
        if rule == "greedy":
            picks = sampler.picks(logits, self.ids, draft.tokens)
            return verify_greedy(draft.tokens, picks), verify_s
        rows = sampler.distributions(logits, self.ids, draft.tokens)
        return verify_token(draft.tokens, rows, draft.distributions, random.random), verify_s

    def _keep(self, draft: Draft, verdict: Verdict) -> list[int]:
        """Append what was kept; the token after a kept end token is not said."""
        tokens = draft.tokens[: verdict.accepted]
        if not tokens or tokens[-1] not in self._end_tokens:
            tokens = [*tokens, verdict.token]
        self.ids += tokens
        return tokens

    def _roll_back(self, length: int) -> None:
        self.target.rollback(length)
        if self.drafter is not None:
            self.drafter.rollback(length)
