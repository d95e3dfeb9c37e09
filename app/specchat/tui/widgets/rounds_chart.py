"""The rounds of an answer side by side, with a cursor."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from specchat.tui.timeline import Timeline
from specchat.tui.timeline_chart import chart, heights

PAGE = 20


class RoundsChart(Widget, can_focus=True):
    """Shows as many rounds as there is room for, the one under the cursor among them.

    Args:
        timeline: the rounds.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "Round before", id="timeline.before", key_display="←"),
        Binding("right", "move(1)", "Next round", id="timeline.next", key_display="→"),
        Binding("pageup", f"move(-{PAGE})", "Rounds back", id="timeline.back", show=False),
        Binding("pagedown", f"move({PAGE})", "Rounds on", id="timeline.on", show=False),
        Binding("home", "to_first", "First round", id="timeline.first", show=False),
        Binding("end", "to_last", "Last round", id="timeline.last", show=False),
    ]

    class Moved(Message):
        """The cursor is at another round."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__()
        self.timeline = timeline
        self.cursor = 0
        self._first = 0
        """The first round in view."""

    @property
    def step(self) -> int:
        """Cells a round: with room to spare, one of them is a gap."""
        return 2 if 2 * len(self.timeline.rounds) <= self.size.width else 1

    def render(self) -> Content:
        """The rounds in view."""
        width, height = self.size
        rounds = self.timeline.rounds
        step = self.step
        count = max(1, width // step)
        first = self._scrolled(count)
        shown = rounds[first : first + count]
        most = max((each.drafted for each in rounds), default=0)
        return chart(shown, self.cursor - first, heights(height, most), width, step)

    def _scrolled(self, count: int) -> int:
        """The first of so many rounds in view: as before, moved as far as the cursor asks for."""
        first = min(self._first, max(0, len(self.timeline.rounds) - count))
        self._first = max(min(first, self.cursor), self.cursor - count + 1, 0)
        return self._first

    def action_move(self, rounds: int) -> None:
        """Go so many rounds on, or back."""
        self.go_to(self.cursor + rounds)

    def action_to_first(self) -> None:
        """Go to the first round."""
        self.go_to(0)

    def action_to_last(self) -> None:
        """Go to the last round."""
        self.go_to(len(self.timeline.rounds) - 1)

    def go_to(self, index: int) -> None:
        """Put the cursor on this round, or on the nearest there is."""
        self.cursor = max(0, min(index, len(self.timeline.rounds) - 1))
        self.refresh()
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        """Go to the round under the mouse."""
        self.go_to(self._first + event.x // self.step)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Go on."""
        event.stop()
        self.action_move(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Go back."""
        event.stop()
        self.action_move(-1)
