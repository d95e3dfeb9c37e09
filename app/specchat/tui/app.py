"""The application: what the person does becomes commands, what the engine says becomes screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from textual import events, on
from textual.actions import SkipAction
from textual.app import ComposeResult, SystemCommand
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer

from specchat.chat.records import Setup
from specchat.engine.protocol import (
    Event,
    Failed,
    Finished,
    Loaded,
    LoadProgress,
    PromptProgress,
    Round,
)
from specchat.errors import EngineCrashed
from specchat.settings import Settings
from specchat.tui.answer_settings import AnswerSettings
from specchat.tui.broken import card_of_broken
from specchat.tui.chat_commands import ChatCommands
from specchat.tui.command_runner import CommandRunner
from specchat.tui.conversation import Conversation
from specchat.tui.conversation_pane import ConversationPane, State
from specchat.tui.conversation_switch import ConversationSwitch
from specchat.tui.copying import told
from specchat.tui.downloads import Downloaded, Downloading
from specchat.tui.interrupts import Interrupts, has_selection
from specchat.tui.keys import BINDINGS, commands
from specchat.tui.letters import LetterApp, Letters, message_of
from specchat.tui.machine_watch import watch_machine
from specchat.tui.pair_loader import PairLoader
from specchat.tui.pair_switch import PairSwitch
from specchat.tui.preferences import Preferences, has_ansi_theme
from specchat.tui.readouts import Readouts
from specchat.tui.screens.compare import CompareScreen
from specchat.tui.screens.help import HelpScreen, commands_listed, keys_of, place_of
from specchat.tui.screens.pairs import PairsScreen
from specchat.tui.screens.press_key import PressKeyScreen
from specchat.tui.setup_changes import in_force
from specchat.tui.widgets.card import Card
from specchat.tui.widgets.download_line import DownloadLine
from specchat.tui.widgets.messages import AlarmLine
from specchat.tui.widgets.pair_list import Pick
from specchat.tui.widgets.prompt import Prompt
from specchat.tui.widgets.speculation_panel import (
    REFRESHES_PER_SECOND,
    PanelRoom,
)
from specchat.tui.world import World

if TYPE_CHECKING:
    from specchat.choosing.choice import Choice

DEFAULTS = Settings()
NOTHING_GIVEN: Mapping[str, Any] = {}

AGEING_S = 5.0
"""Seconds after which it is looked how old the figures are, while nothing else happens."""
SAVES_PER_SECOND = 4
"""How often it is looked whether text of an answer is old enough to be saved."""

BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
"""Under 100 columns the panel folds to a line."""


class SpecchatApp(LetterApp, inherit_bindings=False):
    """The chat on the left, the speculation panel on the right.

    Args:
        choice: the pair to load; on a first run the person is asked first.
        settings: of the file.
        given: options of the command line, by their names.
        resume: whether to go on with the conversation that was used last.
        world: the engine and the machine.
    """

    TITLE = "specchat"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    BINDINGS = BINDINGS

    def __init__(
        self,
        choice: Choice,
        settings: Settings = DEFAULTS,
        given: Mapping[str, Any] = NOTHING_GIVEN,
        *,
        resume: bool = False,
        world: World | None = None,
    ) -> None:
        super().__init__(ansi_color=has_ansi_theme(settings) or None)
        self._preferences = Preferences(self, settings, self._settings_changed)
        world = world or World()
        self._resumes = resume
        self._world = world
        self._readouts = Readouts(world.clock)
        self._loader = PairLoader(choice, world, self.hear)
        self.engine = self._loader.engine
        self.conversation = Conversation(world.open_store, Setup(system=given.get("system")))
        download_line = DownloadLine()
        self._pane = ConversationPane(
            self.conversation,
            self._readouts.live,
            self._readouts.loading_bar,
            download_line,
            answers=AnswerSettings(settings, given),
            send=self.engine.send,
        )
        self._prompt = self._pane.prompt
        self.conversations = ConversationSwitch(self, self._pane)
        self._pairs = PairSwitch(self, world, self._pane.chat, self._begin, download_line)
        self._commands = ChatCommands(self, self._pane, lambda: self._loader.choice.load)
        self._runner = CommandRunner(self._prompt, self._commands.table)
        self._interrupts = Interrupts(self, self._prompt, self._pane.stop_answer)
        self.letters = Letters(self, self._prompt)

    @property
    def state(self) -> State:
        """What can be done now."""
        return self._pane.state

    def compose(self) -> ComposeResult:
        yield self._readouts.top_line
        with Horizontal(id="middle"):
            yield self._pane
            with Vertical(id="panel") as panel:
                panel.border_title = "speculation"
                yield PanelRoom(self._readouts.panel)
                yield self._readouts.memory
        yield self._readouts.line
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Load, or ask what to load; the person can write meanwhile."""
        self._preferences.begin(self._prompt)
        self._beats = (
            self.set_interval(1 / SAVES_PER_SECOND, self.conversation.flush, pause=True),
            self.set_interval(1 / REFRESHES_PER_SECOND, self._readouts.show_figures, pause=True),
        )
        self.set_interval(AGEING_S, self._readouts.show_speculation)
        self.run_worker(
            watch_machine(self._world.read_conditions, self._readouts.heed), group="machine"
        )
        self._prompt.focus()
        self._readouts.show_figures()
        if self._resumes:
            self.call_after_refresh(self.conversations.resume)
        if self._loader.choice.first_run:
            self._pairs.open(self._loader.choice, first_run=True)
        else:
            self._begin(self._loader.choice)

    async def on_unmount(self) -> None:
        """Leave no process behind, however the screen ends."""
        self._pairs.close()
        await self.engine.close()
        self._pane.close()

    def on_resize(self) -> None:
        """The panel shows as much as there is room for."""
        self.call_after_refresh(self._readouts.show_figures)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Everything that a key of ours does, by name, and the colours."""
        named = commands(self, screen)
        if screen is self.screen_stack[0]:
            named.update(self._runner.listed(named))
        yield from named.values()
        yield SystemCommand("Theme", "Change the colours", self.action_change_theme)

    # What the person does

    async def action_stop(self) -> None:
        """End the answer and keep what came, or give up editing."""
        await self._pane.stop()

    async def action_new_chat(self) -> None:
        """Begin a new conversation."""
        await self._pane.new()

    def action_conversations(self) -> None:
        """Look for another conversation."""
        self.conversations.choose()

    def action_messages(self) -> None:
        """Go to the messages; letters are keys of the one that was clicked, if one was."""
        if not self.letters.choose():
            self._pane.go_to_messages()

    def action_timeline(self) -> None:
        """Show the rounds of the last answer."""
        from specchat.tui.screens.timeline import TimelineScreen

        self.push_screen(TimelineScreen(self._pane.timeline))

    def action_origins(self) -> None:
        """Mark where the last answer came from."""
        self._pane.mark_origins()

    def action_restart(self) -> None:
        """Load again, in a new engine."""
        if self.state == "broken":
            self._begin(self._loader.choice)

    def action_restart_with_less(self) -> None:
        """Load what takes less memory."""
        if self.state == "broken":
            self._show_loading()
            self.run_worker(self._loader.load_less(), group="engine", exclusive=True)

    def action_reload(self) -> None:
        """Load the present pair again, as the settings have it now."""
        if self.state != "loading":
            self._begin(self._loader.choice)

    def action_pairs(self) -> None:
        """Choose another pair."""
        self._pairs.open(self._loader.choice, self._loader.machine)

    async def action_use_pair(self, name: str) -> None:
        """Load a pair that has been downloaded."""
        await self._pairs.use(Pick(pair=name), self._loader.choice)

    def action_compare(self) -> None:
        """Answer a question twice, plain and with drafts: the chosen one, or the last."""
        if asked := self._pane.to_compare(message_of(self.screen_stack[0].focused)):
            ids, keep = self.conversation.next_id, self._pane.keep
            self.push_screen(CompareScreen(asked, next_id=ids, send=self.engine.send, keep=keep))

    def action_settings(self) -> None:
        """Set everything that can be set."""
        from specchat.tui.screens.settings import SettingsScreen

        if not isinstance(self.screen, SettingsScreen):
            self.push_screen(SettingsScreen(self._preferences, lambda: self._pane.answers))

    def action_help(self) -> None:
        """Tell about the place where the person is."""
        screen = self.screen
        if not isinstance(screen, HelpScreen):
            notices = self._pane.alarms if len(self.screen_stack) == 1 else ()
            written = () if screen.is_modal else commands_listed()
            help_screen = HelpScreen(notices, place_of(screen), tuple(keys_of(screen)), written)
            self.push_screen(help_screen)

    @on(AlarmLine.Opened)
    def tell_about(self, event: AlarmLine.Opened) -> None:
        """Tell what to do about one alarm."""
        self.push_screen(HelpScreen((event.alarm,), "", tuple(keys_of(self.screen))))

    def action_scroll_chat(self, pages: int) -> None:
        """Read further up or down while the cursor stays in the prompt."""
        if pages < 0:
            self._pane.chat.scroll_page_up()
        else:
            self._pane.chat.scroll_page_down()

    async def action_interrupt(self) -> None:
        """Ctrl+C: leave what is selected to be copied, else stop the answer; twice quits."""
        if has_selection(self.screen):
            raise SkipAction
        await self._interrupts.come()

    async def action_command(self, name: str) -> None:
        """Do what a command of the prompt does."""
        await self._runner.begin(name)

    def action_copy_answer(self, what: str = "") -> None:
        """Copy the last answer, or `code`: its last code block."""
        self._commands.copy(what)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy, and say so; what was selected for it is not any more."""
        super().copy_to_clipboard(text)
        self._prompt.hint(told("", text))
        self.clear_selection()

    @on(Prompt.Commanded)
    async def obey(self, event: Prompt.Commanded) -> None:
        """Do what a command says."""
        event.stop()
        await self._runner.run(event.given, event.text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey out what would do nothing now; starting again shows only when it can be done."""
        if isinstance(self.screen, PressKeyScreen):
            return False
        if action == "stop":
            return self._pane.can_stop or None
        if action == "compare":
            return self._pane.can_compare or None
        if action == "restart":
            return self.state == "broken"
        if action == "restart_with_less":
            return self.state == "broken" and self._loader.has_less
        return True

    def on_paste(self, event: events.Paste) -> None:
        """Pasting goes to the prompt, as typing does."""
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
        screens = [screen for screen in self.screen_stack if isinstance(screen, CompareScreen)]
        if any(screen.hear(event) for screen in screens):
            return
        match event:
            case LoadProgress():
                self._readouts.loading_bar.show(event)
            case Loaded():
                self._on_loaded(event)
            case PromptProgress() | Round() | Finished():
                self._pane.hear(event)
            case Failed(id=None):
                self._on_broken(event)
            case Failed():
                self._pane.failed(event)

    def _on_loaded(self, event: Loaded) -> None:
        self._pane.loaded = event
        self._readouts.loaded(event, self._loader.plan, self._loader.machine)
        self._pane.chat.settle_cards()
        self._pane.chat.add(*Card.of_notices(self._loader.loaded(event.notices)))
        self._pane.chat.welcome("Ready. Everything runs on this machine.")
        self._pane.engine_is("ready")

    def _on_broken(self, event: Failed) -> None:
        """Loading failed or the engine is gone; without either, the engine goes on."""
        crashed = event.kind == EngineCrashed.kind
        if not crashed and self.state != "loading":
            self._pane.chat.add(Card.of_failure(event))
            return
        self._pane.end_early("interrupted")
        self._readouts.loading_bar.display = False
        self._pane.chat.settle_cards()
        less = self._loader.less() if crashed else None
        self._pane.chat.add(card_of_broken(event, less))
        self._pane.engine_is("broken")

    @on(ConversationPane.Changed)
    def show_state(self) -> None:
        """Keys and figures are those of what goes on now, and so is what holds."""
        if not self.screen_stack:  # the program is being left
            return
        self._readouts.show_setup(in_force(self._pane.answers))
        self.refresh_bindings()
        if self.state == "answering":
            for beat in self._beats:
                beat.resume()
        else:
            for beat in self._beats:
                beat.pause()
            self._readouts.show_figures()

    # Helpers

    def _settings_changed(self, settings: Settings) -> None:
        """What holds for answers and for the next load follows the file."""
        from specchat.choosing.choice import asked_anew

        self._pane.set_up(self._pane.answers.with_settings(settings))
        choice = self._loader.choice
        self._loader.choice = asked_anew(choice, self._pane.answers.asked(choice.asked))
        self.call_after_refresh(self._readouts.show_figures)

    def _begin(self, choice: Choice) -> None:
        """Load this pair in place of the present one; the conversation stays."""
        self._pane.end_early("stopped")
        self._loader.take(choice)
        self._show_loading()
        self.run_worker(self._loader.load(), group="engine", exclusive=True)

    def _show_loading(self) -> None:
        self._readouts.begin(self._loader.choice.load.pair)
        self._pane.engine_is("loading")
        self._prompt.focus()
