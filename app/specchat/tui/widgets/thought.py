"""A model's thinking, folded to one line: that it goes on, then how long it took."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from specchat.chat.parts import NOTHING, PartFigures
from specchat.tui.definitions import definition
from specchat.tui.widgets.streaming_markdown import StreamingMarkdown
from specchat.tui.wording import SEPARATOR, percent, seconds

LOOKS_PER_SECOND = 2


class ThoughtLine(Static, can_focus=True):
    """The one line. Enter or a click shows the thinking, and hides it again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter", "fold", "Unfold", id="thought.toggle", tooltip="Show or hide the thinking"
        ),
    ]

    class Toggled(Message):
        """The person wants to see the thinking, or has seen it."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.tooltip = definition("thought for")

    def action_fold(self) -> None:
        """Show it or hide it."""
        self.post_message(self.Toggled())

    def on_click(self, event: events.Click) -> None:
        """The same by the mouse."""
        event.stop()
        self.action_fold()


class Thought(Vertical):
    """Takes the text of a thought as it comes. While it is folded, text is only kept."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._line = ThoughtLine()
        self._text: StreamingMarkdown | None = None
        self._figures = NOTHING
        self._ended = False
        self._composed = False
        """Whether its text has to be mounted."""
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self._line
        if self._text is not None:
            yield self._text
        self._composed = True

    def on_mount(self) -> None:
        """The line tells a few times a second how far it has come."""
        self._timer = self.set_interval(1 / LOOKS_PER_SECOND, self._tell, pause=self._ended)
        self._tell()

    @property
    def is_open(self) -> bool:
        """Whether its text is shown."""
        return self._text is not None

    def write(self, text: str) -> None:
        """Add text that came."""
        self._parts.append(text)
        if self._text is not None:
            self._text.write(text)

    def tell(self, figures: PartFigures) -> None:
        """Its figures so far; the line shows them at its next look."""
        self._figures = figures

    def finish(self) -> None:
        """It has ended."""
        self._ended = True
        if self._text is not None:
            self._text.finish()
        if self._timer is not None:
            self._timer.pause()
            self._tell()

    def toggle(self, open: bool | None = None) -> None:
        """Show the text or hide it; None does what it is not."""
        wanted = not self.is_open if open is None else open
        if wanted == self.is_open:
            return
        if self._text is not None:
            self._text.remove()
            self._text = None
        else:
            self._text = StreamingMarkdown()
            self._text.write("".join(self._parts))
            if self._ended:
                self._text.finish()
            if self._composed:
                self.mount(self._text)
        self._tell()

    def on_thought_line_toggled(self, event: ThoughtLine.Toggled) -> None:
        """The person asked for it."""
        event.stop()
        self.toggle()

    def _tell(self) -> None:
        self._line.update(f"{'▾' if self.is_open else '▸'} {self.words}", layout=False)

    @property
    def words(self) -> str:
        """The line, without its arrow."""
        figures = self._figures
        took = f" {seconds(figures.decode_s)}" if figures.rounds else ""
        parts = [f"thought{' for' if took else ''}{took}" if self._ended else f"thinking{took}"]
        if figures.rounds:
            parts.append(f"{figures.emitted} tokens")
        if figures.acceptance is not None:
            parts.append(f"{percent(figures.acceptance)} accepted")
        return SEPARATOR.join(parts)
