"""The choice of a pair: on a first run, and later in place of the one that is loaded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from specchat.errors import SpecchatError
from specchat.pairing.machine import Machine
from specchat.pairing.wording import machine_text
from specchat.tui.error_line import error_line
from specchat.tui.widgets.download_line import DownloadLine
from specchat.tui.widgets.pair_list import PairList, Pick
from specchat.tui.wording import visible
from specchat.tui.world import World

if TYPE_CHECKING:
    from specchat.choosing.choice import Choice

OFFERED_FIRST = 3
"""Pairs of the catalog on a first run; the list that is opened later has all of them."""


class PairsScreen(ModalScreen[Pick | None]):
    """Shows the machine, the pairs that fit, and what is on the disk.

    Args:
        world: who knows about the machine.
        first_run: nothing is loaded yet; leaving the screen starts the built-in model.
        present: the pair that is loaded.
        machine: as it was before that; None: as it is now.
    """

    class Wanted(Message):
        """A pair has to be downloaded first."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Enough(Message):
        """The download is to be stopped."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear", "All of them", id="pairs.clear", tooltip="Filter no longer"),
        Binding("escape", "built_in", "Built-in model", id="pairs.built_in"),
        Binding("escape,f2", "back", "Back", id="pairs.back"),
        Binding(
            "f5",
            "reload",
            "Load again",
            id="pairs.reload",
            tooltip="Load the present pair anew, with the settings as they are now",
        ),
        Binding(
            "f8", "stop", "Stop download", id="pairs.stop", tooltip="Stop it; what came is kept"
        ),
        Binding("f1", "app.help", "Help", id="pairs.help"),
        Binding("ctrl+q", "quit", "Quit", id="pairs.quit"),
        Binding("up", "go('cursor_up')", "Up", id="pairs.up", show=False),
        Binding("down", "go('cursor_down')", "Down", id="pairs.down", show=False),
        Binding("pageup", "go('page_up')", "Page up", id="pairs.page_up", show=False),
        Binding("pagedown", "go('page_down')", "Page down", id="pairs.page_down", show=False),
    ]

    def __init__(
        self, world: World, *, first_run: bool, present: Choice, machine: Machine | None = None
    ) -> None:
        super().__init__()
        self._world = world
        self._first_run = first_run
        self._rpc = present.asked.rpc
        self._before = machine
        self._machine = Static("Looking at this machine.", markup=False, id="machine")
        self._list = PairList(first_run=first_run, in_use=None if first_run else present.name)
        self._filter = Input(
            placeholder="words of a title, a name, a licence",
            compact=True,
            select_on_focus=False,
            id="filter",
        )
        self._trouble = Static("", markup=False, id="trouble")
        self._download = DownloadLine()

    def compose(self) -> ComposeResult:
        yield self._machine
        yield self._filter
        yield self._list
        yield self._trouble
        yield self._download
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """What is known at once can be chosen at once."""
        self._trouble.display = self._filter.display = False
        self._list.focus()
        self.look()

    def look(self) -> None:
        """Ask about the machine and the disk, again after a download."""
        self.run_worker(self._look(), exclusive=True)

    # What the person does

    @on(OptionList.OptionSelected)
    def choose(self, event: OptionList.OptionSelected) -> None:
        """Take what is here; have the rest downloaded."""
        event.stop()
        self._take(event.option)

    @on(Input.Submitted)
    def choose_highlighted(self, event: Input.Submitted) -> None:
        """Take the entry where the arrows went while the cursor stayed in the filter."""
        event.stop()
        option = self._list.highlighted_option
        if option is not None and not option.disabled:
            self._take(option)

    @on(Input.Changed)
    def filter_list(self, event: Input.Changed) -> None:
        """Show what has all the words; without any, everything again."""
        event.stop()
        if not event.value:
            self._filter.display = False
            self._list.focus()
        self._list.filter(event.value)
        self.refresh_bindings()

    def on_key(self, event: events.Key) -> None:
        """Letters go to the filter."""
        if event.is_printable and event.character and self.focused is self._list:
            event.stop()
            self._filter.display = True
            self._filter.focus()
            self._filter.insert_text_at_cursor(event.character)

    def action_clear(self) -> None:
        """Show everything again."""
        self._filter.clear()

    def action_go(self, where: str) -> None:
        """Walk through the list while the cursor stays in the filter."""
        getattr(self._list, f"action_{where}")()

    async def action_reload(self) -> None:
        """Load the present pair again."""
        self.dismiss(None)
        await self.run_action("app.reload")

    def _take(self, option: Option) -> None:
        """Take what is here; have the rest downloaded."""
        name = self._list.to_download(option)
        if name is None:
            self.dismiss(self._list.pick(option))
        else:
            self._trouble.display = False
            self.post_message(self.Wanted(name))

    def action_built_in(self) -> None:
        """Try the built-in model, whatever else may be downloading."""
        self.dismiss(Pick())

    def action_back(self) -> None:
        """Keep what is loaded."""
        self.dismiss(None)

    def action_stop(self) -> None:
        """What came is kept."""
        self.post_message(self.Enough())

    def action_quit(self) -> None:
        """Leave specchat."""
        self.app.exit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what means something here."""
        if action == "stop":
            return self._download.display
        if action == "clear":
            return self._filter.display
        if action == "built_in":
            return self._first_run and not self._filter.display
        if action == "quit":
            return self._first_run
        if action == "reload":
            return not self._first_run
        if action == "back":
            return not self._first_run and not self._filter.display
        return True

    # What the application tells

    def show_download(self, line: DownloadLine) -> None:
        """The download goes on, or has ended."""
        self._download.display = line.display
        self._download.update(line.content)
        self.refresh_bindings()

    def show_error(self, error: SpecchatError) -> None:
        """Something did not work; the list is still there."""
        self._trouble.display = True
        self._trouble.update(error_line(error))

    async def _look(self) -> None:
        try:
            offers = await asyncio.to_thread(
                self._world.find_offers, OFFERED_FIRST, self._rpc, self._before
            )
            self._machine.update(f"This machine: {visible(machine_text(offers.machine))}.")
            self._list.show(offers)
            self._list.show(
                offers, await asyncio.to_thread(self._world.look_at_disk, offers.machine)
            )
        except SpecchatError as error:
            self._machine.update("This machine could not be looked at.")
            self.show_error(error)
