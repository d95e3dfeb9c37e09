"""A sentence above the prompt: what a command did, or why it did nothing."""

from textual.widgets import Static

from specchat.tui.wording import visible


class QuietLine(Static):
    """Hidden while there is nothing to say."""

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self.display = False

    def say(self, text: str) -> None:
        """Say this; nothing hides the line."""
        self.update(visible(text))
        self.display = bool(text)
