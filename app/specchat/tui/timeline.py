"""The rounds of one answer, kept for the timeline: what each brought and where its time went."""

from typing import NamedTuple

from specchat.chat.reasoning import Kind
from specchat.engine.protocol import Round
from specchat.speculation.controller import Source
from specchat.speculation.metrics import Figures


class TimelineRound(NamedTuple):
    """One round. Times are in seconds."""

    text: str
    kind: Kind
    drafted: int
    accepted: int
    emitted: int
    source: Source | None
    reason: str
    draft_s: float
    verify_s: float
    own_s: float

    @property
    def total_s(self) -> float:
        """All of its time."""
        return self.draft_s + self.verify_s + self.own_s


class Timeline:
    """Fills while an answer is written."""

    def __init__(self) -> None:
        self.rounds: list[TimelineRound] = []
        self.figures = Figures()
        """The totals after the last round."""
        self.prefill_s = 0.0
        """From the request to the start of the first round."""
        self.ended = False
        """Whether no more rounds come."""

    def add(self, event: Round, kind: Kind) -> None:
        """Take a round, and the kind of text it counts for."""
        before, now = self.figures, event.figures
        if not self.rounds and now.time_to_first_token_s is not None:
            self.prefill_s = max(0.0, now.time_to_first_token_s - now.decode_s)
        self.rounds.append(
            TimelineRound(
                text=event.text,
                kind=kind,
                drafted=event.drafted,
                accepted=event.accepted,
                emitted=len(event.tokens),
                source=event.source,
                reason=event.reason,
                draft_s=now.draft_s - before.draft_s,
                verify_s=now.verify_s - before.verify_s,
                own_s=now.overhead_s - before.overhead_s,
            )
        )
        self.figures = now
