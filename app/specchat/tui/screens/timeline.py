"""The last answer round by round: what was guessed, what was kept, where the time went."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from specchat.tui.timeline import Timeline
from specchat.tui.timeline_chart import (
    chart_legend,
    in_words,
    position,
    share_bar,
    share_legend,
    shares,
    summary,
)
from specchat.tui.widgets.defined import Defined
from specchat.tui.widgets.rounds_chart import RoundsChart

LOOKS_PER_SECOND = 4


class TimelineScreen(ModalScreen[None]):
    """Shows the rounds of an answer; while the answer is written, those that come too.

    Args:
        timeline: the rounds.
    """

    HELP = (
        "Each column is a round. Above, what was guessed: accepted guesses full, refused ones"
        " over them shaded; the letter below says who guessed. Under that, its time: drafting at"
        " the bottom, then the target, then our own. The arrow marks the round that the words"
        " below tell about."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f6,q", "dismiss", "Close", id="timeline.close", key_display="esc"),
        Binding("f1", "app.help", "Help", id="timeline.help"),
    ]

    def __init__(self, timeline: Timeline) -> None:
        super().__init__()
        self._timeline = timeline
        self._box = Vertical(id="timeline")
        self._box.border_title = "timeline"
        self._seen = -1
        self._summary = Defined(markup=False, id="summary")
        self._bar = Static(id="bar")
        self._bar_legend = Defined(id="bar-legend")
        self._chart = RoundsChart(timeline)
        self._chart_legend = Defined(chart_legend(), id="chart-legend")
        self._words = Defined(markup=False, id="words")

    def compose(self) -> ComposeResult:
        with self._box:
            yield self._summary
            yield self._bar
            yield self._bar_legend
            yield self._chart_legend
            yield self._chart
            yield self._words
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Begin at the last round, and follow an answer that goes on."""
        self._chart.focus()
        self._beat = self.set_interval(1 / LOOKS_PER_SECOND, self._look)
        self._look()

    def on_resize(self) -> None:
        """The bar is as wide as the screen."""
        self.call_after_refresh(self._draw)

    def _look(self) -> None:
        count, before = len(self._timeline.rounds), self._seen
        if self._timeline.ended:
            self._beat.stop()
        elif count == before:
            return
        self._seen = count
        if self._chart.cursor >= before - 1:
            self._chart.go_to(count - 1)
        self._draw()

    def _draw(self) -> None:
        parts = shares(self._timeline)
        has_rounds = bool(self._timeline.rounds)
        self._summary.update(summary(self._timeline))
        self._bar.update(share_bar(parts, self._bar.size.width))
        self._bar_legend.update(share_legend(parts, self._bar.size.width))
        for widget in (self._bar, self._bar_legend, self._chart_legend, self._chart, self._words):
            widget.display = has_rounds
        self._chart.refresh()
        self.tell()

    @on(RoundsChart.Moved)
    def tell(self) -> None:
        """The round under the cursor, in words."""
        if self._timeline.rounds:
            cursor = self._chart.cursor
            self._box.border_subtitle = position(self._timeline, cursor)
            self._words.update(Content("\n").join(in_words(self._timeline, cursor)))
