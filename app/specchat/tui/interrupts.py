"""Ctrl+C with nothing selected: once it stops the answer and warns, twice in a row it leaves."""

import time
from collections.abc import Awaitable, Callable

from textual.app import App
from textual.screen import Screen
from textual.widgets import Input, TextArea

from specchat.tui.widgets.prompt import Prompt

AGAIN_S = 2.0
WARNING = "Ctrl+C again quits"


class Interrupts:
    """What the person wants when Ctrl+C comes.

    Args:
        app: is left.
        prompt: where the warning is.
        stop: ends the answer under way, if there is one.
    """

    def __init__(
        self,
        app: App[None],
        prompt: Prompt,
        stop: Callable[[], Awaitable[None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._prompt = prompt
        self._stop = stop
        self._clock = clock
        self._last = float("-inf")

    async def come(self) -> None:
        """It has come."""
        now = self._clock()
        again, self._last = now - self._last <= AGAIN_S, now
        if again:
            self._app.exit()
            return
        await self._stop()
        self._prompt.hint(WARNING)
        if len(self._app.screen_stack) > 1:
            self._app.notify(WARNING, timeout=AGAIN_S)


def has_selection(screen: Screen[object]) -> bool:
    """Whether there is something on this screen for Ctrl+C to copy."""
    focused = screen.focused
    if isinstance(focused, Input | TextArea) and focused.selected_text:
        return True
    return bool(screen.get_selected_text())
