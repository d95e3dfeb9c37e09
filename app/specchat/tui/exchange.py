"""The answer that is under way, on the screen and in the conversation."""

from collections.abc import Sequence

from specchat.chat.records import AnswerRecord, State
from specchat.engine.protocol import Finished, Generate, Loaded, Notice, PromptProgress, Round
from specchat.engine.remarks import CONTEXT_FULL, left_out
from specchat.speculation.metrics import Figures
from specchat.tui.answer_log import AnswerLog
from specchat.tui.conversation import Conversation, OpenAnswer
from specchat.tui.timeline import Timeline
from specchat.tui.transcript import Transcript
from specchat.tui.widgets.answer_body import GetTokens
from specchat.tui.widgets.messages import ENDED, Answer
from specchat.tui.widgets.speculation_panel import LiveFigures
from specchat.tui.wording import SEPARATOR

STATES: dict[str, State] = {"stop": "complete", "length": "length", "cancelled": "stopped"}
"""What became of an answer, by the engine's reason for ending it."""


class Exchange:
    """Keeps screen and store in step with the engine while it answers.

    Args:
        conversation: what was said.
        transcript: the messages on screen.
        live: the figures in the panel.
    """

    def __init__(
        self, conversation: Conversation, transcript: Transcript, live: LiveFigures
    ) -> None:
        self._conversation = conversation
        self._transcript = transcript
        self._live = live
        self._request: Generate | None = None
        self._loaded: Loaded | None = None
        self._log = AnswerLog()
        """Of the open answer, or of the last one."""
        self._left_out = ""
        """What the prompt of the open answer lacks, in words."""

    @property
    def timeline(self) -> Timeline:
        """The rounds of the open answer, or of the last one."""
        return self._log.timeline

    def forget(self) -> None:
        """The last answer is not on screen any more."""
        self._log = AnswerLog()

    def begin(self, answer: OpenAnswer, request: Generate, loaded: Loaded | None) -> None:
        """This answer is asked for; its message is in the conversation.

        Args:
            request: what the engine was told.
            loaded: the pair that answers.
        """
        self._request, self._loaded = request, loaded
        self._live.begin_answer()
        self._log = AnswerLog(answer.begun)
        self._left_out = ""
        answer.opened = self._log.opened
        answer.tokens = self._tokens(answer)
        path = self._conversation.path
        if answer.question and self._conversation.place(path[-2].id)[1] == 1:
            self._transcript.add(*path[-2:])
        else:
            self._transcript.show()

    def hear(self, event: PromptProgress | Round | Finished) -> str | None:
        """Take what the engine says of the open answer; what it says of others does not matter.

        Returns:
            None while the answer goes on. At its end the question, if it is as if it had not been
            asked, else an empty text.
        """
        answer = self._conversation.open
        if answer is None or answer.id != event.id:
            return None
        self._log.hear(event)
        match event:
            case PromptProgress():
                answer.opened = self._log.opened
                if widget := self._widget:
                    widget.open_with(answer.opened)
                self._live.left_out = event.left_out
                self._left_out = left_out(event.left_out) if event.left_out else ""
                if event.done < event.total and not answer.stopping:
                    reading = f"reading {event.done} of {event.total} new tokens"
                    self.note(SEPARATOR.join(filter(None, (self._left_out, reading))))
            case Round():
                if not answer.parts and not answer.stopping:
                    self.note(self._left_out)
                self._conversation.add(event.text)
                self._write(event.text)
                self._live.add(event.figures, event.reason, event.n_past, self._log.parts)
            case Finished():
                return self._finish(event)
        return None

    def note(self, text: str) -> None:
        """What is going on, below the answer."""
        if self._conversation.open is not None:
            self._conversation.open.note = text
        if widget := self._widget:
            widget.note(text)

    def end_early(self, state: State) -> str:
        """The answer gets no further: what came is kept. Without any, the question is the result,
        and it is as if it had not been asked."""
        answer = self._conversation.open
        if answer is None:
            return ""
        if not answer.text:
            return self._take_back()
        self._close(answer.text, state, None, self._live.figures, ENDED[state])
        return ""

    # Helpers

    @property
    def _widget(self) -> Answer | None:
        answer = self._conversation.open
        return self._transcript.answer(answer.message) if answer else None

    def _write(self, text: str) -> None:
        if widget := self._widget:
            widget.write(text, self._log.parts)

    def _tokens(self, answer: OpenAnswer) -> GetTokens:
        """Gives the tokens of an answer as far as it has come, and when it has ended."""
        log = self._log
        earlier = self._conversation.store.tokens(answer.message) if answer.begun else None
        return lambda: earlier.plus(log.tokens) if earlier else log.tokens

    def _finish(self, event: Finished) -> str:
        self._write(event.tail)
        self._live.finish(event.figures, event.n_past)
        if event.finish_reason == "cancelled" and not event.text:
            return self._take_back()
        state = STATES[event.finish_reason]
        ended = CONTEXT_FULL if event.context_full else ENDED[state]
        self._close(event.text, state, self._record(event), event.figures, ended, event.alarms)
        return ""

    def _close(
        self,
        text: str,
        state: State,
        record: AnswerRecord | None,
        figures: Figures | None,
        ended: str,
        alarms: Sequence[Notice] = (),
    ) -> None:
        self._log.end()
        widget = self._widget
        self._conversation.finish(text, state, record, self._log.tokens)
        if widget:
            widget.finish(figures, ended, alarms, self._left_out)

    def _take_back(self) -> str:
        self._log.end()
        before = self._conversation.path
        question = self._conversation.withdraw()
        if self._conversation.path == before[:-2]:
            self._transcript.remove(*(message.id for message in before[-2:]))
        else:
            self._transcript.show()
        return question

    def _record(self, event: Finished) -> AnswerRecord | None:
        """How the answer came about; None where the pair is not known."""
        if self._loaded is None or self._request is None:
            return None
        draft = self._loaded.draft
        return AnswerRecord(
            target=_file_name(self._loaded.target.path),
            draft=_file_name(draft.path) if draft else None,
            drafter=event.drafter,
            rule=event.rule,
            draft_length=event.draft_length,
            sampling=self._request.sampling,
            seed=event.seed,
            figures=event.figures,
            parts=self._log.parts,
            opened=self._log.opened,
        )


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
