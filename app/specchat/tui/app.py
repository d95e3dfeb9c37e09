"""The application: what the person does becomes commands, what the engine says becomes screen."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer

from specchat.engine.client import ENGINE_COMMAND
from specchat.engine.protocol import (
    DrafterName,
    Event,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    LoadProgress,
    PromptProgress,
    Round,
    Stop,
)
from specchat.errors import EngineCrashed
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from specchat.tui.conversation import Conversation
from specchat.tui.engine_link import EngineLink
from specchat.tui.widgets.card import Card
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.loading_bar import LoadingBar
from specchat.tui.widgets.messages import Answer, Question
from specchat.tui.widgets.prompt import Prompt
from specchat.tui.widgets.speculation_panel import (
    REFRESHES_PER_SECOND,
    LiveFigures,
    SpeculationLine,
    SpeculationPanel,
)
from specchat.tui.widgets.top_line import TopLine

State = Literal["loading", "ready", "answering", "broken"]

BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
"""Under 100 columns the panel folds to a line."""

REFUSALS: dict[State, str] = {
    "loading": "still loading; your text stays here",
    "ready": "",
    "answering": "wait for the answer, or stop it with Esc",
    "broken": "no model is loaded; Ctrl+R tries again",
}
"""Why nothing can be sent."""

ENDED = {"stop": "", "length": "reached the length limit", "cancelled": "stopped"}


class SpecchatApp(App[None], inherit_bindings=False):
    """The chat on the left, the speculation panel on the right.

    Args:
        load: the pair that the engine loads, and how.
        sampling: how tokens are drawn, for every answer.
        speculation: how guesses are made, for every answer.
        system: instructions before the conversation.
        max_tokens: the longest answer.
        engine_command: how the engine's process is started.
    """

    TITLE = "specchat"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", id="chat.stop"),
        Binding("ctrl+n", "new_chat", "New chat", id="chat.new"),
        Binding("ctrl+r", "restart", "Restart", id="engine.restart"),
        Binding("ctrl+q", "quit", "Quit", id="app.quit", priority=True),
        Binding("pageup", "scroll_chat(-1)", "Scroll", id="chat.page_up"),
        Binding("pagedown", "scroll_chat(1)", "Scroll", id="chat.page_down", show=False),
        Binding("ctrl+c", "help_quit", id="app.help_quit", show=False, system=True),
    ]

    def __init__(
        self,
        load: Load,
        sampling: SamplingSettings,
        speculation: SpeculationSettings,
        *,
        system: str | None = None,
        max_tokens: int | None = None,
        engine_command: Sequence[str] = ENGINE_COMMAND,
    ) -> None:
        super().__init__()
        self._load = load
        self._sampling = sampling
        self._speculation = speculation
        self._max_tokens = max_tokens
        self.state: State = "loading"
        self.conversation = Conversation(system)
        self.engine = EngineLink(engine_command, self._on_engine_event)
        self._live = LiveFigures()
        self._context_used = 0
        self._exchange: tuple[Question, Answer] | None = None
        self._top_line = TopLine(load.pair)
        self._chat = ChatView()
        self._loading = LoadingBar(load.pair)
        self._prompt = Prompt()
        self._panel = SpeculationPanel()
        self._line = SpeculationLine()

    def compose(self) -> ComposeResult:
        yield self._top_line
        with Horizontal(id="middle"):
            with Vertical(id="left"):
                yield self._chat
                yield self._loading
                yield self._prompt
            yield self._panel
        yield self._line
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Start the engine; the person can write meanwhile."""
        self._beat = self.set_interval(1 / REFRESHES_PER_SECOND, self._show_figures, pause=True)
        self._prompt.focus()
        self._show_figures()
        self._start_engine()

    async def on_unmount(self) -> None:
        """Leave no process behind, however the screen ends."""
        await self.engine.close()

    def on_resize(self) -> None:
        """The panel shows as much as there is room for."""
        self.call_after_refresh(self._show_figures)

    # What the person does

    @on(Prompt.Submitted)
    async def send_question(self, event: Prompt.Submitted) -> None:
        """Ask the model."""
        if self.state == "ready":
            await self._ask(event.text)
        else:
            self._prompt.give_back(event.text)
            self._prompt.refusal = REFUSALS[self.state]

    async def action_stop(self) -> None:
        """End the answer and keep what came."""
        answer = self.conversation.open
        if answer and not answer.stopping:
            answer.stopping = True
            self._note("stopping")
            await self.engine.send(Stop(answer.id))

    async def action_new_chat(self) -> None:
        """Forget the conversation; an answer under way is stopped first."""
        await self.action_stop()
        self.conversation.clear()
        self._exchange = None
        self._live.clear()
        self._context_used = 0
        self._chat.clear()
        if self.state == "answering":
            self._set_state("ready")
        self._show_figures()
        self._prompt.focus()

    @on(Card.Pressed)
    async def action_restart(self) -> None:
        """Load again; start a new engine when the old one is gone."""
        if self.state != "broken":
            return
        self._prompt.focus()
        if self.engine.pid is None:
            self._start_engine()
        else:
            self._begin_loading()
            await self.engine.send(self._load)

    def action_scroll_chat(self, pages: int) -> None:
        """Read further up or down while the cursor stays in the prompt."""
        if pages < 0:
            self._chat.scroll_page_up()
        else:
            self._chat.scroll_page_down()

    def action_help_quit(self) -> None:
        """Ctrl+C with nothing selected: it does not quit, so tell what does."""
        self._prompt.hint("Ctrl+Q quits")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey out what would do nothing now; starting again shows only when it can be done."""
        if action == "stop":
            return True if self.state == "answering" else None
        if action == "restart":
            return self.state == "broken"
        return True

    def on_key(self, event: events.Key) -> None:
        """Typing goes to the prompt, wherever the focus is."""
        if event.is_printable and event.character and self.focused is not self._prompt:
            self._prompt.focus()
            self._prompt.type_in(event.character)

    def on_paste(self, event: events.Paste) -> None:
        """So does pasting."""
        self._prompt.on_paste(event)

    # What the engine says

    def _on_engine_event(self, event: Event) -> None:
        match event:
            case LoadProgress():
                self._loading.show(event)
            case Loaded():
                self._on_loaded(event)
            case PromptProgress() | Round() | Finished():
                self._on_answer_event(event)
            case Failed(id=None):
                self._on_broken(event)
            case Failed():
                self._on_failed_answer(event)

    def _on_answer_event(self, event: PromptProgress | Round | Finished) -> None:
        answer = self.conversation.open
        if answer is None or answer.id != event.id:
            return  # The answer was given up; what is still on its way does not matter.
        match event:
            case PromptProgress():
                if event.done < event.total and not answer.stopping:
                    self._note(f"reading {event.done} of {event.total} new tokens")
            case Round():
                if not answer.parts and not answer.stopping:
                    self._note("")
                answer.parts.append(event.text)
                self._write(event.text)
                self._live.add(event.figures, event.reason)
                self._context_used = event.n_past
            case Finished():
                self._on_finished(event)

    def _on_loaded(self, event: Loaded) -> None:
        self._top_line.show_loaded(event)
        choice = self._speculation.drafter
        drafter: DrafterName = event.drafter if choice == "auto" else choice
        if choice == "model" and event.drafter == "ngram+mtp":
            drafter = "mtp"
        self._live.drafter = drafter if self._speculation.draft_length else "none"
        self._loading.display = False
        for card in self._chat.query(Card):
            card.settle()
        self._chat.add(*map(Card.of_notice, event.notices))
        self._chat.welcome("Ready. Everything runs on this machine.")
        self._set_state("ready")
        self._show_figures()

    def _on_finished(self, event: Finished) -> None:
        self._write(event.tail)
        self._live.figures = event.figures
        self._context_used = event.n_past
        if event.finish_reason == "cancelled" and not event.text:
            self._take_back()
        else:
            self.conversation.finish(event.text)
            self._close_answer(event, ENDED[event.finish_reason])
        self._set_state("ready")

    def _on_failed_answer(self, event: Failed) -> None:
        if self.conversation.open and self.conversation.open.id == event.id:
            self._end_early("failed")
            self._chat.add(Card.of_failure(event))
            self._set_state("ready")

    def _on_broken(self, event: Failed) -> None:
        """Loading failed or the engine is gone; without either, the engine goes on."""
        crashed = event.kind == EngineCrashed.kind
        if not crashed and self.state != "loading":
            self._chat.add(Card.of_failure(event))
            return
        self._end_early("cut off")
        self._loading.display = False
        for card in self._chat.query(Card):
            card.settle()
        action = "Start again" if crashed else "Try again"
        self._chat.add(Card.of_failure(event, f"{action} (Ctrl+R)"))
        self._set_state("broken")

    # Helpers

    def _start_engine(self) -> None:
        self._begin_loading()
        self.run_worker(self.engine.run(self._load), group="engine", exclusive=True)

    def _begin_loading(self) -> None:
        self._loading.begin()
        self._set_state("loading")

    async def _ask(self, text: str) -> None:
        answer = self.conversation.ask(text)
        self._exchange = Question(text), Answer()
        self._chat.add(*self._exchange)
        self._chat.follow()
        self._live.begin_answer()
        self._set_state("answering")
        await self.engine.send(
            Generate(
                id=answer.id,
                conversation=self.conversation.messages,
                sampling=self._sampling,
                speculation=self._speculation,
                max_tokens=self._max_tokens,
            )
        )

    def _end_early(self, ended: str) -> None:
        """The open answer gets no further: keep its text, or give the question back."""
        answer = self.conversation.open
        if answer is None:
            return
        if answer.text:
            self.conversation.finish(answer.text)
            self._close_answer(None, ended)
        else:
            self._take_back()

    def _take_back(self) -> None:
        self._prompt.give_back(self.conversation.withdraw())
        if self._exchange:
            for widget in self._exchange:
                widget.remove()
        self._exchange = None

    def _close_answer(self, finished: Finished | None, ended: str) -> None:
        if self._exchange:
            figures = finished.figures if finished else self._live.figures
            self._exchange[1].finish(figures, ended, finished.alarms if finished else ())
        self._exchange = None

    def _write(self, text: str) -> None:
        if self._exchange:
            self._exchange[1].write(text)

    def _note(self, text: str) -> None:
        if self._exchange:
            self._exchange[1].note(text)

    def _set_state(self, state: State) -> None:
        self.state = state
        self._prompt.refusal = REFUSALS[state]
        self._prompt.hint("")
        self.refresh_bindings()
        if state == "answering":
            self._beat.resume()
        else:
            self._beat.pause()
            self._show_figures()

    def _show_figures(self) -> None:
        self._top_line.show_context(self._context_used)
        self._panel.show(self._live)
        self._line.show(self._live)


def run(
    load: Load,
    sampling: SamplingSettings,
    speculation: SpeculationSettings,
    *,
    system: str | None = None,
    max_tokens: int | None = None,
) -> int:
    """Show the chat until the person quits; the exit code of the process."""
    app = SpecchatApp(load, sampling, speculation, system=system, max_tokens=max_tokens)
    app.run()
    return app.return_code or 0
