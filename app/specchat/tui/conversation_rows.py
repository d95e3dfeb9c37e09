"""Conversations as lines of a list. They are drawn when they come into view: a list may be long."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

from specchat.tui.ages import age
from specchat.tui.wording import SEPARATOR, visible

if TYPE_CHECKING:
    from specchat.chat.records import Found, Summary

UNTITLED = "New chat"
OPEN, CLOSED = "● ", "  "
FOUND = "bold underline $text-accent"
NARROWEST = 10
SPEAKERS = {"user": "you", "assistant": "model"}


class Row(Visual):
    """Lines that are cut where there is no room, not wrapped."""

    height: ClassVar[int]

    @abstractmethod
    def lines(self, width: int) -> list[Content]:
        """As many lines as it is high."""

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """Draw it."""
        lines = self.lines(width)
        return [strip for line in lines for strip in line.render_strips(width, 1, style, options)]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """All there is."""
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        """The same at any width."""
        return self.height


@dataclass(frozen=True)
class ConversationRow(Row):
    """Its title, and when it was used last.

    Args:
        now: milliseconds since 1970.
        is_open: whether it is the one behind the list.
    """

    summary: Summary
    now: int
    is_open: bool = False
    height = 1

    def lines(self, width: int) -> list[Content]:
        """One."""
        title = Content(one_line(self.summary.title) or UNTITLED)
        return [_spread(_mark(self.is_open), title, age(self.summary.updated_at, self.now), width)]


@dataclass(frozen=True)
class FoundTitle(Row):
    """A title that has the words of a search."""

    found: Found
    now: int
    is_open: bool = False
    archived: bool = False
    height = 1

    def lines(self, width: int) -> list[Content]:
        """One."""
        facts = _facts(self.archived, age(self.found.at, self.now))
        return [_spread(_mark(self.is_open), _marked(self.found), facts, width)]


@dataclass(frozen=True)
class FoundMessage(Row):
    """A message that has them, under the title of its conversation."""

    found: Found
    now: int
    is_open: bool = False
    archived: bool = False
    height = 2

    def lines(self, width: int) -> list[Content]:
        """Where it is and who said it, then the piece of text."""
        speaker = SPEAKERS.get(self.found.role or "", "")
        facts = _facts(self.archived, speaker, age(self.found.at, self.now))
        title = Content(one_line(self.found.title) or UNTITLED)
        return [
            _spread(_mark(self.is_open), title, facts, width),
            _spread(CLOSED, _marked(self.found).stylize_before("$foreground-muted"), "", width),
        ]


def one_line(text: str) -> str:
    """The text with every character in its place, but none that would break the line."""
    return visible("".join(" " if character.isspace() else character for character in text))


def _mark(is_open: bool) -> str:
    return OPEN if is_open else CLOSED


def _facts(archived: bool, *facts: str) -> str:
    return SEPARATOR.join(filter(None, ("archived" if archived else "", *facts)))


def _marked(found: Found) -> Content:
    text = Content(one_line(found.snippet))
    for start, end in found.marks:
        text = text.stylize(FOUND, start, end)
    return text


def _spread(mark: str, text: Content, facts: str, width: int) -> Content:
    """The text at the left, cut if need be, and the facts at the right."""
    right = f" {facts}" if facts else ""
    room = max(NARROWEST, width - len(mark) - len(right))
    cut = text.truncate(room, ellipsis=True, pad=True)
    return Content.assemble(mark, cut, (right, "$foreground-muted"))
