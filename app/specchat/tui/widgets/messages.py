"""What the two sides said: a question, and an answer with its line of figures."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Static

from specchat.engine.protocol import Notice
from specchat.speculation.metrics import Figures
from specchat.tui.widgets.streaming_markdown import StreamingMarkdown
from specchat.tui.wording import SEPARATOR, figures_line, visible


class Question(Horizontal):
    """What the person wrote, as it was written."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield Static("you", classes="speaker")
        yield Static(visible(self._text), markup=False, classes="said")


class Answer(Horizontal):
    """What the model writes. Its last line tells what is going on, then the figures."""

    def __init__(self) -> None:
        super().__init__()
        self._body = StreamingMarkdown()
        self._note = Static("waiting for the engine", markup=False, classes="note")
        self._alarms = Vertical(classes="alarms")

    def compose(self) -> ComposeResult:
        yield Static("model", classes="speaker")
        with Vertical(classes="said"):
            yield self._body
            yield self._note
            yield self._alarms

    def write(self, text: str) -> None:
        """Add text that came."""
        self._body.write(text)

    def note(self, text: str) -> None:
        """Tell what is going on; an empty text hides the line."""
        self._note.update(text)
        self._note.display = bool(text)

    def finish(
        self, figures: Figures | None, ended: str = "", alarms: Sequence[Notice] = ()
    ) -> None:
        """Close the text and keep the figures. `ended`: how, unless the model ended by itself."""
        self._body.finish()
        line = figures_line(figures) if figures else ""
        self.note(SEPARATOR.join(part for part in (ended, line) if part))
        self._alarms.mount_all(map(AlarmLine, alarms))


class AlarmLine(Static, can_focus=True):
    """What made an answer slower than it need be: a title; more of it on asking."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "What to do", id="alarm.open"),
    ]

    class Opened(Message):
        """The person asks what to do."""

        def __init__(self, alarm: Notice) -> None:
            super().__init__()
            self.alarm = alarm

    def __init__(self, alarm: Notice) -> None:
        super().__init__(f"! {visible(alarm.title)} (F1: what to do)", markup=False)
        self._alarm = alarm

    def action_open(self) -> None:
        """Ask."""
        self.post_message(self.Opened(self._alarm))

    def on_click(self) -> None:
        """The same by the mouse."""
        self.action_open()
