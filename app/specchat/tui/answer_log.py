"""What is learnt of an answer while it is written: its figures, tokens, parts and rounds."""

from specchat.chat.parts import PartFigures, PartMeter
from specchat.chat.reasoning import Kind, tags_named
from specchat.chat.records import Message
from specchat.chat.rounds import Rounds
from specchat.chat.tokens import TokenLog, Tokens
from specchat.engine.protocol import Finished, PromptProgress, Round
from specchat.speculation.metrics import NOTHING
from specchat.tui.timeline import Timeline


class AnswerLog:
    """Follows one answer, from its first event to its last.

    Args:
        begun: the answer as it was, where it goes on from there.
        tokens: those of it, where they were kept.
        rounds: those of it, where they were kept.
    """

    def __init__(
        self,
        begun: Message | None = None,
        tokens: Tokens | None = None,
        rounds: Rounds | None = None,
    ) -> None:
        record = begun.answer if begun else None
        self._begun = begun.text if begun else ""
        self._earlier = record.parts if record else {}
        self._earlier_figures = record.figures if record else NOTHING
        self._earlier_tokens = tokens
        self._log = TokenLog()
        self._length = 0
        """Characters that came so far."""
        self._kept: int | None = None
        """How many tokens are part of the answer; known at its end."""
        self.opened = record.opened if record else None
        """The name of the tags that the prompt left open."""
        self.figures = self._earlier_figures
        """Of the whole answer so far."""
        self._meter = self._new_meter()
        self.timeline = Timeline(rounds, self.figures, start=len(self._begun))

    def hear(self, event: PromptProgress | Round | Finished) -> None:
        """Take an event of this answer."""
        match event:
            case PromptProgress():
                if not self._begun and event.opened != self.opened:
                    self.opened = event.opened
                    self._meter = self._new_meter()
            case Round():
                self._log.add(
                    event.tokens,
                    event.sizes,
                    drafted=event.drafted,
                    accepted=event.accepted,
                    source=event.source,
                )
                self._length += len(event.text)
                self.figures = self._earlier_figures.plus(event.figures)
                kind = self._meter.add(event.text, event.figures)
                self.timeline.add(event, kind, self.figures)
            case Finished():
                self._kept = len(event.tokens)
                self._length = len(event.text)
                self.figures = self._earlier_figures.plus(event.figures)
                self.timeline.ended = True

    def end(self) -> None:
        """Nothing more comes."""
        self.timeline.ended = True

    @property
    def tokens(self) -> Tokens:
        """Those of the whole answer so far, as far as they are known."""
        new = self._log.tokens(self._kept).within(self._length)
        return self._earlier_tokens.plus(new) if self._earlier_tokens else new

    @property
    def parts(self) -> dict[Kind, PartFigures]:
        """Figures by kind of text, of the whole answer."""
        return self._meter.parts

    def _new_meter(self) -> PartMeter:
        return PartMeter(tags_named(self.opened), self._begun, self._earlier)
