"""What decides how far to draft, what it says of it, and a length that is fixed."""

from collections import deque
from time import monotonic
from typing import Literal, Protocol

import msgspec

Source = Literal["model", "ngram"]
ReasonKind = Literal[
    "fixed", "plain", "predictable", "worth", "costs_more", "no_match", "probing", "baseline"
]

BASELINE_ROUNDS = 3
"""Plain rounds in a row that tell a plain rate."""
BASELINE_KEPT = 32
"""Plain rounds whose mean is the plain rate: a mean, as tok/s is one, slow rounds included."""
LIKE_DEPTH = 1024
"""Context depths this far apart at most are alike: decoding costs about the same."""


class Reach(msgspec.Struct, frozen=True):
    """What a draft of one drafter can be, whatever would pay."""

    longest: int | None = None
    """Most tokens of it; None where there is no such limit."""
    at_once: bool = False
    """One decode call guesses all of its tokens, so that further ones cost nothing."""
    rereads: bool = False
    """The call of each guess after the first takes in the whole draft before it once more."""


class Reason(msgspec.Struct, frozen=True):
    """What the controller did in a round and why."""

    kind: ReasonKind
    length: int = 0
    cost_ms: float = 0.0
    saved_ms: float = 0.0

    @property
    def words(self) -> str:
        """For the panel."""
        match self.kind:
            case "fixed":
                return f"drafting {self.length}, fixed"
            case "plain":
                return "plain decoding"
            case "predictable":
                return f"drafting {self.length}: text is predictable"
            case "worth":
                return (
                    f"drafting {self.length}: costs {self.cost_ms:.1f} ms, "
                    f"saves {self.saved_ms:.1f}"
                )
            case "costs_more":
                return (
                    f"not drafting: a draft of {self.length} costs {self.cost_ms:.1f} ms "
                    f"and would save {self.saved_ms:.1f}"
                )
            case "no_match":
                return "not drafting: nothing said before fits"
            case "probing":
                return f"probing: drafting {self.length} to see whether it pays again"
            case "baseline":
                return "measuring plain decoding"


class Outcome(msgspec.Struct, frozen=True):
    """What came of a round, for the controller to learn from."""

    drafted: int
    accepted: int
    emitted: int
    round_ms: float
    verify_ms: float
    n_past: int
    replayed: int = 0
    """Tokens that the target decoded again in this round's call."""
    step_back_ms: float = 0.0
    """Marking memories and going back; no part of `verify_ms`, nor of what was `spent`."""


class LengthController(Protocol):
    """Decides, token by token, how far a round drafts. Called in this order:

    `begin`, then for each source that could draft `gain`, then for the one that does `start` and,
    after each of its tokens, `go_on`; at the end of the round `finish`.
    """

    @property
    def reason(self) -> Reason:
        """What the last round did and why."""
        ...

    @property
    def baseline(self) -> "Baseline":
        """Plain decoding, as measured on the way."""
        ...

    def could_pay(self, source: Source) -> bool:
        """Whether drafting with this source would win if every guess were kept."""
        ...

    def break_even(self, source: Source) -> float | None:
        """The acceptance from which drafting with this source pays; infinite: never.

        None where costs are not measured.
        """
        ...

    def begin(self, limit: int, pending: int = 0) -> bool:
        """A round with at most `limit` drafted tokens; False: draft nothing, whoever could.

        Args:
            pending: tokens that the target decodes again in this round, whatever is drafted.
        """
        ...

    def gain(self, source: Source, confidence: float | None, pending: int) -> float:
        """Expected tokens that drafting with this source wins over not drafting.

        Args:
            confidence: of its first token, if it is known already.
            pending: tokens it has to read first, the last one included.
        """
        ...

    def start(self, source: Source, confidence: float | None, pending: int) -> bool:
        """Whether this source is to draft its first token."""
        ...

    def go_on(self, confidence: float) -> bool:
        """Whether to draft one more after a token of this confidence, 0 to 1."""
        ...

    def spent(self, source: Source, n_tokens: int, milliseconds: float, *, guess: int = 1) -> None:
        """A decode call of a draft model took this long.

        Args:
            n_tokens: that were new to it.
            guess: the number of the guess that it made, from 1.
        """
        ...

    def finish(self, outcome: Outcome) -> None:
        """The round is over."""
        ...


class FixedLength:
    """The same draft length every round; 0 is plain decoding."""

    def __init__(self, length: int, baseline: "Baseline | None" = None) -> None:
        self.length = length
        self.baseline = baseline or Baseline()
        self._limit = 0
        self._drafted = 0

    @property
    def reason(self) -> Reason:
        """The length that was asked for."""
        return Reason("fixed", self.length) if self.length else Reason("plain")

    def could_pay(self, source: Source) -> bool:
        """Whether it pays does not matter here."""
        return self.length > 0

    def break_even(self, source: Source) -> float | None:
        """Costs are not measured."""
        return None

    def begin(self, limit: int, pending: int = 0) -> bool:
        """Drafts whenever there is room."""
        self._limit, self._drafted = min(limit, self.length), 0
        return self._limit > 0

    def gain(self, source: Source, confidence: float | None, pending: int) -> float:
        """A believed n-gram goes first; it costs nothing."""
        return 1.0 if source == "model" else 2.0 * (confidence or 0.0)

    def start(self, source: Source, confidence: float | None, pending: int) -> bool:
        """Always."""
        return True

    def go_on(self, confidence: float) -> bool:
        """Until the length is reached."""
        self._drafted += 1
        return self._drafted < self._limit

    def spent(self, source: Source, n_tokens: int, milliseconds: float, *, guess: int = 1) -> None:
        """Costs do not matter here."""

    def finish(self, outcome: Outcome) -> None:
        """Plain rounds tell the plain rate."""
        self.baseline.add(outcome)


class Baseline:
    """Plain tok/s, from rounds in which nothing was drafted.

    Args:
        snapshots_ms: what the target's snapshots of its state take of a call of one token. They are
            there to be able to refuse guesses: plain decoding keeps none.
    """

    def __init__(self, snapshots_ms: float = 0.0) -> None:
        self.snapshots_ms = snapshots_ms
        self._rounds: deque[tuple[float, int]] = deque(maxlen=BASELINE_KEPT)
        self.since = 0
        """Rounds since the last plain one."""
        self._measured_at: float | None = None

    def add(self, outcome: Outcome) -> None:
        """Learn from a round, plain or not."""
        if outcome.drafted == 0 and outcome.replayed == 0:
            price_ms = self.price_ms(outcome.verify_ms)
            self._rounds.append((outcome.round_ms - price_ms, outcome.n_past))
            self._measured_at = monotonic()
            self.since = 0
        else:
            self.since += 1

    def price_ms(self, verify_ms: float) -> float:
        """What snapshots took of a plain round's call: no more than all of it."""
        return min(self.snapshots_ms, verify_ms)

    def tokens_per_second(self, n_past: int) -> float | None:
        """The plain rate at a like depth of context, or None when it was not measured there."""
        rounds = list(self._rounds)  # another thread may be adding
        alike = [ms for ms, depth in rounds if abs(depth - n_past) <= LIKE_DEPTH]
        return 1000 * len(alike) / sum(alike) if len(alike) >= BASELINE_ROUNDS else None

    @property
    def age_s(self) -> float | None:
        """Seconds since it was last measured."""
        return None if self._measured_at is None else monotonic() - self._measured_at
