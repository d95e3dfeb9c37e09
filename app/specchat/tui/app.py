"""The application: what the person does becomes commands, what the engine says becomes screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace
from textual import events, on
from textual.app import App, ComposeResult, SystemCommand
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer

from specchat.engine.drafter_names import WITHOUT_NGRAMS, DrafterName
from specchat.engine.protocol import (
    Event,
    Failed,
    Finished,
    Generate,
    Loaded,
    LoadProgress,
    Notice,
    PromptProgress,
    Round,
    Stop,
)
from specchat.errors import EngineCrashed
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from specchat.tui.conversation import Conversation
from specchat.tui.downloads import Downloaded, Downloading
from specchat.tui.exchange import Exchange
from specchat.tui.keys import BINDINGS, commands
from specchat.tui.pair_loader import PairLoader
from specchat.tui.pair_switch import OTHER_PAIRS, PairSwitch
from specchat.tui.screens.help import HelpScreen, keys_of, place_of
from specchat.tui.screens.pairs import PairsScreen
from specchat.tui.widgets.card import Card
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.loading_bar import LoadingBar
from specchat.tui.widgets.memory_bars import MemoryBars
from specchat.tui.widgets.messages import AlarmLine
from specchat.tui.widgets.pair_list import Pick
from specchat.tui.widgets.prompt import Prompt
from specchat.tui.widgets.speculation_panel import (
    REFRESHES_PER_SECOND,
    LiveFigures,
    SpeculationLine,
    SpeculationPanel,
)
from specchat.tui.widgets.top_line import TopLine
from specchat.tui.world import World

if TYPE_CHECKING:
    from specchat.choosing.choice import Choice

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
        choice: the pair to load; on a first run the person is asked first.
        sampling: how tokens are drawn, for every answer.
        speculation: how guesses are made, for every answer.
        system: instructions before the conversation.
        max_tokens: the longest answer.
        world: the engine and the machine.
    """

    TITLE = "specchat"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    BINDINGS = BINDINGS

    def __init__(
        self,
        choice: Choice,
        sampling: SamplingSettings,
        speculation: SpeculationSettings,
        *,
        system: str | None = None,
        max_tokens: int | None = None,
        world: World | None = None,
    ) -> None:
        super().__init__()
        self._sampling = sampling
        self._speculation = speculation
        self._max_tokens = max_tokens
        world = world or World()
        self.state: State = "loading"
        self.conversation = Conversation(system)
        self._live = LiveFigures()
        self._context_used = 0
        self._alarms: tuple[Notice, ...] = ()
        self._top_line = TopLine()
        self._chat = ChatView()
        self._exchange = Exchange(self.conversation, self._chat)
        self._loading_bar = LoadingBar()
        self._prompt = Prompt()
        self._panel = SpeculationPanel()
        self._memory = MemoryBars()
        self._line = SpeculationLine()
        self._loader = PairLoader(choice, world, self.hear)
        self._pairs = PairSwitch(self, world, self._chat, self._begin)
        self.engine = self._loader.engine

    def compose(self) -> ComposeResult:
        yield self._top_line
        with Horizontal(id="middle"):
            with Vertical(id="left"):
                yield self._chat
                yield self._loading_bar
                yield self._pairs.line
                yield self._prompt
            with Vertical(id="panel") as panel:
                panel.border_title = "speculation"
                yield self._panel
                yield self._memory
        yield self._line
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Load, or ask what to load; the person can write meanwhile."""
        self._beat = self.set_interval(1 / REFRESHES_PER_SECOND, self._show_figures, pause=True)
        self._prompt.focus()
        self._show_figures()
        if self._loader.choice.first_run:
            self._pairs.open(self._loader.choice, first_run=True)
        else:
            self._begin(self._loader.choice)

    async def on_unmount(self) -> None:
        """Leave no process behind, however the screen ends."""
        self._pairs.close()
        await self.engine.close()

    def on_resize(self) -> None:
        """The panel shows as much as there is room for."""
        self.call_after_refresh(self._show_figures)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Everything that a key of ours does, by name, and the colours."""
        yield from commands(self, screen)
        yield SystemCommand("Theme", "Change the colours", self.action_change_theme)

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
            self._exchange.note("stopping")
            await self.engine.send(Stop(answer.id))

    async def action_new_chat(self) -> None:
        """Forget the conversation; an answer under way is stopped first."""
        await self.action_stop()
        self._exchange.forget()
        self._live.clear()
        self._alarms = ()
        self._context_used = 0
        self._chat.clear()
        if self.state == "answering":
            self._set_state("ready")
        self._show_figures()
        self._prompt.focus()

    def action_restart(self) -> None:
        """Load again, in a new engine."""
        if self.state == "broken":
            self._begin(self._loader.choice)

    def action_restart_with_less(self) -> None:
        """Load what takes less memory."""
        if self.state == "broken":
            self._show_loading()
            self.run_worker(self._loader.load_less(), group="engine", exclusive=True)

    def action_pairs(self) -> None:
        """Choose another pair."""
        self._pairs.open(self._loader.choice, self._loader.machine)

    async def action_use_pair(self, name: str) -> None:
        """Load a pair that has been downloaded."""
        await self._pairs.use(Pick(pair=name), self._loader.choice)

    def action_help(self) -> None:
        """Tell about the place where the person is."""
        screen = self.screen
        if not isinstance(screen, HelpScreen):
            notices = () if isinstance(screen, PairsScreen) else self._alarms
            self.push_screen(HelpScreen(notices, place_of(screen), tuple(keys_of(screen))))

    @on(AlarmLine.Opened)
    def tell_about(self, event: AlarmLine.Opened) -> None:
        """Tell what to do about one alarm."""
        self.push_screen(HelpScreen((event.alarm,), "", tuple(keys_of(self.screen))))

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
        if action == "restart_with_less":
            return self.state == "broken" and self._loader.has_less
        return True

    def on_key(self, event: events.Key) -> None:
        """Typing goes to the prompt, wherever the focus is in the chat."""
        if len(self.screen_stack) > 1:
            return
        if event.is_printable and event.character and self.focused is not self._prompt:
            self._prompt.focus()
            self._prompt.type_in(event.character)

    def on_paste(self, event: events.Paste) -> None:
        """So does pasting."""
        if len(self.screen_stack) == 1:
            self._prompt.on_paste(event)

    # What a download says

    @on(PairsScreen.Wanted)
    def download(self, event: PairsScreen.Wanted) -> None:
        """A pair is to be downloaded."""
        self._pairs.want(event.name)

    @on(PairsScreen.Enough)
    def stop_download(self) -> None:
        """The download is to be stopped."""
        self._pairs.enough()

    def on_downloading(self, event: Downloading) -> None:
        """It goes on."""
        self._pairs.show(event)

    def on_downloaded(self, event: Downloaded) -> None:
        """It has ended."""
        self._pairs.downloaded(event)

    # What the engine says

    def hear(self, event: Event) -> None:
        """An event of the engine, in order."""
        match event:
            case LoadProgress():
                self._loading_bar.show(event)
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
                    self._exchange.note(f"reading {event.done} of {event.total} new tokens")
            case Round():
                if not answer.parts and not answer.stopping:
                    self._exchange.note("")
                answer.parts.append(event.text)
                self._exchange.write(event.text)
                self._live.add(event.figures, event.reason)
                self._context_used = event.n_past
            case Finished():
                self._on_finished(event)

    def _on_loaded(self, event: Loaded) -> None:
        self._top_line.show_loaded(event, self._loader.plan, self._loader.machine)
        self._memory.show(self._loader.plan, self._loader.machine)
        choice = self._speculation.drafter
        drafter: DrafterName = event.drafter if choice == "auto" else choice
        if choice == "model":
            drafter = WITHOUT_NGRAMS.get(event.drafter, choice)
        self._live.drafter = drafter if self._speculation.draft_length else "none"
        self._loading_bar.display = False
        self._chat.settle_cards()
        self._chat.add(*Card.of_notices(self._loader.loaded(event.notices)))
        self._chat.welcome("Ready. Everything runs on this machine.")
        self._set_state("ready")
        self._show_figures()

    def _on_finished(self, event: Finished) -> None:
        self._exchange.write(event.tail)
        self._live.figures = event.figures
        self._context_used = event.n_past
        self._alarms = event.alarms
        if event.finish_reason == "cancelled" and not event.text:
            self._prompt.give_back(self._exchange.take_back())
        else:
            ended = ENDED[event.finish_reason]
            self._exchange.close(event.text, event.figures, ended, event.alarms)
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
        self._loading_bar.display = False
        self._chat.settle_cards()
        actions = [(f"{'Start' if crashed else 'Try'} again (Ctrl+R)", "restart")]
        less = self._loader.less() if crashed else None
        if less:
            means = less.sentence[0].lower() + less.sentence[1:]
            event = replace(event, help=f"{event.help} Less would be: {means}")
            actions.append(("Start again with less (Ctrl+L)", "restart_with_less"))
        self._chat.add(Card.of_failure(event, *actions, OTHER_PAIRS))
        self._set_state("broken")

    # Helpers

    def _begin(self, choice: Choice) -> None:
        """Load this pair in place of the present one; the conversation stays."""
        self._end_early("stopped")
        self._loader.take(choice)
        self._show_loading()
        self.run_worker(self._loader.load(), group="engine", exclusive=True)

    def _show_loading(self) -> None:
        pair = self._loader.choice.load.pair
        self._top_line.begin(pair)
        self._memory.show(None, None)
        self._loading_bar.begin(pair)
        self._set_state("loading")
        self._prompt.focus()

    async def _ask(self, text: str) -> None:
        answer = self._exchange.begin(text)
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
            self._exchange.close(answer.text, self._live.figures, ended)
        else:
            self._prompt.give_back(self._exchange.take_back())

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
    choice: Choice,
    sampling: SamplingSettings,
    speculation: SpeculationSettings,
    *,
    system: str | None = None,
    max_tokens: int | None = None,
) -> int:
    """Show the chat until the person quits; the exit code of the process."""
    app = SpecchatApp(choice, sampling, speculation, system=system, max_tokens=max_tokens)
    app.run()
    return app.return_code or 0
