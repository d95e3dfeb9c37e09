"""The answer that is under way, on the screen and in the conversation."""

from specchat.chat.known import Known
from specchat.chat.records import Message, State
from specchat.engine.protocol import Finished, Generate, Loaded, PromptProgress, Round
from specchat.engine.remarks import CONTEXT_FULL, left_out
from specchat.tui.answer_log import AnswerLog
from specchat.tui.answer_record import STATES, record_of
from specchat.tui.conversation import Conversation, OpenAnswer
from specchat.tui.timeline import Timeline
from specchat.tui.transcript import Transcript
from specchat.tui.widgets.messages import ENDED, Answer
from specchat.tui.widgets.speculation_panel import LiveFigures
from specchat.tui.wording import SEPARATOR


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
        self._n_left_out = 0
        """How many messages the prompt of the open answer lacks."""

    @property
    def timeline(self) -> Timeline:
        """The rounds of the open answer, or of the last one."""
        return self._log.timeline

    def forget(self) -> None:
        """The last answer is not on screen any more."""
        self._log = AnswerLog()

    def recall(self, answer: Message) -> None:
        """This answer of the conversation is the last one."""
        self._log = AnswerLog(answer, rounds=self._conversation.store.rounds(answer))
        self._log.end()

    def begin(self, answer: OpenAnswer, request: Generate, loaded: Loaded | None) -> None:
        """This answer is asked for; its message is in the conversation.

        Args:
            request: what the engine was told.
            loaded: the pair that answers.
        """
        self._request, self._loaded = request, loaded
        self._log = log = self._new_log(answer)
        self._live.begin_answer(log.figures)
        self._n_left_out = 0
        answer.opened = log.opened
        answer.tokens = lambda: log.tokens
        self._conversation.follow(lambda: self._known(ended=False))
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
                self._n_left_out = max(self._n_left_out, event.left_out)
                if event.done < event.total and not answer.stopping:
                    reading = f"reading {event.done} of {event.total} new tokens"
                    self.note(SEPARATOR.join(filter(None, (self._left_out, reading))))
            case Round():
                if not answer.parts and not answer.stopping:
                    self.note(self._left_out)
                self._conversation.add(event.text)
                self._write(event.text)
                self._live.add(self._log.figures, event.reason, event.n_past, self._log.parts)
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
        self._close(answer.text, state, self._known(), ENDED[state])
        return ""

    # Helpers

    @property
    def _widget(self) -> Answer | None:
        answer = self._conversation.open
        return self._transcript.answer(answer.message) if answer else None

    def _write(self, text: str) -> None:
        if widget := self._widget:
            widget.write(text, self._log.parts)

    @property
    def _left_out(self) -> str:
        """What the prompt of the open answer lacks, in words."""
        return left_out(self._n_left_out) if self._n_left_out else ""

    def _new_log(self, answer: OpenAnswer) -> AnswerLog:
        begun, store = answer.begun, self._conversation.store
        if begun is None:
            return AnswerLog()
        return AnswerLog(begun, store.tokens(begun.id), store.rounds(begun))

    def _finish(self, event: Finished) -> str:
        self._write(event.tail)
        self._live.finish(self._log.figures, event.n_past)
        if event.finish_reason == "cancelled" and not event.text:
            return self._take_back()
        state = STATES[event.finish_reason]
        ended = CONTEXT_FULL if event.context_full else ENDED[state]
        self._close(event.text, state, self._known(event), ended)
        return ""

    def _close(self, text: str, state: State, known: Known | None, ended: str) -> None:
        self._log.end()
        widget = self._widget
        self._conversation.finish(text, state, known)
        if widget:
            alarms = known.record.alarms if known else ()
            widget.finish(self._log.figures, ended, alarms, self._left_out)

    def _take_back(self) -> str:
        self._log.end()
        before = self._conversation.path
        question = self._conversation.withdraw()
        if self._conversation.path == before[:-2]:
            self._transcript.remove(*(message.id for message in before[-2:]))
        else:
            self._transcript.show()
        return question

    def _known(self, finished: Finished | None = None, *, ended: bool = True) -> Known | None:
        """How the answer came about, as far as it has come; None where the pair is not known, or
        nothing came yet.

        Args:
            finished: what is known of an end that the engine has told.
            ended: nothing more comes, and its rounds are kept.
        """
        answer, loaded, request = self._conversation.open, self._loaded, self._request
        if answer is None or loaded is None or request is None:
            return None
        if not answer.parts and not finished:
            return None
        record = record_of(loaded, request, self._log, finished, left_out=self._n_left_out)
        if answer.begun and answer.begun.answer:
            record = record.after(answer.begun.answer)
        return Known(record, self._log.tokens, self._log.timeline.kept if ended else None)
