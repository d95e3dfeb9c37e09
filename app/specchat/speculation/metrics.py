"""Counters of one answer and every figure derived from them.

The names and definitions are those of `docs/numbers.md`: one name for one thing on the screen,
in JSON and in the code.
"""

from collections import deque
from collections.abc import Sequence
from itertools import zip_longest

import msgspec

RATE_WINDOW_S = 2.0
"""The sliding window of the live rate, in seconds."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Running totals of one answer. A reader of any one of these needs no other."""

    prompt_tokens: int = 0
    """Tokens of the whole prompt."""
    reused_tokens: int = 0
    """Prompt tokens that were already in the target's KV cache."""
    emitted: int = 0
    """Tokens of the answer, the end-of-generation token included."""
    rounds: int = 0
    """Verification rounds, plain ones (nothing drafted) included."""
    drafted: int = 0
    """Tokens proposed by a drafter and sent to the target."""
    tested: int = 0
    """Accepted, plus one in every round that refused a drafted token."""
    accepted: int = 0
    """Tested tokens kept."""
    accepted_histogram: tuple[int, ...] = ()
    """Entry i: rounds that kept exactly i drafted tokens."""
    tested_at: tuple[int, ...] = ()
    """Entry i: drafted tokens tested at position i + 1."""
    accepted_ngram: int = 0
    """Accepted tokens that the n-gram drafter proposed; the model proposed the others."""
    time_to_first_token_s: float | None = None
    """From the request to the end of the first round."""
    decode_s: float = 0.0
    """Seconds of all rounds; prefill of the prompt, target's and draft's, comes before."""
    draft_s: float = 0.0
    """The part of `decode_s` in which a drafter worked."""
    verify_s: float = 0.0
    """The part of `decode_s` in which the target decoded."""
    draft_decode_s: float = 0.0
    """The part of `draft_s` inside decode calls of a draft model."""
    step_back_s: float = 0.0
    """The part of `decode_s` in which memories were marked and went back: the target's, and that of
    a draft model."""
    replayed: int = 0
    """Tokens that the target decoded once more, because its memory went back further than asked;
    their time is part of `verify_s`."""
    snapshots_s: float = 0.0
    """The part of `verify_s` that the target's snapshots of its state took of rounds in which
    nothing was drafted; 0 where it keeps none, or where that was not measured."""
    state_copy_s: float = 0.0
    """The part of `time_to_first_token_s` in which states of the target were copied to main memory
    for later turns, or from there."""
    plain_tokens_per_second: float | None = None
    """tok/s without drafting, measured in this conversation at a like depth of context, less what
    snapshots took."""
    plain_age_s: float | None = None
    """How long ago that was measured, in seconds."""

    def plus(self, later: "Figures") -> "Figures":
        """Of an answer that went on: these, and what came when it did.

        Counts and seconds are sums, so that every ratio is of sums. What was read before the first
        token, and how long that took, is of the beginning. The plain rate is what both parts
        together would have come at.
        """
        if not self.rounds:
            return later
        if not later.rounds:
            return self
        return Figures(
            prompt_tokens=self.prompt_tokens,
            reused_tokens=self.reused_tokens,
            emitted=self.emitted + later.emitted,
            rounds=self.rounds + later.rounds,
            drafted=self.drafted + later.drafted,
            tested=self.tested + later.tested,
            accepted=self.accepted + later.accepted,
            accepted_histogram=_sums(self.accepted_histogram, later.accepted_histogram),
            tested_at=_sums(self.tested_at, later.tested_at),
            accepted_ngram=self.accepted_ngram + later.accepted_ngram,
            time_to_first_token_s=self.time_to_first_token_s,
            decode_s=self.decode_s + later.decode_s,
            draft_s=self.draft_s + later.draft_s,
            verify_s=self.verify_s + later.verify_s,
            draft_decode_s=self.draft_decode_s + later.draft_decode_s,
            step_back_s=self.step_back_s + later.step_back_s,
            replayed=self.replayed + later.replayed,
            snapshots_s=self.snapshots_s + later.snapshots_s,
            state_copy_s=self.state_copy_s,
            plain_tokens_per_second=self._plain_with(later),
            plain_age_s=self.plain_age_s if later.plain_age_s is None else later.plain_age_s,
        )

    def _plain_with(self, later: "Figures") -> float | None:
        plain, then = self.plain_tokens_per_second, later.plain_tokens_per_second
        if not plain or not then:
            return then or plain
        return (self.emitted + later.emitted) / (self.emitted / plain + later.emitted / then)

    @property
    def speed_up(self) -> float | None:
        """tok/s / plain tok/s, under 1 too; None while one is unknown or nothing was drafted."""
        plain = self.plain_tokens_per_second
        if not self.drafted or plain is None or self.tokens_per_second is None:
            return None
        return self.tokens_per_second / plain

    @property
    def of_limit(self) -> float | None:
        """tok/s / what it would be if nothing but decode calls took time; None without rounds."""
        if self.decode_s <= 0:
            return None
        return (self.draft_decode_s + self.verify_s) / self.decode_s

    @property
    def ngram_share(self) -> float | None:
        """The n-gram drafter's part of the accepted tokens; None while none was accepted."""
        return self.accepted_ngram / self.accepted if self.accepted else None

    @property
    def acceptance(self) -> float | None:
        """accepted / tested; None while nothing was tested."""
        return self.accepted / self.tested if self.tested else None

    @property
    def tokens_per_round(self) -> float | None:
        """emitted / rounds; None before the first round."""
        return self.emitted / self.rounds if self.rounds else None

    @property
    def tokens_per_second(self) -> float | None:
        """emitted / decode seconds; None before the first round."""
        return self.emitted / self.decode_s if self.decode_s > 0 else None

    @property
    def plain_answer_per_second(self) -> float | None:
        """Of an answer for which nothing was drafted: emitted / decode seconds without those that
        snapshots took; None before the first round."""
        plain_s = self.decode_s - self.snapshots_s
        return self.emitted / plain_s if plain_s > 0 else None

    @property
    def overhead_s(self) -> float:
        """Round time that is neither drafting nor the target's decode: our own."""
        return max(0.0, self.decode_s - self.draft_s - self.verify_s)

    @property
    def draft_share(self) -> float | None:
        """drafting time / round time; None before the first round."""
        return self.draft_s / self.decode_s if self.decode_s > 0 else None

    @property
    def step_back_share(self) -> float | None:
        """step back time / round time; None before the first round."""
        return self.step_back_s / self.decode_s if self.decode_s > 0 else None

    @property
    def acceptance_by_position(self) -> tuple[float, ...]:
        """Entry i: accepted at position i + 1 / tested there, as far as any was tested."""
        return tuple(
            sum(self.accepted_histogram[i + 1 :]) / tested
            for i, tested in enumerate(self.tested_at)
            if tested
        )


NOTHING = Figures()


def _sums(these: Sequence[int], those: Sequence[int]) -> tuple[int, ...]:
    return tuple(map(sum, zip_longest(these, those, fillvalue=0)))


class Meter:
    """Adds up the rounds of one answer."""

    def __init__(self, prompt_tokens: int, max_draft_length: int) -> None:
        self.reused_tokens = 0
        self.state_copy_s = 0.0
        self.emitted = 0
        self.rounds = 0
        self.time_to_first_token_s: float | None = None
        self.plain_tokens_per_second: float | None = None
        self.plain_age_s: float | None = None
        self._prompt_tokens = prompt_tokens
        self._histogram = [0] * (max_draft_length + 1)
        self._tested_at = [0] * max_draft_length
        self._drafted = self._tested = self._accepted = self._accepted_ngram = 0
        self._decode_s = self._draft_s = self._verify_s = 0.0
        self._draft_decode_s = self._step_back_s = self._snapshots_s = 0.0
        self._replayed = 0

    def add_round(
        self,
        *,
        drafted: int,
        accepted: int,
        emitted: int,
        round_s: float,
        draft_s: float,
        verify_s: float,
        draft_decode_s: float = 0.0,
        by_ngram: bool = False,
        step_back_s: float = 0.0,
        replayed: int = 0,
        snapshots_s: float = 0.0,
    ) -> None:
        """Count one verification round; times in seconds, all parts within `round_s`."""
        tested = accepted + (accepted < drafted)
        self.rounds += 1
        self.emitted += emitted
        self._drafted += drafted
        self._tested += tested
        self._accepted += accepted
        self._accepted_ngram += accepted if by_ngram else 0
        self._histogram[accepted] += 1
        for position in range(tested):
            self._tested_at[position] += 1
        self._decode_s += round_s
        self._draft_s += draft_s
        self._verify_s += verify_s
        self._draft_decode_s += draft_decode_s
        self._step_back_s += step_back_s
        self._replayed += replayed
        self._snapshots_s += snapshots_s

    def figures(self) -> Figures:
        """The totals so far."""
        return Figures(
            prompt_tokens=self._prompt_tokens,
            reused_tokens=self.reused_tokens,
            emitted=self.emitted,
            rounds=self.rounds,
            drafted=self._drafted,
            tested=self._tested,
            accepted=self._accepted,
            accepted_histogram=tuple(self._histogram),
            tested_at=tuple(self._tested_at),
            accepted_ngram=self._accepted_ngram,
            time_to_first_token_s=self.time_to_first_token_s,
            decode_s=self._decode_s,
            draft_s=self._draft_s,
            verify_s=self._verify_s,
            draft_decode_s=self._draft_decode_s,
            step_back_s=self._step_back_s,
            replayed=self._replayed,
            snapshots_s=self._snapshots_s,
            state_copy_s=self.state_copy_s,
            plain_tokens_per_second=self.plain_tokens_per_second,
            plain_age_s=self.plain_age_s,
        )


class SlidingRate:
    """Tokens per second over the last `RATE_WINDOW_S` seconds of decoding.

    Tokens come in bursts, a round at a time, so the rate of one round says little.

    Args:
        begun: the totals before the first round.
    """

    def __init__(self, begun: Figures = NOTHING) -> None:
        self._points: deque[tuple[float, int]] = deque([(begun.decode_s, begun.emitted)])

    def add(self, figures: Figures) -> float:
        """The rate after this round, from its running totals."""
        self._points.append((figures.decode_s, figures.emitted))
        while len(self._points) > 2 and self._points[1][0] <= figures.decode_s - RATE_WINDOW_S:
            self._points.popleft()
        seconds = self._points[-1][0] - self._points[0][0]
        tokens = self._points[-1][1] - self._points[0][1]
        return tokens / seconds if seconds > 0 else 0.0
