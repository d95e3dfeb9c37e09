"""The chat: questions, answers and cards, in the order they came."""

from collections.abc import Collection, Iterable, Sequence

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from specchat.tui.widgets.card import Card
from specchat.tui.widgets.messages import Earlier, Said


class ChatView(VerticalScroll):
    """Follows the newest text, unless the person has scrolled up to read."""

    BORDER_TITLE = "chat"

    def __init__(self) -> None:
        super().__init__()
        self.said: list[Said] = []
        """The messages on screen. Those taken away are children for a moment longer."""
        self._earlier: Earlier | None = None

    def on_mount(self) -> None:
        """Stay at the end from the start."""
        self.anchor()

    def add(self, *widgets: Widget) -> None:
        """Put these at the end."""
        self.welcome("")
        self.said += [widget for widget in widgets if isinstance(widget, Said)]
        self.mount_all(widgets)

    def replace(self, earlier: int, messages: Iterable[Said]) -> None:
        """Show other messages in place of these. Cards that wait for the person stay.

        Args:
            earlier: how many messages there are before the first one.
        """
        with self.app.batch_update():
            self.clear()
            self._tell_of(earlier)
            self.add(*messages)

    def add_above(self, earlier: int, messages: Sequence[Said]) -> None:
        """Put messages before the first one; what is in view stays in view."""
        first = self.said[0]
        below = self.virtual_size.height - self.scroll_y
        with self.app.batch_update():
            self._tell_of(earlier)
            self.mount_all(messages, before=first)
        self.said[:0] = messages

        def stay() -> None:
            self.scroll_to(y=self.virtual_size.height - below, animate=False, force=True)

        self.call_after_refresh(stay)

    def take_above(self, count: int, earlier: int) -> None:
        """Take the first messages away; there are so many before the rest."""
        with self.app.batch_update():
            for old in self.said[:count]:
                old.remove()
            del self.said[:count]
            self._tell_of(earlier)

    def take(self, messages: Collection[int]) -> None:
        """Take these messages away."""
        for gone in [each for each in self.said if each.message in messages]:
            self.said.remove(gone)
            gone.remove()

    def _tell_of(self, earlier: int) -> None:
        if self._earlier:
            self._earlier.remove()
        self._earlier = Earlier(earlier) if earlier else None
        if self._earlier:
            self.mount(self._earlier, before=0 if self.children else None)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """At the top, ask for what is further up."""
        super().watch_scroll_y(old_value, new_value)
        if new_value <= 0 < old_value and self._earlier:
            self.post_message(Earlier.Reached())

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
        self.said, self._earlier = [], None
        self.anchor()
