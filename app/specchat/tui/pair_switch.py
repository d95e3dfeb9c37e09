"""Choosing another pair while the chat goes on, and downloading it first if need be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual.app import App

from specchat.engine.protocol import Failed, Notice
from specchat.errors import InvalidSetting, SpecchatError
from specchat.hub.builtin import BUILT_IN
from specchat.pairing.machine import Machine
from specchat.tui.downloads import Download, Downloaded, Downloading
from specchat.tui.screens.pairs import PairsScreen
from specchat.tui.widgets.card import Card
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.download_line import DownloadLine
from specchat.tui.widgets.pair_list import Pick
from specchat.tui.world import World

if TYPE_CHECKING:
    from specchat.choosing.choice import Choice

OTHER_PAIRS = ("Other pairs (F2)", "pairs")
"""A card's button, and its action."""


class PairSwitch:
    """The screen of pairs, the one download, and what follows from them.

    Args:
        app: shows the screen and gets the messages of a download.
        world: the machine and the disk.
        chat: where cards go while the screen is closed.
        begin: loads a choice.
        line: tells how a download goes.
    """

    def __init__(
        self,
        app: App[None],
        world: World,
        chat: ChatView,
        begin: Callable[[Choice], None],
        line: DownloadLine,
    ) -> None:
        self.line = line
        self._app = app
        self._world = world
        self._chat = chat
        self._begin = begin
        self._screen: PairsScreen | None = None
        self._first_run = False
        self._download: Download | None = None
        self._choice: Choice | None = None

    def open(
        self, choice: Choice, machine: Machine | None = None, *, first_run: bool = False
    ) -> None:
        """Show the screen.

        Args:
            choice: the present one; what was asked for with it holds for the next one too.
            machine: as it was before that was loaded.
        """
        if self._screen is not None:
            return
        self._choice, self._first_run = choice, first_run
        self._screen = PairsScreen(
            self._world, first_run=first_run, present=choice, machine=machine
        )
        self._app.push_screen(self._screen, self._picked)

    async def use(self, pick: Pick, present: Choice) -> None:
        """Load what was picked in place of the present pair."""
        if pick == Pick() and present.origin == "built_in":
            self._begin(present)
            return
        name = pick.pair or (None if pick.target else BUILT_IN)
        asked = replace(present.asked, pair=name, target=pick.target, draft=pick.draft)
        try:
            choice = await asyncio.to_thread(self._world.choose, asked)
        except SpecchatError as error:
            self._chat.add(Card.of_failure(Failed.from_error(error), OTHER_PAIRS))
            return
        self._begin(choice)

    def want(self, name: str) -> None:
        """Download a pair; one at a time."""
        if self._download is not None:
            self._complain(
                InvalidSetting(
                    f"Tried to download {name}.",
                    f"{self._download.name} is on its way.",
                    "Wait for it, or stop it with F8 where the pairs are; what came is kept.",
                )
            )
            return
        self._download = Download(name, self._app)
        self._download.start()
        self.show(Downloading(name, None, "asking the Hub"))

    def enough(self) -> None:
        """Stop the download; the Hub may keep it waiting for some seconds more."""
        if self._download is not None:
            self._download.stop()
            self.show(Downloading(self._download.name, None, "stopping; what came is kept"))

    def close(self) -> None:
        """Specchat is left."""
        if self._download is not None:
            self._download.stop()

    def show(self, event: Downloading) -> None:
        """The download goes on."""
        self.line.show(event.name, event.progress, event.notice)
        if self._screen is not None:
            self._screen.show_download(self.line)

    def downloaded(self, event: Downloaded) -> None:
        """It has ended: load the pair on a first run, else offer it."""
        self._download = None
        self.line.hide()
        if self._screen is not None:
            self._screen.show_download(self.line)
        if event.error is not None:
            self._complain(event.error)
        elif event.stopped:
            return
        elif self._screen is None:
            notice = Notice("downloaded", f"{event.name} is here", "It can be loaded now.", "")
            self._chat.add(Card.of_notice(notice, ("Chat with it", f"use_pair('{event.name}')")))
        elif self._first_run:
            while self._app.screen is not self._screen:  # help may be in front of it
                self._app.pop_screen()
            self._screen.dismiss(Pick(pair=event.name))
        else:
            self._screen.look()

    async def _picked(self, pick: Pick | None) -> None:
        self._screen = None
        if pick is not None and self._choice is not None:
            await self.use(pick, self._choice)

    def _complain(self, error: SpecchatError) -> None:
        if self._screen is not None:
            self._screen.show_error(error)
        else:
            self._chat.add(Card.of_failure(Failed.from_error(error), OTHER_PAIRS))
