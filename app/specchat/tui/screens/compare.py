"""A question answered twice, side by side: what drafts are worth, and that they change nothing in
the text."""

from collections.abc import Awaitable, Callable, Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from specchat.engine.protocol import (
    Command,
    Event,
    Failed,
    Finished,
    Generate,
    PromptProgress,
    Round,
    Stop,
)
from specchat.engine.remarks import left_out
from specchat.errors import SpecchatError
from specchat.tui.answer_log import AnswerLog
from specchat.tui.comparison import (
    NEAR_TIE,
    Asked,
    Side,
    figures_of,
    parting,
    settings_for,
    summary,
)
from specchat.tui.widgets.streaming_markdown import StreamingMarkdown
from specchat.tui.wording import visible

SHOWN_PER_SECOND = 4
NAMES = ("plain", "with drafts")
BREAKPOINTS = [(0, "-stacked"), (80, "-beside")]
KEPT = ("The plain answer", "The answer with drafts")
PIECES = ("plain   ", "drafted ")
"""What stands before the pieces of text where the two part."""

Keep = Callable[[int, Generate, Finished, AnswerLog], str]
"""Puts an answer beside those of a question; which of them it is, in words."""


class Column(VerticalScroll):
    """One of the two answers."""

    def __init__(self, name: str) -> None:
        super().__init__(classes="answer")
        self.border_title = name
        self.side = Side()
        self.status = "waiting"
        self.learnt = AnswerLog()
        """Of its tokens and parts, to be kept with it."""
        self.ended: Finished | None = None
        self._body = StreamingMarkdown()

    def compose(self) -> ComposeResult:
        yield self._body

    def on_mount(self) -> None:
        """Follow the newest text until the person scrolls."""
        self.anchor()

    def add(self, event: Round) -> None:
        """Take a round."""
        self.status = ""
        self.side.add(event)
        self.learnt.hear(event)
        self._body.write(event.text)

    def finish(self, event: Finished) -> None:
        """It has ended."""
        self.status = ""
        self.learnt.hear(event)
        self.ended = event
        self._body.write(event.tail)
        self.side.finish(event)
        self._body.finish()

    def give_up(self, status: str) -> None:
        """It gets no further."""
        self.side.ended = "cancelled"
        self.status = status
        self._body.finish()

    def show(self) -> None:
        """Its figures, or what it waits for."""
        line = self.status or figures_of(self.side)
        if self.border_subtitle != line:
            self.border_subtitle = line


class CompareScreen(ModalScreen[None]):
    """Has the engine answer a question twice, with the same seed, and compares the answers.

    An answer becomes part of the conversation when the person keeps it.

    Args:
        asked: the question, and how it is answered.
        next_id: gives the ids of answers.
        send: tells the engine something.
        keep: puts an answer into the conversation, and says where.
    """

    HELP = (
        "The question is answered twice with one seed: plain, then with drafts. Drafts change "
        "how fast the target writes, and not what: the two texts are identical, unless they part "
        f"at a near tie. {NEAR_TIE} The speed-up is tok/s with drafts / tok/s of the plain answer, "
        "less what a target's snapshots took of it. "
        "An answer enters the conversation only when you keep it: beside those that the question "
        "has, with its figures and tokens."
    )
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "escape",
            "stop",
            "Stop",
            id="compare.stop",
            tooltip="Stop here; what came can still be compared",
        ),
        Binding(
            "p",
            "keep(0)",
            "Keep plain",
            id="compare.keep_plain",
            tooltip="Put the plain answer beside those that the question has",
        ),
        Binding(
            "d",
            "keep(1)",
            "Keep drafted",
            id="compare.keep_drafted",
            tooltip="Put the answer with drafts beside those that the question has",
        ),
        Binding("escape,f5,q", "back", "Back", id="compare.back", tooltip="Back to the chat"),
        Binding("f1", "app.help", "Help", id="compare.help"),
    ]

    def __init__(
        self,
        asked: Asked,
        *,
        next_id: Callable[[], int],
        send: Callable[[Command], Awaitable[None]],
        keep: Keep,
    ) -> None:
        super().__init__()
        self._asked = asked
        self._sampling, *self._speculation = settings_for(asked.sampling, asked.speculation)
        self._next_id = next_id
        self._send = send
        self._keep = keep
        self._requests: list[Generate] = []
        """What was asked for, of each answer that has begun."""
        self._kept: dict[int, str] = {}
        """Of each answer that was kept, where it is now."""
        self._columns = tuple(map(Column, NAMES))
        self._verdict = Static("", markup=False)
        self._under_way: int | None = None
        """The answer that is under way."""
        self._at = 0
        """Which of the two it is."""
        self._stopping = False
        self._remark = ""

    def compose(self) -> ComposeResult:
        question = " ".join(self._asked.conversation[-1].content.split())
        yield Static(visible(question), markup=False, id="question")
        yield Container(*self._columns, id="answers")
        yield VerticalScroll(self._verdict, id="outcome")
        yield Footer(show_command_palette=False)

    async def on_mount(self) -> None:
        """The plain answer comes first."""
        self._columns[0].focus()
        self._beat = self.set_interval(1 / SHOWN_PER_SECOND, self._show)
        await self._begin(0)

    # What the person does

    async def action_stop(self) -> None:
        """End both; what came stays on screen."""
        if self._under_way is not None and not self._stopping:
            self._stopping = True
            self._columns[self._at].status = "stopping"
            self._show()
            await self._send(Stop(self._under_way))

    async def action_back(self) -> None:
        """Leave; what was not kept is gone."""
        self.dismiss(None)

    def action_keep(self, at: int) -> None:
        """Put one of them into the conversation."""
        column = self._columns[at]
        if column.ended is None:
            return
        try:
            place = self._keep(
                self._asked.question, self._requests[at], column.ended, column.learnt
            )
        except SpecchatError as error:
            self._remark = f"✗ {error.message} → {error.next_step}"
        else:
            self._kept[at] = f"✓ {KEPT[at]} is kept in the conversation, as {place}."
        self.refresh_bindings()
        self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc stops first, then leaves."""
        if action == "stop":
            return self._under_way is not None
        if action == "back":
            return self._under_way is None
        if action == "keep" and isinstance(parameters[0], int):
            return self._can_keep(parameters[0]) or None
        return True

    def _can_keep(self, at: int) -> bool:
        ended = self._columns[at].ended
        return at not in self._kept and ended is not None and bool(ended.text)

    # What the engine does

    def hear(self, event: Event) -> bool:
        """Take what the engine says; whether it was said of one of these answers."""
        if isinstance(event, Failed) and event.id is None:
            self._fail(event)
            return False
        match event:
            case PromptProgress(id=id) | Round(id=id) | Finished(id=id) | Failed(id=id):
                if self._under_way is None or id != self._under_way:
                    return False
        column = self._columns[self._at]
        match event:
            case PromptProgress():
                column.learnt.hear(event)
                if event.left_out:
                    self._remark = left_out(event.left_out)
                if event.done < event.total and not self._stopping:
                    column.status = f"reading {event.done} of {event.total} new tokens"
            case Round():
                column.add(event)
            case Finished():
                column.finish(event)
                self._finished(event)
            case Failed():
                self._fail(event)
            case _:
                return False
        return True

    def _finished(self, event: Finished) -> None:
        if self._at == 0 and event.finish_reason != "cancelled":
            self.call_later(self._begin, 1)
        else:
            self._end("stopped")

    def _fail(self, event: Failed) -> None:
        if self._under_way is not None:
            self._remark = f"✗ {event.title}. {event.message} → {event.help}"
            self._end("failed")

    async def _begin(self, at: int) -> None:
        if self._stopping:  # between the two
            self._end("stopped")
            return
        self._at, self._under_way = at, self._next_id()
        self._columns[at].status = "waiting for the engine"
        self.refresh_bindings()
        request = Generate(
            id=self._under_way,
            conversation=self._asked.conversation,
            sampling=self._sampling,
            speculation=self._speculation[at],
            max_tokens=self._asked.max_tokens,
        )
        self._requests.append(request)
        await self._send(request)

    def _end(self, status: str) -> None:
        """Nothing more comes."""
        self._under_way = None
        for column in self._columns:
            column.status = ""
            if column.side.ended is None:
                column.give_up(status)
        self._beat.stop()
        self.refresh_bindings()
        self._show()

    # What is shown

    def _show(self) -> None:
        for column in self._columns:
            column.show()
        self._verdict.update(Content("\n").join(self._lines()))

    def _lines(self) -> Iterator[Content]:
        sides = [column.side for column in self._columns]
        if line := summary(*sides):
            yield Content.styled(line, "bold")
        elif self._under_way is not None:
            yield Content.styled(
                "The plain answer comes first, then the one with drafts.", "$foreground-muted"
            )
        if parted := parting(*sides):
            for name, piece in zip(PIECES, (parted.plain, parted.drafted), strict=True):
                yield Content.assemble((name, "$foreground-muted"), piece)
            yield Content.styled(NEAR_TIE, "$foreground-muted")
        for line in self._kept.values():
            yield Content.styled(line, "$text-success")
        if self._remark:
            yield Content(visible(self._remark))
