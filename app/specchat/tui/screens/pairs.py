"""The choice of a pair: on a first run, and later in place of the one that is loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from specchat.errors import SpecchatError
from specchat.pairing.machine import Machine
from specchat.pairing.planned import PlannedPair
from specchat.pairing.wording import machine_text
from specchat.tui.memory_lines import legend_line
from specchat.tui.pair_entries import made_entry, model_entry, planned_entry
from specchat.tui.widgets.download_line import DownloadLine
from specchat.tui.wording import visible
from specchat.tui.world import World

if TYPE_CHECKING:
    from specchat.choosing.choice import Choice
    from specchat.choosing.offers import Offers
    from specchat.hub.made_pairs import MadePair

OFFERED_FIRST, OFFERED = 3, 12
"""Pairs of the catalog on a first run, and in the list that is opened later."""
OPTION_PADDING = 2
ROOMY = 30
"""Lines of a screen on which entries have a blank line between them."""
BUILT_IN = "built-in"


@dataclass(frozen=True)
class Pick:
    """What a person chose: a pair of the catalog, or files. Neither: the built-in model."""

    pair: str | None = None
    target: str | None = None
    draft: str | None = None


class PairList(OptionList, inherit_bindings=True):
    """Entries of several lines, headings between them."""

    HELP = (
        "Each entry: the model that answers, and who guesses for it; what there is to download; "
        "for every device the memory that it takes, of what is free; the speed to expect, and "
        "where that figure is from; the licence, the context, and the name for `specchat --pair`; "
        "why it is here. A draft that does not suit its target says why."
    )


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
        Binding("b,escape", "built_in", "Built-in model", id="pairs.built_in"),
        Binding("escape,f2", "back", "Back", id="pairs.back"),
        Binding(
            "s", "stop", "Stop download", id="pairs.stop", tooltip="Stop it; what came is kept"
        ),
        Binding("f1", "app.help", "Help", id="pairs.help"),
        Binding("q", "quit", "Quit", id="pairs.quit"),
    ]

    def __init__(
        self, world: World, *, first_run: bool, present: Choice, machine: Machine | None = None
    ) -> None:
        super().__init__()
        self._world = world
        self._first_run = first_run
        self._in_use = None if first_run else present.name
        self._rpc = present.asked.rpc
        self._before = machine
        self._offers: Offers | None = None
        self._made: tuple[MadePair, ...] = ()
        self._spaced = False
        self._picks: dict[str, tuple[Pick, PlannedPair | None]] = {}
        self._machine = Static("Looking at this machine.", markup=False, id="machine")
        self._list = PairList(id="pairs", markup=False)
        self._trouble = Static("", markup=False, id="trouble")
        self._download = DownloadLine()

    def compose(self) -> ComposeResult:
        yield self._machine
        yield self._list
        yield self._trouble
        yield self._download
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """What is known at once can be chosen at once."""
        self._trouble.display = False
        self._list.border_title = "Choose a model" if self._first_run else "pairs"
        self._list.border_subtitle = legend_line()
        self._fill()
        self._list.focus()
        self.look()

    def look(self) -> None:
        """Ask about the machine and the disk, again after a download."""
        self.run_worker(self._look(), exclusive=True)

    def on_resize(self) -> None:
        """Bars are as long as there is room."""
        self.call_after_refresh(self._fill)

    # What the person does

    @on(OptionList.OptionSelected)
    def choose(self, event: OptionList.OptionSelected) -> None:
        """Take what is here; have the rest downloaded."""
        event.stop()
        pick, planned = self._picks[event.option.id or BUILT_IN]
        if planned is not None and not planned.on_disk:
            self._say(None)
            self.post_message(self.Wanted(planned.name))
        else:
            self.dismiss(pick)

    def action_built_in(self) -> None:
        """Try the built-in model, whatever else may be downloading."""
        self.dismiss(Pick())

    def action_back(self) -> None:
        """Keep what is loaded."""
        self.dismiss(None)

    def action_quit(self) -> None:
        """Leave specchat."""
        self.app.exit()

    def action_stop(self) -> None:
        """What came is kept."""
        self.post_message(self.Enough())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what means something here."""
        if action == "stop":
            return self._download.display
        if action in ("built_in", "quit"):
            return self._first_run
        if action == "back":
            return not self._first_run
        return True

    # What the application tells

    def show_download(self, line: DownloadLine) -> None:
        """The download goes on, or has ended."""
        self._download.display = line.display
        self._download.update(line.content)
        self.refresh_bindings()

    def show_error(self, error: SpecchatError) -> None:
        """Something did not work; the list is still there."""
        self._say(error)

    # Helpers

    def _say(self, error: SpecchatError | None) -> None:
        self._trouble.display = error is not None
        if error is not None:
            self._trouble.update(
                Content.assemble(
                    (f"✗ {error.title}. ", "bold $error"),
                    visible(f"{error.message} → {error.next_step}"),
                )
            )

    async def _look(self) -> None:
        count = OFFERED_FIRST if self._first_run else OFFERED
        try:
            self._offers = await asyncio.to_thread(
                self._world.find_offers, count, self._rpc, self._before
            )
            self._machine.update(f"This machine: {visible(machine_text(self._offers.machine))}.")
            self._fill()
            self._made = await asyncio.to_thread(self._world.find_pairs)
            self._fill()
        except SpecchatError as error:
            self._machine.update("This machine could not be looked at.")
            self._say(error)

    def _fill(self) -> None:
        """Draw all entries; the one that was highlighted stays so."""
        at = self._list.highlighted
        before = None if at is None else self._list.get_option_at_index(at).id
        known = len(self._picks)
        self._picks = {}
        self._spaced = self.size.height >= ROOMY
        width = self._list.scrollable_content_region.width - OPTION_PADDING
        options = list(self._options(max(20, width)))
        self._list.set_options(options)
        ids = [option.id for option in self._list.options]
        grown = len(self._picks) > known > 0
        if before in ids and not (grown and before == BUILT_IN):
            self._list.highlighted = ids.index(before)
        else:
            self._list.action_first()

    def _options(self, width: int) -> Iterator[Option]:
        offers = self._offers
        if offers is None:
            if self._first_run:
                yield self._entry(BUILT_IN, Content("The built-in model, to try at once"), Pick())
            return
        here = [pair for pair in offers.best if pair.on_disk]
        if self._first_run:
            yield from self._planned(offers.best, width)
        else:
            yield _heading("On this disk")
            yield from self._planned(here, width)
        yield from self._files(width)
        if offers.built_in is not None and offers.built_in not in offers.best:
            if self._first_run:
                yield _heading("To try at once: it is here already")
            entry = planned_entry(offers.built_in, offers.machine, width)
            yield self._entry(BUILT_IN, entry, Pick(pair=offers.built_in.name), offers.built_in)
        if not self._first_run:
            yield _heading("To download, the best first")
            yield from self._planned([pair for pair in offers.best if pair not in here], width)
        yield from self._unsuitable(width)

    def _planned(
        self, pairs: tuple[PlannedPair, ...] | list[PlannedPair], width: int
    ) -> Iterator[Option]:
        assert self._offers is not None
        for pair in pairs:
            entry = planned_entry(pair, self._offers.machine, width)
            yield self._entry(f"pair {pair.name}", entry, Pick(pair=pair.name), pair)

    def _files(self, width: int) -> Iterator[Option]:
        """Models of the person's, with a draft and alone."""
        assert self._offers is not None
        usable = [pair for pair in self._made if pair.verdict.usable]
        if self._first_run and (usable or self._offers.here):
            yield _heading("On this disk")
        for pair in usable:
            pick = Pick(target=pair.target_path, draft=pair.draft_path)
            yield self._entry(f"made {pick}", made_entry(pair, width), pick)
        for model in self._offers.here:
            yield self._entry(
                f"file {model.path}", model_entry(model, width), Pick(target=model.path)
            )

    def _unsuitable(self, width: int) -> Iterator[Option]:
        unsuitable = [pair for pair in self._made if not pair.verdict.usable]
        if unsuitable:
            yield _heading("Drafts that do not suit")
        for pair in unsuitable:
            yield Option(made_entry(pair, width), disabled=True)

    def _entry(
        self, id: str, content: Content, pick: Pick, planned: PlannedPair | None = None
    ) -> Option:
        self._picks[id] = pick, planned
        if planned is not None and planned.name == self._in_use:
            content = content + "\n" + Content.styled("● loaded now", "$success")
        return Option(content + "\n" if self._spaced else content, id=id)


def _heading(text: str) -> Option:
    return Option(Content.styled(text, "bold underline"), disabled=True)
