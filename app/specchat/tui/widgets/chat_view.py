"""The chat: questions, answers and cards, in the order they came."""

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from specchat.tui.widgets.card import Card


class ChatView(VerticalScroll):
    """Follows the newest text, unless the person has scrolled up to read."""

    BORDER_TITLE = "chat"

    def on_mount(self) -> None:
        """Stay at the end from the start."""
        self.anchor()

    def add(self, *widgets: Widget) -> None:
        """Put these at the end."""
        self.welcome("")
        self.mount_all(widgets)

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.anchor()

    def welcome(self, text: str) -> None:
        """A quiet line in an empty chat; an empty text takes it away."""
        for old in self.query(".welcome"):
            old.remove()
        if text and not self.children:
            self.mount(Static(Content(text), classes="welcome"))

    def settle_cards(self) -> None:
        """What cards offered does not matter any more."""
        for card in self.query(Card):
            card.settle()

    def clear(self) -> None:
        """Start an empty chat. A card that waits for the person stays."""
        for child in self.children:
            if not (isinstance(child, Card) and child.is_open):
                child.remove()
        self.anchor()
