"""The left of the screen: the chat and the prompt, and the conversation that they show."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from specchat.chat.known import Known
from specchat.chat.records import Setup
from specchat.chat.records import State as MessageState
from specchat.engine.protocol import (
    Command,
    Failed,
    Finished,
    Generate,
    Loaded,
    Notice,
    PromptProgress,
    Round,
    Stop,
)
from specchat.errors import SpecchatError
from specchat.speculation.settings import SpeculationSettings
from specchat.tui.answer_log import AnswerLog
from specchat.tui.answer_record import STATES, record_of
from specchat.tui.answer_settings import AnswerSettings
from specchat.tui.chat_commands import slash_names
from specchat.tui.comparison import Asked, up_to_question
from specchat.tui.conversation import Conversation, OpenAnswer, instructed
from specchat.tui.drafting import drafter_of
from specchat.tui.exchange import Exchange
from specchat.tui.timeline import Timeline
from specchat.tui.transcript import Transcript
from specchat.tui.turns import NEEDS_QUIET, Turns
from specchat.tui.widgets.card import Card
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.messages import Answer, Beyond, Said
from specchat.tui.widgets.prompt import Prompt
from specchat.tui.widgets.speculation_panel import LiveFigures
from specchat.tui.widgets.writing import Writing

EngineState = Literal["loading", "ready", "broken"]
State = Literal["loading", "ready", "answering", "broken"]

REFUSALS: dict[State, str] = {
    "loading": "still loading; your text stays here",
    "ready": "",
    "answering": "wait for the answer, or stop it with Esc",
    "broken": "no model is loaded; Ctrl+R tries again",
}
"""Why nothing can be sent."""


class ConversationPane(Vertical):
    """Asks, shows what is answered, and lets the person work with what was said.

    Args:
        conversation: what is shown.
        live: gets the figures of answers.
        between: widgets between chat and prompt.
        answers: what holds for the next answer.
        send: tells the engine something.
    """

    class Changed(Message):
        """An answer has begun or ended, or another conversation is shown."""

    def __init__(
        self,
        conversation: Conversation,
        live: LiveFigures,
        *between: Widget,
        answers: AnswerSettings,
        send: Callable[[Command], Awaitable[None]],
    ) -> None:
        super().__init__(id="left")
        self.conversation = conversation
        self.chat = ChatView()
        self.prompt = Prompt(
            slash_names(lambda: self._answers.settings.presets),
            recent=lambda limit: conversation.store.questions(limit),
        )
        self.alarms: tuple[Notice, ...] = ()
        """Of the last answer."""
        self.loaded: Loaded | None = None
        """What answers."""
        self._answers = answers
        self._live = live
        self._between = between
        self._send = send
        self._engine: EngineState = "loading"
        self._trouble: SpecchatError | None = None
        self._transcript = Transcript(conversation, self.chat)
        self._exchange = Exchange(conversation, self._transcript, live)
        self._turns = Turns(
            conversation,
            self._transcript,
            self.prompt,
            answer=self._generate,
            open_conversation=self.open,
            copy=lambda text: self.app.copy_to_clipboard(text),
            show_details=self.show_details,
        )

    def compose(self) -> ComposeResult:
        yield self.chat
        yield from self._between
        yield Writing(self.prompt)

    def on_mount(self) -> None:
        """Say at once when conversations cannot be saved."""
        self.call_after_refresh(self._tell_trouble)

    @property
    def state(self) -> State:
        """What can be done now."""
        answering = self._engine == "ready" and self.conversation.open is not None
        return "answering" if answering else self._engine

    @property
    def can_stop(self) -> bool:
        """Whether there is something that Esc ends."""
        return self.state == "answering" or self._turns.is_editing

    @property
    def can_compare(self) -> bool:
        """Whether there is a question, and it can be asked now."""
        return self.state == "ready" and any(
            message.role == "user" for message in self.conversation.path
        )

    def to_compare(self, message: int | None = None) -> Asked | None:
        """A question with all before it; None without one, or while it cannot be asked.

        Args:
            message: the question, or an answer to it; None: the last question.
        """
        if not self.can_compare:
            return None
        answers, path = self.answers, self.conversation.path
        at = next((at for at, each in enumerate(path) if each.id == message), len(path) - 1)
        messages = up_to_question(self.conversation.messages, at)
        return Asked(
            instructed(messages, answers.system),
            answers.sampling,
            answers.speculation,
            answers.max_tokens,
            path[len(messages) - 1].id,
        )

    def keep(self, question: int, request: Generate, event: Finished, log: AnswerLog) -> str:
        """Put an answer that was compared beside those of its question, and show it.

        Returns:
            Which of them it is, in words.
        """
        known = None
        if self.loaded is not None:
            record = record_of(self.loaded, request, log, event, left_out=event.left_out)
            known = Known(record, log.tokens, log.timeline.kept)
        state = STATES[event.finish_reason]
        key = self.conversation.put_beside(question, event.text, state, known)
        self.conversation.show(key)
        self._transcript.show(key)
        number, count = self.conversation.place(key)
        return f"{number} of {count}"

    @property
    def answers(self) -> AnswerSettings:
        """What holds for the next answer of this conversation."""
        return replace(self._answers, setup=self.conversation.setup)

    @property
    def speculation(self) -> SpeculationSettings:
        """How guesses are made."""
        return self.answers.speculation

    def set_up(self, answers: AnswerSettings) -> None:
        """Hold by this from the next answer on; what it sets for the conversation is kept there."""
        self._answers = answers
        if answers.setup != self.conversation.setup:
            self.conversation.set_up(answers.setup)
        self._changed()

    # What the person does

    @on(Prompt.Submitted)
    async def send(self, event: Prompt.Submitted) -> None:
        """Ask the model, or keep what was edited."""
        event.stop()
        if self.state != "ready":
            self.prompt.give_back(event.text)
        else:
            try:
                await self._turns.send(event.text)
            except SpecchatError as error:
                self.prompt.give_back(event.text)
                self.complain(error)
        self._changed()

    @on(Said.Wanted)
    async def do_with_message(self, event: Said.Wanted) -> None:
        """Do what is wanted with a message, unless an answer is in the way."""
        event.stop()
        if event.wish in NEEDS_QUIET and self.state != "ready":
            self.prompt.hint(REFUSALS[self.state])
            return
        try:
            await self._turns.do(event.wish, event.message)
        except SpecchatError as error:
            self.complain(error)
        self.refresh_bindings()

    @on(Beyond.Reached)
    def show_more(self, event: Beyond.Reached) -> None:
        """The person reads further than the screen goes."""
        event.stop()
        if not event.far:
            self._transcript.bring(event.side)
        elif event.side == "earlier":
            self._transcript.show_first()
        else:
            self._transcript.show()

    async def stop(self) -> None:
        """End the answer and keep what came, or give up editing."""
        if self.conversation.open:
            await self.stop_answer()
        elif self._turns.is_editing:
            self._turns.end_edit()
            self.refresh_bindings()

    async def stop_answer(self) -> None:
        """End the answer, if there is one, and keep what came."""
        answer = self.conversation.open
        if answer and not answer.stopping:
            answer.stopping = True
            self._exchange.note("stopping")
            await self._send(Stop(answer.id))

    async def new(self) -> None:
        """Begin a new conversation; an answer under way is stopped first, and kept."""
        await self._leave()
        self.conversation.clear()
        self.chat.clear()
        self._changed()

    async def open(self, key: int, message: int | None = None) -> None:
        """Show a conversation of the store.

        Args:
            message: the line on screen goes through it, and it is in view.

        Raises:
            StoreProblem: it is not there.
        """
        await self._leave()
        self.conversation.load(key)
        if message is not None:
            self.conversation.show(message)
        self._transcript.show(message)
        self._recall_answer()
        self._changed()
        if lost := self.answers.lost_preset:
            self.prompt.say(f"There is no preset {lost} any more; the settings hold here.")

    def go_to_messages(self) -> None:
        """Focus the last message, from where keys do something with it."""
        if path := self.conversation.path:
            self._transcript.focus(path[-1].id)

    def show_details(self, message: int | None = None) -> None:
        """Show all that is known of an answer, or of the last one."""
        from specchat.tui.screens.details import DetailsScreen

        last = self.conversation.last_answer
        kept = last if message is None else self.conversation.message(message)
        if kept is None:
            self.prompt.say("There is no answer yet.")
            return
        rounds = self.conversation.store.rounds(kept)
        self.app.push_screen(DetailsScreen(kept, rounds.prefill_s if rounds else None))

    @property
    def timeline(self) -> Timeline:
        """The rounds of the answer under way, or of the last one."""
        return self._exchange.timeline

    def mark_origins(self) -> None:
        """Mark the tokens of the last answer by where they came from, or no longer."""
        answers = [each for each in self.chat.said if isinstance(each, Answer)]
        if answers:
            answers[-1].action_origins()

    # What the engine does

    def engine_is(self, state: EngineState) -> None:
        """It can answer, cannot yet, or cannot any more."""
        self._engine = state
        self._changed()

    def hear(self, event: PromptProgress | Round | Finished) -> None:
        """What it says of an answer."""
        question = self._exchange.hear(event)
        if question is None:
            return
        if isinstance(event, Finished):
            self.alarms = event.alarms
        self.prompt.give_back(question)
        self._changed()
        self._tell_trouble()
        self.run_worker(self.conversation.store.tidy, group="tidy", thread=True)

    def failed(self, event: Failed) -> None:
        """An answer came to nothing."""
        if self.conversation.open and self.conversation.open.id == event.id:
            self.end_early("interrupted")
            self.chat.add(Card.of_failure(event))
            self._changed()

    def end_early(self, state: MessageState) -> None:
        """The open answer gets no further: keep its text, or give the question back."""
        self.prompt.give_back(self._exchange.end_early(state))

    def close(self) -> None:
        """Specchat is left."""
        self._exchange.end_early("interrupted")
        self.conversation.close()

    def complain(self, error: SpecchatError) -> None:
        """Something did not work."""
        self.chat.add(Card.of_failure(Failed.from_error(error)))

    # Helpers

    async def _generate(self, answer: OpenAnswer) -> None:
        answers = self.answers
        request = Generate(
            id=answer.id,
            conversation=instructed(self.conversation.messages, answers.system),
            begun=answer.begun.text if answer.begun else "",
            sampling=answers.sampling,
            speculation=answers.speculation,
            max_tokens=answers.max_tokens,
        )
        self._exchange.begin(answer, request, self.loaded)
        self._changed()
        self._tell_trouble()
        await self._send(request)

    async def _leave(self) -> None:
        await self.stop()
        self._turns.end_edit()
        self.end_early("stopped")
        self._exchange.forget()
        self._answers = self._answers.for_conversation(Setup())
        self._live.clear()
        self.alarms = ()
        self.prompt.focus()

    def _recall_answer(self) -> None:
        """The figures, rounds and alarms are those of the last answer of what is shown."""
        last = self.conversation.last_answer
        if last is not None and last.answer is not None:
            self._exchange.recall(last)
            self._live.recall(last.answer)
            self.alarms = last.answer.alarms

    def _show_drafter(self) -> None:
        """Tell the panel who is to guess, and how guesses are taken back."""
        if self.loaded is not None:
            self._live.stepping_back = self.loaded.stepping_back
            self._live.drafter = drafter_of(self.loaded, self.speculation)

    def _tell_trouble(self) -> None:
        """Once, when conversations cannot be saved, and why."""
        trouble = self.conversation.store.trouble
        if trouble is not None and trouble != self._trouble:
            self.complain(trouble)
        self._trouble = trouble

    def _changed(self) -> None:
        self._show_drafter()
        self.prompt.refusal = REFUSALS[self.state]
        self.prompt.hint("")
        self.post_message(self.Changed())
