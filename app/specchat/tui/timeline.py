"""The rounds of one answer, for the timeline: what each brought and where its time went."""

from specchat.chat.reasoning import Kind
from specchat.chat.rounds import AnswerRound, Rounds
from specchat.engine.protocol import Round
from specchat.speculation.metrics import NOTHING, Figures


class Timeline:
    """Fills while an answer is written.

    Args:
        begun: the rounds that it has already, where it goes on or has ended.
        figures: the totals after the last of them.
        start: characters of the answer before the text of the first round.
    """

    def __init__(
        self, begun: Rounds | None = None, figures: Figures = NOTHING, start: int = 0
    ) -> None:
        self.rounds: list[AnswerRound] = list(begun.rounds) if begun else []
        self.figures = figures
        """The totals after the last round."""
        self.prefill_s = begun.prefill_s if begun else 0.0
        """From the request to the start of the first round; where it went on, of each time."""
        self.ended = False
        """Whether no more rounds come."""
        self._start = begun.start if begun else start
        self._n_begun = len(self.rounds)

    @property
    def kept(self) -> Rounds:
        """All of it, to be kept."""
        return Rounds(self.rounds, self._start, self.prefill_s)

    def add(self, event: Round, kind: Kind, now: Figures) -> None:
        """Take a round, the kind of text it counts for, and the totals after it."""
        before, own = self.figures, event.figures
        if len(self.rounds) == self._n_begun and own.time_to_first_token_s is not None:
            self.prefill_s += max(0.0, own.time_to_first_token_s - own.decode_s)
        self.rounds.append(
            AnswerRound(
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
