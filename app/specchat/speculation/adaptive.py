"""How far to draft: by yield per millisecond, zero included."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from specchat.speculation.confidence import Calibration
from specchat.speculation.controller import (
    BASELINE_ROUNDS,
    Baseline,
    Outcome,
    Reach,
    Reason,
    Source,
)
from specchat.speculation.costs import CostTable, StepBackCosts

Cost = Callable[[CostTable, int], float]
"""`CostTable.cost` in milliseconds, or `CostTable.at_best` in plain calls."""

RATE_DECAY = 0.98
FIRST_GAP, LONGEST_GAP = 4, 512
"""Rounds between two probes while drafting does not pay; the gap doubles up to the longest."""
READING_SHARE = 0.02
"""Reading what an idle draft model missed may take this part of the time it was idle; a probe that
needs more waits for the next answer, where the whole prompt is read anyway."""
PREDICTABLE = 0.8
"""From this acceptance on text is called predictable."""
BASELINE_EVERY = 384
"""Rounds after which the plain rate is measured anew."""


class _Prospect(NamedTuple):
    """What a draft of this length is expected to bring."""

    length: int
    gain: float
    """Tokens over drafting nothing."""
    cost_ms: float
    won: float
    """Tokens of it that are expected to be kept."""


class AdaptiveLength:
    """Drafts for as long as the next token is expected to win more than it costs.

    A renewal-reward rule: with R the rate of tokens per millisecond reached of late, t_d and t_v
    the measured costs of drafting and of verifying, and s_i the chance that the first i drafted
    tokens are all kept, a draft of j is worth `s_1 + ... + s_j - R * (j * t_d + t_v(j + 1))`. It
    looks ahead over every reachable j, because costs are not monotone; j = 0 is plain decoding.

    A target that `replays` goes back to before the round when a token is refused, and decodes what
    was kept once more, with the next round. That is part of what a draft is expected to cost,
    and so are marking memories and going back, as measured in the rounds of each source.

    Args:
        longest: most tokens that a round may draft.
        verify: costs of the target's decode calls; it must hold the cost of at least one size.
        replays: whether kept tokens are decoded again after a refusal.
        reach: what the drafts of the drafter with a model can be.
        snapshots_ms: for the `Baseline`. No length depends on it: it is paid whatever is drafted.
    """

    def __init__(
        self,
        longest: int,
        verify: CostTable,
        *,
        replays: bool = False,
        reach: Reach | None = None,
        snapshots_ms: float = 0.0,
    ) -> None:
        self.longest = longest
        self.verify = verify
        self.replays = replays
        self._reach: dict[Source, Reach] = {"model": reach or Reach(), "ngram": Reach()}
        self.drafting: dict[Source, CostTable] = {
            "model": CostTable(verify),
            "ngram": CostTable(verify),
        }
        self.rereading = CostTable(verify)
        """Of drafters that `rereads`: the call of a guess after the first, by its number."""
        self.stepping_back: dict[Source, StepBackCosts] = {
            "model": StepBackCosts(verify),
            "ngram": StepBackCosts(verify),
        }
        self.calibration: dict[Source, Calibration] = {
            "model": Calibration(),
            "ngram": Calibration(),
        }
        self.baseline = Baseline(snapshots_ms)
        self.reason = Reason("plain")
        self._tokens = self._milliseconds = 0.0
        self._limit = self._pending = 0
        self._source: Source = "model"
        self._confidences: list[float] = []
        self._kept, self._won = 1.0, 0.0
        self._gap, self._since_draft = FIRST_GAP, 0
        self._since_draft_ms = 0.0
        self._spell_tokens, self._spell_ms = 0, 0.0
        self._spent_ms = 0.0
        self._probing = False
        self._plain_left = 0
        self.drafting["ngram"].add(1, 0.0)

    @property
    def rate(self) -> float:
        """Tokens per millisecond of late, at what calls usually cost.

        What a call usually costs on both sides of the comparison: were the time that a busy
        neighbour took in the rate, drafting would look cheap beside it.
        """
        if self._milliseconds == 0:
            return 1 / self.verify.cost(1)
        return self._tokens / self._milliseconds

    def could_pay(self, source: Source) -> bool:
        """By the costs alone. Where it could not, nothing is drafted to find out."""
        plain, at_best = self.verify.at_best(1), self.verify.at_best
        spent = self.stepping_back[source].at_best - plain
        costs = self._guess_costs(source, self.longest, cost=CostTable.at_best)
        for length, cost in enumerate(costs, 1):
            spent += cost
            if length * plain > spent + at_best(length + 1):
                return True
        return False

    def break_even(self, source: Source) -> float | None:
        """By the costs as they are, to a percent; independent of what was said."""
        plain, costs = self.verify.cost(1), self._guess_costs(source, self.longest)
        for percent in range(101):
            kept, won, drafting = 1.0, 0.0, 0.0
            for length, cost in enumerate(costs, 1):
                kept *= percent / 100
                won += kept
                drafting += cost
                spent = drafting + self.verify.cost(length + 1) - plain
                spent += self._return_cost(source, length, won, kept, pending=0)
                if won * plain > spent:
                    return percent / 100
        return float("inf")

    def begin(self, limit: int, pending: int = 0) -> bool:
        """Plain when there is no room, or when the plain rate has to be measured anew."""
        self._limit = min(limit, self.longest)
        self._pending = pending
        self._confidences = []
        self._kept, self._won = 1.0, 0.0
        self._probing = False
        self._spent_ms = 0.0
        if self._plain_left == 0 and self.baseline.since >= BASELINE_EVERY:
            self._plain_left = BASELINE_ROUNDS
        if self._plain_left > 0:
            self._plain_left -= 1
            self.reason = Reason("baseline")
            return False
        self.reason = Reason("no_match" if self._limit > 0 else "plain")
        return self._limit > 0

    def gain(self, source: Source, confidence: float | None, pending: int) -> float:
        """The best net worth over all lengths, less that of none."""
        return self._best(source, confidence, pending).gain

    def start(self, source: Source, confidence: float | None, pending: int) -> bool:
        """Draft where it is expected to win, and once in a while to see whether it would."""
        self._source = source
        best = self._best(source, confidence, pending)
        pays = best.gain > 0
        self._probing = not pays and self._probe_is_due(source, pending)
        if self._probing:
            self.calibration[source].forget()
            self.verify.forget_slow_calls()
            self.drafting[source].forget_slow_calls()
            self.rereading.forget_slow_calls()
            self.stepping_back[source].forget_slow_calls()
            best = self._best(source, confidence, pending)
        saved = best.won / self.rate
        if self._probing:
            self.reason = Reason("probing", best.length)
        elif not pays:
            self.reason = Reason("costs_more", best.length, best.cost_ms, saved)
        elif self._chance(source, confidence) >= PREDICTABLE:
            self.reason = Reason("predictable", best.length, best.cost_ms, saved)
        else:
            self.reason = Reason("worth", best.length, best.cost_ms, saved)
        return pays or self._probing

    def go_on(self, confidence: float) -> bool:
        """Look ahead from here: what is drafted is paid for."""
        calibration = self.calibration[self._source]
        self._confidences.append(confidence)
        self._kept *= calibration.acceptance(confidence)
        drafted = len(self._confidences)
        self._won += self._kept
        kept, won, source = self._kept, self._won, self._source
        best, here, drafting = 0.0, self._round_cost(source, drafted, won, kept), 0.0
        costs = self._guess_costs(source, self._limit)
        for length, cost in enumerate(costs[drafted:], drafted + 1):
            kept *= calibration.mean
            won += kept
            drafting += cost
            spent = drafting + self._round_cost(source, length, won, kept) - here
            best = max(best, won - self._won - self.rate * spent)
        return best > 0

    def spent(self, source: Source, n_tokens: int, milliseconds: float, *, guess: int = 1) -> None:
        """Learn what the draft model's decode calls cost."""
        table, size = self.drafting[source], n_tokens
        if guess > 1 and self._reach[source].rereads:
            table, size = self.rereading, guess
        table.add(size, milliseconds)
        self._spent_ms += table.cost(size)

    def finish(self, outcome: Outcome) -> None:
        """Learn costs, acceptance, the rate, and when to probe next."""
        n_tokens = outcome.replayed + 1 + outcome.drafted
        self.verify.add(n_tokens, outcome.verify_ms)
        self.baseline.add(outcome)
        usual_ms = self._spent_ms + self.verify.cost(n_tokens) + self._stepped_back(outcome)
        self._tokens = self._tokens * RATE_DECAY + outcome.emitted
        self._milliseconds = self._milliseconds * RATE_DECAY + usual_ms
        tested = min(outcome.accepted + 1, outcome.drafted)
        for index, confidence in enumerate(self._confidences[:tested]):
            self.calibration[self._source].learn(confidence, index < outcome.accepted)
        if outcome.drafted == 0:
            if outcome.replayed:  # the spell's doing
                self._spell_ms += usual_ms - self.verify.cost(1)
            self._judge_spell()
            self._since_draft += 1
            self._since_draft_ms += usual_ms
            return
        self._since_draft, self._since_draft_ms = 0, 0.0
        self._spell_tokens += outcome.emitted
        self._spell_ms += usual_ms
        self.reason = msgspec.structs.replace(self.reason, length=outcome.drafted)

    def _stepped_back(self, outcome: Outcome) -> float:
        """What a round like this usually takes to mark and go back."""
        if outcome.drafted == 0:
            return 0.0
        refused = outcome.accepted < outcome.drafted
        return self.stepping_back[self._source].add(outcome.step_back_ms, refused=refused)

    def _judge_spell(self) -> None:
        """A spell of drafting is over: the next gap depends on whether it beat plain decoding."""
        if self._spell_ms > 0:
            paid = self._spell_tokens * self.verify.cost(1) > self._spell_ms
            self._gap = FIRST_GAP if paid else min(2 * self._gap, LONGEST_GAP)
            self._spell_tokens, self._spell_ms = 0, 0.0

    def _probe_is_due(self, source: Source, pending: int) -> bool:
        reading = self._step_cost(source, pending) - self._step_cost(source)
        affordable = reading <= READING_SHARE * self._since_draft_ms
        return self._since_draft >= self._gap and affordable and self.could_pay(source)

    def _best(self, source: Source, confidence: float | None, pending: int) -> _Prospect:
        """The length of at least one with the greatest gain over none."""
        chance, drafting = self._chance(source, confidence), 0.0
        plain = self._round_cost(source, 0, 0.0, 1.0)
        kept, won = 1.0, 0.0
        best = _Prospect(1, float("-inf"), 0.0, 0.0)
        for length, cost in enumerate(self._guess_costs(source, self._limit, pending), 1):
            kept *= chance
            won += kept
            drafting += cost
            spent = drafting + self._round_cost(source, length, won, kept) - plain
            gain = won - self.rate * spent
            if gain > best.gain:
                best = _Prospect(length, gain, spent, won)
        return best

    def _round_cost(self, source: Source, length: int, won: float, kept: float) -> float:
        """Milliseconds of the target for a draft of this length, and for what comes of it.

        Args:
            won: the number of its tokens that are expected to be kept.
            kept: the chance that all of them are.
        """
        call = self.verify.cost(self._pending + 1 + length)
        return call + self._return_cost(source, length, won, kept, self._pending)

    def _return_cost(
        self, source: Source, length: int, won: float, kept: float, pending: int
    ) -> float:
        """Marking and going back, and what the next call takes longer where a token is refused, by
        the chance of that."""
        if length == 0:
            return 0.0
        stepping_back = self.stepping_back[source].expected(kept)
        refused = 1.0 - kept
        if not self.replays or refused <= 0.0:
            return stepping_back
        kept_before = (won - length * kept) / refused
        again = pending + 1 + round(kept_before)
        longer = max(0.0, self.verify.cost(1 + again) - self.verify.cost(1))
        return stepping_back + refused * longer

    def _chance(self, source: Source, confidence: float | None) -> float:
        calibration = self.calibration[source]
        return calibration.mean if confidence is None else calibration.acceptance(confidence)

    def _step_cost(self, source: Source, pending: int = 1, cost: Cost = CostTable.cost) -> float:
        try:
            return cost(self.drafting[source], pending)
        except LookupError:  # never drafted: as dear as the target would be a fool's guess
            return 0.0

    def _guess_costs(
        self, source: Source, limit: int, pending: int = 1, cost: Cost = CostTable.cost
    ) -> list[float]:
        """Of each guess of the longest draft, in order."""
        longest, reach = self._longest(source, limit), self._reach[source]
        first = [self._step_cost(source, pending, cost)][:longest]
        if reach.at_once:
            return first + [0.0] * (longest - 1)
        if reach.rereads and self.rereading.measured:
            return first + [cost(self.rereading, guess) for guess in range(2, longest + 1)]
        return first + [self._step_cost(source, 1, cost)] * (longest - 1)

    def _longest(self, source: Source, limit: int) -> int:
        """The most tokens that a draft can have."""
        longest = self._reach[source].longest
        return max(0, limit if longest is None else min(limit, longest))
