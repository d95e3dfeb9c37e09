"""What is learnt of an answer while it is written: its tokens, its parts, its rounds."""

from specchat.chat.parts import PartFigures, PartMeter
from specchat.chat.reasoning import Kind, tags_named
from specchat.chat.records import Message
from specchat.chat.tokens import TokenLog, Tokens
from specchat.engine.protocol import Finished, PromptProgress, Round
from specchat.tui.timeline import Timeline


class AnswerLog:
    """Follows one answer, from its first event to its last.

    Args:
        begun: the answer as it was, where it goes on from there.
    """

    def __init__(self, begun: Message | None = None) -> None:
        record = begun.answer if begun else None
        self._begun = begun.text if begun else ""
        self._earlier = record.parts if record else {}
        self._log = TokenLog()
        self._length = 0
        """Characters that came so far."""
        self._kept: int | None = None
        """How many tokens are part of the answer; known at its end."""
        self.opened = record.opened if record else None
        """The name of the tags that the prompt left open."""
        self._meter = self._new_meter()
        self.timeline = Timeline()

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
                self.timeline.add(event, self._meter.add(event.text, event.figures))
            case Finished():
                self._kept = len(event.tokens)
                self._length = len(event.text)
                self.timeline.ended = True

    def end(self) -> None:
        """Nothing more comes."""
        self.timeline.ended = True

    @property
    def tokens(self) -> Tokens:
        """Those that came, without what the answer began with."""
        return self._log.tokens(self._kept).within(self._length)

    @property
    def parts(self) -> dict[Kind, PartFigures]:
        """Figures by kind of text, of the whole answer."""
        return self._meter.parts

    def _new_meter(self) -> PartMeter:
        return PartMeter(tags_named(self.opened), self._begun, self._earlier)
