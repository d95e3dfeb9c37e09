"""Going to another conversation: one of the list, or the one that was used last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App

from specchat.errors import SpecchatError
from specchat.tui.conversation_pane import ConversationPane

if TYPE_CHECKING:
    from specchat.tui.widgets.conversation_list import Opened


class ConversationSwitch:
    """Puts other conversations into the pane.

    Args:
        app: shows the list.
        pane: shows the conversation.
    """

    def __init__(self, app: App[None], pane: ConversationPane) -> None:
        self._app = app
        self._pane = pane

    def choose(self) -> None:
        """Show the list of all."""
        from specchat.tui.screens.conversations import ConversationsScreen

        conversation = self._pane.conversation
        screen = ConversationsScreen(conversation.store, conversation.key)
        self._app.push_screen(screen, self._chosen)

    async def resume(self) -> None:
        """Open the one that was used last, if there is one."""
        try:
            last = self._pane.conversation.store.last_used()
        except SpecchatError as error:
            self._pane.complain(error)
            return
        if last is not None:
            await self.open(last)

    async def open(self, key: int, message: int | None = None) -> None:
        """Open one of the store; the line on screen goes through this message."""
        try:
            await self._pane.open(key, message)
        except SpecchatError as error:
            self._pane.complain(error)

    async def _chosen(self, opened: Opened | None) -> None:
        if opened is not None and opened.conversation is not None:
            await self.open(opened.conversation, opened.message)
        elif opened is not None:  # the one on screen was deleted
            await self._pane.new()
