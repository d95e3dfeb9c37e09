"""The text of an answer: its thinking folded, the rest as Markdown, or all of it by origin."""

from collections.abc import Callable, Mapping

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from specchat.chat.parts import NOTHING, PartFigures
from specchat.chat.reasoning import Kind, Splitter, tags_named
from specchat.chat.tokens import Tokens
from specchat.tui.origins import legend, origin_content
from specchat.tui.widgets.steady import LaidOutOnce
from specchat.tui.widgets.streaming_markdown import StreamingMarkdown
from specchat.tui.widgets.thought import Thought
from specchat.tui.wording import visible

LOOKS_PER_SECOND = 2
NOT_KEPT = "Where the tokens of this answer came from was not kept."

GetTokens = Callable[[], Tokens | None]


class AnswerBody(Vertical, LaidOutOnce):
    """Shows text as it comes.

    Args:
        opened: the name of the tags that the prompt left open.
        tokens: gives the tokens of the text so far; None where they are not known.
        below: widgets after the text. Each level of containers costs at every text that comes, so
            that they are here and not in one around it.
    """

    def __init__(
        self,
        opened: str | None = None,
        tokens: GetTokens = lambda: None,
        *below: Widget,
        classes: str | None = None,
    ) -> None:
        super().__init__(classes=classes)
        self._below = below
        self.text = ""
        """All of it, as the model wrote it."""
        self.has_ended = False
        self._splitter = Splitter(tags_named(opened))
        self.tokens = tokens
        """Gives the tokens of the text so far."""
        self._sections: list[Thought | StreamingMarkdown] = []
        self._spans = 0
        """How many spans the sections have; the last of them up to `_end`."""
        self._end = 0
        self._figures = self._earlier = NOTHING
        """Of all thinking, and of the thoughts before the last one."""
        self._origins: OriginView | None = None
        self._composed = False
        """Whether sections have to be mounted."""

    def compose(self) -> ComposeResult:
        yield from self._sections
        if self._origins is not None:
            yield self._origins
        yield from self._below
        self._composed = True

    def open_with(self, opened: str | None) -> None:
        """The answer is about to come in, and the prompt left these tags open."""
        if not self.text:
            self._splitter = Splitter(tags_named(opened))

    def write(self, text: str, parts: Mapping[Kind, PartFigures] | None = None) -> None:
        """Add text that came.

        Args:
            parts: figures of the answer so far, by kind of text.
        """
        if parts is not None:
            self._figures = parts.get("thinking", NOTHING)
        self.text += text
        self._splitter.add(text)
        self._hand_on()

    def finish(self, parts: Mapping[Kind, PartFigures] | None = None) -> None:
        """Show all of it now. Nothing may be written afterwards."""
        self._splitter.finish()
        self.write("", parts)
        self.has_ended = True
        if self._sections:
            self._sections[-1].finish()
        if self._origins is not None:
            self._origins.look()

    @property
    def is_waiting(self) -> bool:
        """Whether it has ended and has not found its size yet."""
        texts = (each for each in self._sections if isinstance(each, StreamingMarkdown))
        return self.has_ended and not all(text.is_complete for text in texts)

    def _hand_on(self) -> None:
        """Give new text to the sections, each of which shows it in its own time."""
        spans = self._splitter.spans
        for span in spans[max(0, self._spans - 1) :]:
            if span.end > self._end:
                new = self.text[max(span.start, self._end) : span.end]
                self._section(thinks=span.kind == "thinking").write(new)
                self._end = span.end
        self._spans = len(spans)
        self._tell_thought()

    def _section(self, *, thinks: bool) -> Thought | StreamingMarkdown:
        """The section that the next text belongs to."""
        last = self._sections[-1] if self._sections else None
        if last is not None and isinstance(last, Thought) == thinks:
            return last
        if isinstance(last, Thought):
            self._tell_thought()
            self._earlier = self._figures
        if last is not None:
            last.finish()
        section = Thought() if thinks else StreamingMarkdown()
        section.display = not self.shows_origins
        self._sections.append(section)
        if self._composed:
            self.mount(section, before=self._origins or self._first_below)
        return section

    @property
    def _first_below(self) -> Widget | None:
        return self._below[0] if self._below else None

    # Thinking

    @property
    def thoughts(self) -> list[Thought]:
        """All thinking in it, in order."""
        return [section for section in self._sections if isinstance(section, Thought)]

    def toggle_thoughts(self) -> None:
        """Show all thinking, or hide it where some is shown."""
        thoughts = self.thoughts
        unfold = not any(thought.is_open for thought in thoughts)
        for thought in thoughts:
            thought.toggle(unfold)

    def _tell_thought(self) -> None:
        last = self._sections[-1] if self._sections else None
        if isinstance(last, Thought):
            last.tell(NOTHING.changed(self._figures, self._earlier))

    # Origins

    @property
    def shows_origins(self) -> bool:
        """Whether its tokens are marked by where they came from."""
        return self._origins is not None

    def show_origins(self, on: bool) -> None:
        """Show the raw text with its tokens marked, or the text as it is meant to be read."""
        if on == self.shows_origins:
            return
        if self._origins is not None:
            self._origins.remove()
            self._origins = None
        else:
            self._origins = OriginView(self)
            if self._composed:
                self.mount(self._origins, before=self._first_below)
        for section in self._sections:
            section.display = not on

    def by_origin(self) -> Content:
        """The text so far with its tokens marked, and below it what the marks mean."""
        tokens = self.tokens()
        gap = "\n" if self.text.endswith("\n") else "\n\n"
        if tokens is None or not tokens.sizes:
            not_kept = (NOT_KEPT, "$foreground-muted")
            return Content.assemble(visible(self.text), gap, not_kept)
        return Content.assemble(origin_content(self.text, tokens), gap, legend(tokens))


class OriginView(Static):
    """The text of an answer by origin; while the answer comes in, drawn anew now and then."""

    def __init__(self, body: AnswerBody) -> None:
        super().__init__(markup=False)
        self._body = body
        self._length = -1

    def on_mount(self) -> None:
        """Draw it, and go on with it."""
        self._timer = self.set_interval(1 / LOOKS_PER_SECOND, self._look_again)
        self.look()

    def look(self) -> None:
        """Draw it as it is now."""
        self._length = len(self._body.text)
        self.update(self._body.by_origin())

    def _look_again(self) -> None:
        if self._body.has_ended:
            self._timer.stop()
        elif len(self._body.text) != self._length:
            self.look()
