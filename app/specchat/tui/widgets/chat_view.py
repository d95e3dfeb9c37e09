"""The chat: questions, answers and cards, in the order they came."""

from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import NamedTuple

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from specchat.tui.widgets.card import Card
from specchat.tui.widgets.messages import Beyond, Said, Side
from specchat.tui.widgets.steady import LaidOutOnce, drawn_together


class Held(NamedTuple):
    """A message that stays at a line of the view, whatever its neighbours come to."""

    message: Said
    line: int


class ChatView(VerticalScroll, LaidOutOnce):
    """Follows the newest text, unless the person has scrolled up to read.

    Where not all messages are on screen, a line at that end says so, and asks for more of them
    when it is scrolled to (`Beyond.Reached`).
    """

    BORDER_TITLE = "chat"

    def __init__(self) -> None:
        super().__init__()
        self.said: list[Said] = []
        """The messages on screen. Those taken away are children for a moment longer."""
        self._beyond: dict[Side, Beyond] = {}
        self._held: Held | None = None
        self._asked = False
        """Whether messages beyond an end were asked for and have not come yet."""

    def on_mount(self) -> None:
        """Stay at the end from the start."""
        self.anchor()
        self.screen.screen_layout_refresh_signal.subscribe(self, lambda _: self._settle())

    # What is on screen

    def add(self, *widgets: Widget) -> None:
        """Put these at the end."""
        self.welcome("")
        self.said += [widget for widget in widgets if isinstance(widget, Said)]
        self.mount_all(widgets)

    def replace(self, messages: Sequence[Said], *, earlier: int = 0, later: int = 0) -> None:
        """Show other messages in place of these. Cards that wait for the person stay.

        Args:
            earlier: how many messages there are before the first one.
            later: how many there are after the last one.
        """
        with drawn_together(self):
            self.clear()
            self.add(*messages)
            self._tell("earlier", earlier)
            self._tell("later", later)

    def extend(self, side: Side, messages: Sequence[Said], beyond: int) -> None:
        """Put messages at an end; what is in view stays in view.

        Args:
            beyond: how many messages there are beyond them.
        """
        above = side == "earlier"
        self._hold_view()
        with drawn_together(self):
            if above:
                self.mount_all(messages, before=self.said[0])
                self.said[:0] = messages
            else:
                self.mount_all(messages, after=self.said[-1])
                self.said += messages
            self._tell(side, beyond)

    def shorten(self, side: Side, count: int, beyond: int) -> None:
        """Take so many messages away at an end; there are `beyond` then that are not on screen."""
        cut = slice(count) if side == "earlier" else slice(len(self.said) - count, None)
        self._hold_view()
        with drawn_together(self):
            for old in self.said[cut]:
                old.remove()
            del self.said[cut]
            self._tell(side, beyond)

    def spare(self, side: Side) -> int:
        """How many messages at an end are more than a view away from what is in view."""
        height = self.container_size.height
        if side == "earlier":
            top = self.scroll_y - height
            far = takewhile(lambda each: each.virtual_region.bottom < top, self.said)
        else:
            bottom = self.scroll_y + 2 * height
            far = takewhile(lambda each: each.virtual_region.y > bottom, reversed(self.said))
        return sum(1 for _ in far)

    def take(self, messages: Collection[int]) -> None:
        """Take these messages away."""
        for gone in [each for each in self.said if each.message in messages]:
            self.said.remove(gone)
            gone.remove()

    def _tell(self, side: Side, count: int) -> None:
        """Say how many messages are beyond an end."""
        self._asked = False
        line = self._beyond.get(side)
        if line is not None and count:
            line.tell(count)
        elif line is not None:
            self._beyond.pop(side).remove()
        elif count:
            line = self._beyond[side] = Beyond(side, count)
            if side == "earlier":
                self.mount(line, before=0 if self.children else None)
            else:
                self.mount(line, after=self.said[-1])

    # What of it is in view

    def hold(self, message: Said, line: int | None = None) -> None:
        """Keep a message at a line of the view while its neighbours find their size, until the
        person scrolls.

        Args:
            line: from the top, less than 0 above it; without one, a quarter of the view down.
        """
        self.release_anchor()
        height = self.container_size.height
        self._held = Held(message, height // 4 if line is None else line)

    def line_of(self, message: Said) -> int:
        """The line of the view at which a message begins."""
        return round(message.virtual_region.y - self.scroll_y)

    def _hold_view(self) -> None:
        """Keep the first message in view where it is, unless one is kept already."""
        first = next(
            (each for each in self.said if each.virtual_region.bottom > self.scroll_y), None
        )
        if self._held is None and first is not None:
            self.hold(first, self.line_of(first))

    def _settle(self) -> None:
        """Have the message that is held at its line, and see what else is wanted."""
        if self._held is not None and self._held.message.is_attached:
            message, line = self._held
            # Not by `scroll_to`, which is for the person's scrolling.
            self.scroll_target_y = self.scroll_y = message.virtual_region.y - line
        self._ask_for_more()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """At an end, ask for what is beyond it."""
        super().watch_scroll_y(old_value, new_value)
        if "later" in self._beyond and new_value >= self.max_scroll_y:
            super().release_anchor()  # it is not the end of the conversation that is followed here
        self.call_after_refresh(self._ask_for_more)

    def _ask_for_more(self) -> None:
        if self._asked or any(each.is_waiting for each in self.said):
            return
        view = range(round(self.scroll_y), round(self.scroll_y) + self.container_size.height)
        for side, line in self._beyond.items():
            # Before it has its place, it has no height.
            if line.virtual_region.height and line.virtual_region.y in view:
                self._ask(side)
                return

    def _ask(self, side: Side, *, far: bool = False) -> None:
        self._asked = True
        self.post_message(Beyond.Reached(side, far=far))

    def action_scroll_home(self) -> None:
        """Go to the beginning of the conversation."""
        if "earlier" in self._beyond:
            self._ask("earlier", far=True)
        else:
            super().action_scroll_home()

    def action_scroll_end(self) -> None:
        """Go to the end of the conversation."""
        if "later" in self._beyond:
            self._ask("later", far=True)
        else:
            super().action_scroll_end()

    def release_anchor(self) -> None:
        """The person scrolls."""
        super().release_anchor()
        self._held = None

    def on_mouse_scroll_down(self) -> None:
        """The person scrolls, and Textual does not say so."""
        self._held = None

    def anchor(self, anchor: bool = True) -> None:
        """Stay at the end, or no longer."""
        self._held = None
        super().anchor(anchor)

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
        self.said, self._beyond, self._asked = [], {}, False
        self.anchor()
