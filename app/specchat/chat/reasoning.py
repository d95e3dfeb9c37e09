"""Which part of an answer is thinking, which is said, and which is code, while it comes in.

Models mark their thinking by tags in the text. The table has those of public chat templates; where
a template has the tag at the end of the prompt, the answer begins inside (`tags_opened_by`).
"""

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

Kind = Literal["thinking", "answer", "code"]
KINDS: tuple[Kind, ...] = ("thinking", "answer", "code")


class Tags(msgspec.Struct, frozen=True):
    """What one family of models writes around its thinking."""

    name: str
    open: str
    close: str
    aside: tuple[str, ...] = ()
    """More of its marks: outside of thinking they are left out."""
    anywhere: bool = False
    """The marks are tokens of their own, so they count wherever they stand outside of code. Plain
    words count at the beginning only: later on, somebody writes about them."""


TAGS = (
    Tags("think", "<think>", "</think>"),  # Qwen, DeepSeek, GLM, Granite, Nemotron, SmolLM3, LFM2.5
    Tags("thinking", "<thinking>", "</thinking>"),
    Tags("thought", "<thought>", "</thought>"),  # EXAONE
    Tags("reasoning", "<reasoning>", "</reasoning>"),
    Tags("seed", "<seed:think>", "</seed:think>"),  # Seed-OSS
    Tags("mistral", "[THINK]", "[/THINK]"),  # Magistral, Ministral
    Tags("kimi", "◁think▷", "◁/think▷"),
    Tags(
        "harmony",  # gpt-oss
        "<|channel|>analysis<|message|>",
        "<|end|>",
        (
            "<|start|>assistant",
            "<|channel|>final<|message|>",
            "<|channel|>commentary<|message|>",
            "<|end|>",
            "<|return|>",
        ),
        anywhere=True,
    ),
    Tags("gemma", "<|channel>thought", "<channel|>", anywhere=True),  # Gemma 4
    Tags(
        "cohere",  # Command A, Command R7B
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        anywhere=True,
    ),
    Tags("apertus", "<|inner_prefix|>", "<|inner_suffix|>", anywhere=True),
)

ALL_MARKS = frozenset(mark for tags in TAGS for mark in (tags.open, tags.close, *tags.aside))
LONGEST_MARK = max(map(len, ALL_MARKS))
MARK_BEGINS = frozenset(mark[0] for mark in ALL_MARKS)
LATER_MARKS: dict[str, Tags | None] = {
    **{tags.open: tags for tags in TAGS if tags.anywhere},
    **{mark: None for tags in TAGS for mark in tags.aside},
}
"""Outside of thinking: what each mark begins."""
FIRST_MARKS: dict[str, Tags | None] = {**LATER_MARKS, **{tags.open: tags for tags in TAGS}}

FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`\n]*$)|~{3,})[^\n]*$")
"""The line that opens a code block (CommonMark 4.5). Indented as far as it likes: lists do that."""
FENCE_BEGUN = re.compile(r"[ \t]*(`{0,2}|`{3,}[^`\n]*|~{0,2}|~{3,}[^\n]*)$")
"""The beginning of a line that may still become one."""

CHUNK = 4096
"""Characters that are looked at together: what is held is copied at each step."""


class Span(msgspec.Struct, frozen=True):
    """A part of the raw text. Marks around thinking, and the line breaks after them, are in none.

    A code block keeps its fences: spans of answer and code, one after the other, are Markdown.
    """

    kind: Kind
    start: int
    end: int


def tags_opened_by(prompt: str) -> Tags | None:
    """The tags whose opening one the prompt ends with; None for most models."""
    end = prompt.rstrip()
    return next((tags for tags in TAGS if end.endswith(tags.open)), None)


def tags_named(name: str | None) -> Tags | None:
    """The tags of this name in the table; None for none, and for one that is not there."""
    return next((tags for tags in TAGS if tags.name == name), None)


class Splitter:
    """Splits the text of one answer into spans, however it is cut into chunks.

    The first closing tag ends the thinking, whatever was opened inside; what is still open at the
    end belongs to where it was.

    Args:
        opened: the tags that the prompt left open.
    """

    def __init__(self, opened: Tags | None = None) -> None:
        self._thinking = opened
        self._fence = ""
        self._spans: list[Span] = []
        self._held = ""
        """What may yet be part of a mark or a fence."""
        self._at = 0
        """Where in the raw text that begins."""
        self._line_begins = True
        self._silent = True
        """Nothing but blanks was said in this part."""
        self._answered = False
        """Something was said outside of thinking."""

    @property
    def kind(self) -> Kind:
        """What the next text belongs to, as far as it is known."""
        if self._thinking:
            return "thinking"
        return "code" if self._fence else "answer"

    @property
    def spans(self) -> tuple[Span, ...]:
        """The parts in order; the last one may grow, and no other changes."""
        return tuple(self._spans)

    @property
    def open_tags(self) -> Tags | None:
        """The tags of the thinking under way; None outside of it."""
        return self._thinking

    @property
    def open_fence(self) -> str:
        """The fence that would close the code block under way; empty outside of one."""
        return self._fence

    def add(self, text: str) -> None:
        """Take the next text; a few characters may wait for what comes after them."""
        for start in range(0, len(text), CHUNK):
            self._held += text[start : start + CHUNK]
            while self._held and self._step(final=False):
                pass

    def finish(self) -> tuple[Span, ...]:
        """The spans of the whole text. Nothing is added after it."""
        while self._held and self._step(final=True):
            pass
        return self.spans

    # Each step takes something off what is held; it returns False when it needs more text.

    def _step(self, final: bool) -> bool:
        if self._fence:
            return self._step_in_code(final)
        if self._silent:
            return self._step_over_blanks(final)
        if not self._thinking and self._line_begins and self._step_at_fence(final):
            return bool(self._fence)
        return self._step_to_mark(final)

    def _step_over_blanks(self, final: bool) -> bool:
        """At the first word: take a mark there, leaving out the blanks before it; else leave out
        the line breaks."""
        words = self._held.lstrip()
        marks = self._marks(at_the_beginning=True)
        if not final and any(mark.startswith(words) and mark != words for mark in marks):
            return False
        blanks = len(self._held) - len(words)
        mark = next((mark for mark in marks if words.startswith(mark)), "")
        if mark or not words:
            self._drop(blanks + len(mark))
            self._thinking = marks.get(mark)
        else:
            self._drop(self._held.rfind("\n", 0, blanks) + 1)
            self._silent = False
        return True

    def _step_in_code(self, final: bool) -> bool:
        line, newline, _ = self._held.partition("\n")
        if self._line_begins:
            bare = line.strip()
            might_close = bare == self._fence[0] * len(bare)
            if might_close and not newline and not final:
                return False
            if might_close and len(bare) >= len(self._fence):
                self._take("code", len(line) + len(newline))
                self._fence, self._line_begins = "", True
                return True
        self._take("code", len(line) + len(newline))
        self._line_begins = bool(newline)
        return True

    def _step_at_fence(self, final: bool) -> bool:
        """Whether the line opens a code block, or may yet do so."""
        line, newline, _ = self._held.partition("\n")
        if not newline and not final and FENCE_BEGUN.match(line):
            return True
        fence = FENCE.match(line)
        if fence is None:
            return False
        self._take("code", len(line) + len(newline))
        self._fence, self._line_begins = fence[1], bool(newline)
        return True

    def _step_to_mark(self, final: bool) -> bool:
        """Take text up to the first mark, and the mark itself; in an answer, a line at most."""
        marks = self._marks()
        end = len(self._held)
        if not self._thinking and "\n" in self._held:
            end = self._held.index("\n") + 1
        found = [(at, mark) for mark in marks if (at := self._held.find(mark, 0, end)) >= 0]
        if found:
            at, mark = min(found)
            self._take(self.kind, at)
            self._drop(len(mark))
            self._thinking = marks[mark]
            self._silent = self._line_begins = True
            return True
        if not final and end == len(self._held):
            end -= _possible_mark(self._held, marks)
        if not end:
            return False
        self._line_begins = self._held[end - 1] == "\n"
        self._take(self.kind, end)
        return True

    def _marks(self, *, at_the_beginning: bool = False) -> dict[str, Tags | None]:
        """Marks that count here, and the tags whose thinking goes on after each."""
        if self._thinking:
            # Some models open once more what the prompt has opened.
            again = {self._thinking.open: self._thinking} if at_the_beginning else {}
            return {self._thinking.close: None, **again}
        return FIRST_MARKS if at_the_beginning and not self._answered else LATER_MARKS

    def _take(self, kind: Kind, length: int) -> None:
        if not length:
            return
        start, end = self._at, self._at + length
        last = self._spans[-1] if self._spans else None
        if last and last.kind == kind and last.end == start:
            self._spans[-1] = Span(kind, last.start, end)
        else:
            self._spans.append(Span(kind, start, end))
        self._answered |= kind != "thinking"
        self._drop(length)

    def _drop(self, length: int) -> None:
        self._held = self._held[length:]
        self._at += length


def split(text: str, opened: Tags | None = None) -> tuple[Span, ...]:
    """The spans of a whole answer."""
    splitter = Splitter(opened)
    splitter.add(text)
    return splitter.finish()


def spoken(text: str, opened: Tags | None = None) -> str:
    """What the answer says, as Markdown: without its thinking."""
    spans = split(text, opened)
    return "".join(text[span.start : span.end] for span in spans if span.kind != "thinking")


def lead(text: str, opened: Tags | None = None) -> str:
    """Everything before the first word that an answer says: its thinking, with the tags around it.
    Thinking that goes on to the end is closed."""
    splitter = Splitter(opened)
    splitter.add(text)
    spans = splitter.finish()
    said = next((span for span in spans if span.kind != "thinking"), None)
    if said is not None:
        return text[: said.start] if opened or spans[0].kind == "thinking" else ""
    return f"{text.rstrip()}\n{tags.close}\n\n" if (tags := splitter.open_tags) else text


def remembered(text: str, opened: Tags | None = None) -> str:
    """What of an earlier answer goes back to the model: what it said, as templates that know of
    thinking have it. An answer without thinking goes back as it was."""
    spans = split(text, opened)
    return spoken(text, opened) if any(span.kind == "thinking" for span in spans) else text


def _possible_mark(text: str, marks: Iterable[str]) -> int:
    """Length of the longest end of the text with which a mark begins."""
    first = max(0, len(text) - LONGEST_MARK + 1)
    for start in range(first, len(text)):
        if text[start] in MARK_BEGINS:
            end = text[start:]
            if any(mark.startswith(end) for mark in marks):
                return len(end)
    return 0
