"""What the two sides said: a question, and an answer with its line of figures."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from specchat.chat.parts import PartFigures
from specchat.chat.reasoning import Kind
from specchat.chat.records import Message as Kept
from specchat.chat.records import State
from specchat.engine.protocol import Notice
from specchat.engine.remarks import left_out
from specchat.speculation.metrics import Figures
from specchat.tui.conversation import OpenAnswer
from specchat.tui.definitions import figures_line
from specchat.tui.widgets.answer_body import AnswerBody, GetTokens
from specchat.tui.widgets.code_block import CodeBlock
from specchat.tui.widgets.defined import Defined
from specchat.tui.widgets.long_text import LongText
from specchat.tui.widgets.steady import LaidOutOnce
from specchat.tui.wording import SEPARATOR, figures_shown, visible

Wish = Literal[
    "edit",
    "again",
    "go_on",
    "previous",
    "next",
    "branch_off",
    "copy",
    "copy_code",
    "details",
    "above",
    "below",
    "leave",
]

Side = Literal["earlier", "later"]
"""Before the messages on screen, or after them."""

ENDED: dict[State, str] = {
    "writing": "being written in another window",
    "complete": "",
    "length": "reached the length limit",
    "stopped": "stopped",
    "interrupted": "cut off",
}


class Said(Horizontal, LaidOutOnce, can_focus=True):
    """A message on screen. With the focus on it, keys do something with it.

    Args:
        speaker: who said it.
        message: what the store calls it.
        place: which wording or try it is, from 1, and of how many.
    """

    HELP = (
        "A message of the conversation. Another wording or another answer stands beside the one "
        "that is there, and nothing is overwritten; < 2/3 > is the second of three, and the left "
        "and right arrow keys, or a click on that mark, go from one to the next. After a click on "
        "a message, what you type goes to the prompt; Ctrl+Up makes letters keys again."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "wish('above')", "Above", id="message.above", show=False),
        Binding("down", "wish('below')", "Below", id="message.below", show=False),
        Binding("left", "wish('previous')", "Earlier", id="message.previous", key_display="←"),
        Binding("right", "wish('next')", "Later", id="message.next", key_display="→"),
        Binding("e", "wish('edit')", "Edit", id="message.edit", tooltip="Word it otherwise"),
        Binding("r", "wish('again')", "Again", id="message.again", tooltip="Answer once more"),
        Binding("c", "wish('copy')", "Copy", id="message.copy", tooltip="Copy its text"),
        Binding(
            "b",
            "wish('branch_off')",
            "Branch off",
            id="message.branch_off",
            tooltip="Begin a new conversation with everything up to here",
        ),
        Binding(
            "d",
            "app.compare",
            "Compare here",
            id="message.compare",
            tooltip="Answer this question twice, plain and with drafts, and keep what you like",
        ),
        Binding("escape", "wish('leave')", "To the prompt", id="message.leave", show=False),
    ]

    class Wanted(Message):
        """The person wants something done with this message."""

        def __init__(self, wish: Wish, message: int) -> None:
            super().__init__()
            self.wish = wish
            self.message = message

    def __init__(self, speaker: str, message: int, place: tuple[int, int] = (1, 1)) -> None:
        super().__init__()
        self.message = message
        self._who, self._try = speaker, place

    @property
    def is_waiting(self) -> bool:
        """Whether its text is there and has not found its size yet."""
        return False

    def speaker(self) -> "Speaker":
        """Who said it, and which try it is."""
        return Speaker(self._who, self._try)

    def on_speaker_turned(self, event: "Speaker.Turned") -> None:
        """Another try is asked for by the mouse."""
        event.stop()
        self.action_wish(event.to)

    def action_wish(self, wish: Wish) -> None:
        """Ask for it."""
        self.post_message(self.Wanted(wish, self.message))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """One goes to other tries where there are some."""
        number, count = self._try
        if parameters not in (("previous",), ("next",)):
            return True
        last = 1 if parameters == ("previous",) else count
        return False if count == 1 else number != last or None


class Speaker(Static):
    """Who said a message, and which try it is: a click on the left of the mark goes to the one
    before, on the right to the next.

    Args:
        place: which wording or try it is, from 1, and of how many.
    """

    class Turned(Message):
        """Another try is wanted."""

        def __init__(self, to: Literal["previous", "next"]) -> None:
            super().__init__()
            self.to = to

    def __init__(self, name: str, place: tuple[int, int]) -> None:
        number, count = place
        self._has_others = count > 1
        mark = f"< {number}/{count} >" if count < 10 else f"<{number}/{count}>"
        super().__init__(f"{name}\n{mark}" if count > 1 else name, markup=False, classes="speaker")

    def on_click(self, event: events.Click) -> None:
        """Go there."""
        if self._has_others and event.y == 1:
            self.post_message(self.Turned("previous" if event.x < self.size.width / 2 else "next"))


class Question(Said):
    """What the person wrote, as it was written."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "unfold",
            "More",
            id="message.unfold",
            show=False,
            tooltip="Show all of a long message, or its beginning and end",
        ),
    ]

    def __init__(self, text: str, message: int = 0, place: tuple[int, int] = (1, 1)) -> None:
        super().__init__("you", message, place)
        self._text = text

    def compose(self) -> ComposeResult:
        yield self.speaker()
        yield LongText(self._text, classes="said")

    def action_unfold(self) -> None:
        """Show all of it, or its beginning and end."""
        self.query_one(LongText).toggle()


class Answer(Said):
    """What the model writes. Its last line tells what is going on, then the figures."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "wish('go_on')", "Go on", id="message.go_on", tooltip="Write more of it"),
        Binding(
            "k",
            "wish('copy_code')",
            "Copy code",
            id="message.copy_code",
            tooltip="Copy its code block; of several the first one, again: the next",
        ),
        Binding(
            "o",
            "origins",
            "Origins",
            id="message.origins",
            tooltip="Mark its tokens by where they came from, or no longer",
        ),
        Binding(
            "i",
            "wish('details')",
            "Details",
            id="message.details",
            tooltip="All its figures, and how it came about",
        ),
        Binding(
            "t",
            "thoughts",
            "Thinking",
            id="message.thinking",
            tooltip="Show its thinking, or hide it",
        ),
    ]

    def __init__(
        self, message: int = 0, place: tuple[int, int] = (1, 1), opened: str | None = None
    ) -> None:
        super().__init__("model", message, place)
        self._note = Defined("waiting for the engine", markup=False, classes="note")
        self._alarms = AlarmLines(classes="alarms")
        self._body = AnswerBody(opened, lambda: None, self._note, self._alarms, classes="said")

    @classmethod
    def of(cls, kept: Kept, place: tuple[int, int] = (1, 1)) -> "Answer":
        """An answer that has ended."""
        record = kept.answer
        answer = cls(kept.id, place, record.opened if record else None)
        answer.write(kept.text, record.parts if record else None)
        if record is None:
            answer.finish(None, ENDED[kept.state])
        else:
            remark = left_out(record.left_out) if record.left_out else ""
            answer.finish(record.figures, ENDED[kept.state], record.alarms, remark)
        return answer

    @classmethod
    def under_way(cls, open_answer: OpenAnswer, place: tuple[int, int] = (1, 1)) -> "Answer":
        """An answer as far as it has come."""
        answer = cls(open_answer.message, place, open_answer.opened)
        answer.write(open_answer.whole_text)
        answer.get_tokens(open_answer.tokens)
        if open_answer.note is not None:
            answer.note(open_answer.note)
        return answer

    def get_tokens(self, get: GetTokens) -> None:
        """How to know where its text came from."""
        self._body.tokens = get

    def open_with(self, opened: str | None) -> None:
        """It is about to come in, and the prompt left these tags open."""
        self._body.open_with(opened)

    def show_origins(self, on: bool) -> None:
        """Mark its tokens by where they came from, or no longer."""
        self._body.show_origins(on)

    def action_origins(self) -> None:
        """The same, whichever it is not."""
        self.show_origins(not self._body.shows_origins)

    def action_thoughts(self) -> None:
        """Show its thinking, or hide it."""
        self._body.toggle_thoughts()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Thinking can be shown, and code copied, where there is some."""
        if action == "thoughts":
            return bool(self._body.thoughts)
        if parameters == ("copy_code",):
            return bool(self.query(CodeBlock))
        return super().check_action(action, parameters)

    @property
    def is_waiting(self) -> bool:
        """Whether its text is there and has not found its size yet."""
        return self._body.is_waiting

    def compose(self) -> ComposeResult:
        yield self.speaker()
        yield self._body

    def write(self, text: str, parts: Mapping[Kind, PartFigures] | None = None) -> None:
        """Add text that came. `parts`: its figures so far, by kind of text."""
        self._body.write(text, parts)

    def note(self, text: str | Content) -> None:
        """Tell what is going on; an empty text hides the line."""
        self._note.update(text)
        self._note.display = bool(text)

    def finish(
        self,
        figures: Figures | None,
        ended: str = "",
        alarms: Sequence[Notice] = (),
        remark: str = "",
    ) -> None:
        """Close the text and keep the figures.

        Args:
            ended: how it ended, unless the model ended by itself.
            remark: what else is worth a line.
        """
        self._body.finish()
        line = figures_line(figures_shown(figures)) if figures else Content("")
        line = Content(SEPARATOR).join(part for part in (Content(ended), line) if part)
        self.note(Content("\n").join(part for part in (Content(remark), line) if part))
        self._alarms.show(alarms)


class Beyond(Static):
    """Messages that are not on screen; scrolling to this line brings them.

    Args:
        side: which end of the screen they are beyond.
        count: how many there are.
    """

    class Reached(Message):
        """They are wanted.

        Args:
            side: which of them.
            far: those at that end of the conversation, and not the nearest ones.
        """

        def __init__(self, side: Side, *, far: bool = False) -> None:
            super().__init__()
            self.side = side
            self.far = far

    def __init__(self, side: Side, count: int) -> None:
        super().__init__(markup=False)
        self._side = side
        self.tell(count)

    def tell(self, count: int) -> None:
        """So many there are now."""
        noun = "message" if count == 1 else "messages"
        where = "further up" if self._side == "earlier" else "further down"
        self.update(f"{count:,} {self._side} {noun}, {where}")

    def on_click(self, event: events.Click) -> None:
        """Bring them."""
        event.stop()
        self.post_message(self.Reached(self._side))


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


class AlarmLines(Vertical):
    """The alarms of an answer."""

    def __init__(self, *, classes: str) -> None:
        super().__init__(classes=classes)
        self._lines: list[AlarmLine] = []
        self._composed = False

    def compose(self) -> ComposeResult:
        yield from self._lines
        self._composed = True

    def show(self, alarms: Sequence[Notice]) -> None:
        """These are there too."""
        lines = [AlarmLine(alarm) for alarm in alarms]
        self._lines += lines
        if self._composed:
            self.mount_all(lines)
