"""What is kept of conversations: plain data. Times are milliseconds since 1970."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from specchat.chat.parts import PartFigures
from specchat.chat.reasoning import Kind, Tags, tags_named
from specchat.notices import Notice
from specchat.speculation.metrics import Figures
from specchat.speculation.settings import (
    DraftLength,
    Rule,
    SamplingSettings,
    SpeculationSettings,
)

Role = Literal["user", "assistant"]
State = Literal["writing", "complete", "length", "stopped", "interrupted"]
"""Of a message: still coming in; ended by itself; ended at a limit of length; stopped by the
person; cut off by a failure."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What a conversation sets for itself; None leaves it to the settings."""

    system: str | None = None
    preset: str | None = None
    sampling: SamplingSettings | None = None
    speculation: SpeculationSettings | None = None


class AnswerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer came about."""

    target: str
    """File name of the model that answered."""
    draft: str | None = None
    """File name of the draft model or head."""
    drafter: str
    """Who guessed, as in `Finished`."""
    rule: Rule
    draft_length: DraftLength
    sampling: SamplingSettings
    seed: int | None
    """The one that was used; None: it was drawn anew, and the answer was cut off before it was
    told."""
    figures: Figures
    parts: dict[Kind, PartFigures] = {}
    """The same by kind of text, as far as it was followed."""
    opened: str | None = None
    """The name of the tags, in `reasoning.TAGS`, that the prompt left open."""
    left_out: int = 0
    """The first so many messages of the conversation did not fit and were not in the prompt."""
    alarms: tuple[Notice, ...] = ()
    """What made it slower than it need be."""
    edited: bool = False
    """The person has worded it otherwise; the figures are of what the model wrote after that."""

    def with_alarms(self, alarms: Iterable[Notice]) -> "AnswerRecord":
        """With these alarms too, one of a kind."""
        by_kind = {alarm.kind: alarm for alarm in (*self.alarms, *alarms)}
        return msgspec.structs.replace(self, alarms=tuple(by_kind.values()))

    def after(self, begun: "AnswerRecord") -> "AnswerRecord":
        """Of an answer that went on, given what was kept of its beginning; figures are of all of
        it already."""
        left_out = max(self.left_out, begun.left_out)
        record = msgspec.structs.replace(self, left_out=left_out, edited=begun.edited)
        return record.with_alarms(begun.alarms)

    def as_edited(self) -> "AnswerRecord":
        """Of the same answer in a person's words: nothing was drawn, drafted or measured."""
        return msgspec.structs.replace(
            self, figures=Figures(), parts={}, left_out=0, alarms=(), edited=True
        )


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a conversation's tree. Its children are what was said after it, each another try
    or another wording."""

    id: int
    parent: int | None
    role: Role
    text: str
    state: State
    created_at: int
    answer: AnswerRecord | None = None

    @property
    def opened(self) -> Tags | None:
        """The tags that the prompt left open before its text."""
        return tags_named(self.answer.opened if self.answer else None)


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation in the list."""

    id: int
    title: str
    pinned: bool
    archived: bool
    created_at: int
    updated_at: int


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Where a search found something."""

    conversation: int
    title: str
    message: int | None
    """None: it is in the title."""
    role: Role | None
    at: int
    """When that was said; for a title, when the conversation last changed."""
    snippet: str
    """A piece of the text, on one line."""
    marks: tuple[tuple[int, int], ...]
    """Where in it the words stand that were looked for: start and end."""
