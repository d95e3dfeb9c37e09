"""A field for the path of a file; what may be meant is listed above it while it is written."""

import asyncio
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from specchat.tui.path_finder import PathFinder
from specchat.tui.suggestions import Suggestion
from specchat.tui.widgets.completions import Completions


class PathField(Input):
    """The list has the arrow keys, Tab and Esc while it is open; Enter takes what is highlighted,
    unless what is written is a file already.

    Args:
        ending: of the files that are listed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in Completions.BINDINGS
        if isinstance(binding, Binding) and binding.action != "run"
    ]

    def __init__(self, ending: str) -> None:
        super().__init__(compact=True)
        self.popup = Completions()
        self._paths = PathFinder(ending=ending)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of the list are those of the screen while it is closed."""
        return self.popup.is_open if action in ("move", "take", "close") else True

    def action_move(self, step: int) -> None:
        """Highlight another path."""
        self.popup.move(step)

    def action_take(self) -> None:
        """Write what is highlighted in place of what is there; into a folder the list goes on."""
        taken = self.popup.chosen.text
        self.popup.hide()
        self.value = taken
        self.cursor_position = len(taken)

    def action_close(self) -> None:
        """List nothing until something else is written."""
        self.popup.hide()

    async def action_submit(self) -> None:
        """Take what is highlighted; a file is the answer."""
        if self.popup.is_open and (self.popup.moved or not _is_file(self._part)):
            self.action_take()
            if not _is_file(self._part):
                return
        self.popup.hide()
        await super().action_submit()

    def on_input_changed(self) -> None:
        """Look for what may be meant."""
        if not self.has_focus or not self._part:
            self.popup.hide()
        elif self._paths.knows(self._part):
            self._offer()
        else:
            self.run_worker(self._look(self._part), group="paths", exclusive=True)

    def on_focus(self) -> None:
        """Files come and go: look again."""
        self._paths.forget()

    def on_blur(self) -> None:
        """Another place has the keys now."""
        self.popup.hide()

    async def _look(self, part: str) -> None:
        await asyncio.to_thread(self._paths.look, part)
        if self.has_focus and self._part and self._paths.knows(self._part):
            self._offer()

    def _offer(self) -> None:
        part = self._part
        paths = [path for path in self._paths.matches(part) if path != part]
        self.popup.show(
            [Suggestion(path, "folder" if path.endswith("/") else "", path, 0) for path in paths]
        )

    @property
    def _part(self) -> str:
        """What is written, without the quotes that a terminal puts around a dropped file."""
        return self.value.strip().strip("\"'")


def _is_file(path: str) -> bool:
    try:
        return Path(path).expanduser().is_file()
    except (OSError, RuntimeError, ValueError):  # such as a name that no disk can have
        return False
