"""The list of conversations, or of what a search found in them, under headings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from textual import events
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from specchat.tui.conversation_rows import Row


class Opened(NamedTuple):
    """What a person chose: a conversation, and a message in it to go to.

    No conversation: the one that was open is deleted, and a new one takes its place.
    """

    conversation: int | None
    message: int | None = None


class Section(NamedTuple):
    """Entries under a heading; without one, they just begin."""

    heading: str
    entries: Sequence[tuple[Opened, Row]]


class ConversationList(OptionList):
    """Keeps to the entry that the person went to when the list changes around it.

    A click goes to an entry, and a click on the entry where one is opens it.
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._opened: dict[str, Opened] = {}

    @property
    def chosen(self) -> Opened | None:
        """The entry where the person is."""
        option = self.highlighted_option
        return None if option is None else self._opened.get(option.id or "")

    def show(self, sections: Iterable[Section], empty: str, go_to: Opened | None = None) -> None:
        """Draw all entries.

        Args:
            empty: what to say when there are none.
            go_to: the entry to go to; None: where the person was, or the nearest one.
        """
        before, option = list(self._opened), self.highlighted_option
        at = None if option is None else option.id
        self._opened = {}
        options = list(self._options_of(sections))
        self.set_options(options or [Option(Content(empty), disabled=True)])
        wanted = _id(go_to) if go_to is not None else _nearest(before, at, self._opened)
        if wanted in self._opened:
            self.highlighted = self.get_option_index(wanted)
        else:
            self.action_first()

    def go_to_first(self) -> None:
        """What is shown next begins at its top."""
        self.highlighted = None

    def on_click(self, event: events.Click) -> None:
        """Go there; opening is for the second click."""
        at = event.style.meta.get("option")
        if at is not None and at != self.highlighted and not self.options[at].disabled:
            event.prevent_default()
            self.highlighted = at

    def _options_of(self, sections: Iterable[Section]) -> Iterator[Option]:
        for heading, entries in sections:
            if heading and entries:
                yield Option(Content.styled(heading, "bold underline"), disabled=True)
            for opened, row in entries:
                self._opened[_id(opened)] = opened
                yield Option(row, id=_id(opened))


def _id(opened: Opened) -> str:
    return f"{opened.conversation} {opened.message or ''}"


def _nearest(before: Sequence[str], at: str | None, now: Iterable[str]) -> str | None:
    """The entry itself if it is still there, else the one after it, else the one before."""
    if at is None or at not in before:
        return None
    place = before.index(at)
    there = frozenset(now)
    return next((each for each in (*before[place:], *before[:place][::-1]) if each in there), None)
