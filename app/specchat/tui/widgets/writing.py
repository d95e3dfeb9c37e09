"""Everything about the next message: what is said about it, its files, the list, the prompt."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList

from specchat.tui.widgets.attachment_line import AttachmentLine
from specchat.tui.widgets.prompt import Prompt


class Writing(Vertical):
    """Puts the parts of the prompt on the screen, and tells it of the mouse.

    Args:
        prompt: the place to write.
    """

    def __init__(self, prompt: Prompt) -> None:
        super().__init__()
        self._prompt = prompt

    def compose(self) -> ComposeResult:
        yield self._prompt.popup
        yield self._prompt.quiet
        yield self._prompt.attached
        yield self._prompt

    @on(OptionList.OptionSelected)
    def take(self, event: OptionList.OptionSelected) -> None:
        """A row of the list was clicked."""
        event.stop()
        # In its own turn: what a widget sends on behalf of its parent does not go beyond that.
        self._prompt.call_later(self._prompt.take_and_run)

    @on(AttachmentLine.Changed)
    def go_on(self, event: AttachmentLine.Changed) -> None:
        """A file was taken off."""
        event.stop()
        self._prompt.focus()
