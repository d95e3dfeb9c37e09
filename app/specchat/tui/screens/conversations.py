"""All conversations: found again, put in order, taken along and brought in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, OptionList, Static

from specchat.chat.titles import shorten
from specchat.errors import SpecchatError
from specchat.tui.conversation_entries import found_section, sections_of
from specchat.tui.conversation_files import export_conversation, import_conversation
from specchat.tui.conversation_keys import BINDINGS
from specchat.tui.conversation_rows import UNTITLED, one_line
from specchat.tui.error_line import error_line
from specchat.tui.widgets.ask_line import AskLine
from specchat.tui.widgets.conversation_list import ConversationList, Opened

if TYPE_CHECKING:
    from specchat.chat.export_file import Kind
    from specchat.chat.records import Summary
    from specchat.chat.store import Store

LISTED = 10_000
FOUND = 100
"""The most that is listed, and that a search brings."""
DEBOUNCE_S = 0.12
"""How long the person has to pause in writing before what is written is searched for."""

NOTHING_YET = "No conversations. What you ask is kept here."
NOTHING_ARCHIVED = "Nothing is archived."
NOTHING_FOUND = "No message and no title has all of these words."

KINDS: dict[str, Kind] = {"Markdown": "markdown", "JSON": "json"}
OF_ONE = ("rename", "delete", "pin", "archive", "export")
"""Actions that need a conversation to act on."""


class ConversationsScreen(ModalScreen[Opened | None]):
    """The list by recency, and a search through all that was said.

    Args:
        store: the conversations.
        current: the one behind this screen.
        clock: the time now, in seconds since 1970.
    """

    HELP = (
        "Type to search all titles and messages, archived ones too: what is found has all the "
        "words, or parts of words. Enter opens a conversation; where a message was found, at that "
        "message. With the mouse, a click goes to an entry and a second click opens it. ● is the "
        "conversation that is open. What is deleted can be brought back for seven days, the last "
        "one first. Markdown has the messages on screen, to be read; JSON has all of it and can "
        "be imported again, here or on another machine. Both are written into the folder in which "
        "specchat was started, and never over another file."
    )

    BINDINGS = BINDINGS

    def __init__(
        self, store: Store, current: int | None, *, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__()
        self._store = store
        self._current = current
        self._clock = clock
        self._current_deleted = False
        self._archived = False
        self._summaries: dict[int, Summary] = {}
        self._deleted: Summary | None = None
        self._asked_about: Summary | None = None
        self._keys_shown = (True, True, False)
        self._asking = False
        self._searched = ""
        """What the list is the result of; empty: it is the list of all."""
        self._open_found = False
        """Whether to open the first thing that the search finds."""
        self._search = Input(
            placeholder="Search titles and messages", select_on_focus=False, id="search"
        )
        self._list = ConversationList()
        self._ask = AskLine()
        self._said = Static("", markup=False, id="said")

    def compose(self) -> ComposeResult:
        yield self._search
        yield self._list
        yield self._ask.popup
        yield self._ask
        yield self._said
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Begin at the conversation that is open."""
        self._said.display = False
        self._search.focus()
        if self._store.trouble is not None:
            self._show_error(self._store.trouble)
        self._refill(None if self._current is None else Opened(self._current))

    # Looking for one

    @on(Input.Changed, "#search")
    def search(self) -> None:
        """Look for what is written, once the person pauses."""
        self._open_found = False
        self.workers.cancel_group(self, "search")
        if self._query == self._searched:
            return
        if self._query:
            self._search_for(self._query, fresh=True, pause_s=DEBOUNCE_S)
        else:
            chosen = self._list.chosen
            self._refill(chosen and Opened(chosen.conversation))

    @on(Input.Submitted, "#search")
    def submit(self) -> None:
        """Open the entry; a search that has not ended opens what it finds first."""
        if self._query == self._searched:
            self._open()
        else:
            self._open_found = True
            self._search_for(self._query, fresh=True)

    @on(OptionList.OptionSelected)
    def choose(self, event: OptionList.OptionSelected) -> None:
        """Open the entry, or write the path."""
        event.stop()
        if event.option_list is self._ask.popup:
            self._ask.take_path()
        else:
            self._open()

    def on_key(self, event: events.Key) -> None:
        """Letters go to the search, wherever the focus is in the list."""
        if event.is_printable and event.character and self.focused is self._list:
            event.stop()
            self._search.focus()
            self._search.insert_text_at_cursor(event.character)

    def action_go(self, where: str) -> None:
        """Walk through the list while the cursor stays in the search."""
        getattr(self._list, f"action_{where}")()

    def action_back(self) -> None:
        """Leave the question, the search or the list: the first of them that is there."""
        if self._asking:
            self._stop_asking()
        elif self._search.value:
            self._search.clear()
        else:
            self.dismiss(Opened(None) if self._current_deleted else None)

    # Doing something with one

    def action_rename(self) -> None:
        """Ask for another title."""
        if summary := self._chosen():
            self._begin_asking(summary)
            self._ask.ask_for_text("rename", "rename to", one_line(summary.title))

    def action_pin(self) -> None:
        """Keep it at the top, or no longer."""
        if summary := self._chosen():
            self._store.pin(summary.id, not summary.pinned)
            self._say(f"{'no longer pinned' if summary.pinned else 'pinned'}: {_named(summary)}")
            self._refill()

    def action_archive(self) -> None:
        """Take it out of the list, or put it back."""
        if summary := self._chosen():
            self._store.archive(summary.id, not summary.archived)
            self._say(
                f"{'back in the list' if summary.archived else 'archived'}: {_named(summary)}"
            )
            self._refill()

    def action_delete(self) -> None:
        """Remove it; it can be brought back."""
        if summary := self._chosen():
            self._store.delete(summary.id)
            self._current_deleted |= summary.id == self._current
            self._say(f"deleted: {_named(summary)} (Ctrl+Z brings it back)")
            self._refill()

    def action_undo(self) -> None:
        """Bring back what was deleted last."""
        if summary := self._deleted:
            self._store.undelete(summary.id)
            self._current_deleted &= summary.id != self._current
            self._archived = summary.archived
            self._say(f"back again: {_named(summary)}")
            self._refill(Opened(summary.id))

    def action_archived(self) -> None:
        """Show what is archived, or the others again."""
        self._archived = not self._archived
        self._search.clear()
        self._list.go_to_first()
        self._refill()

    def action_export(self) -> None:
        """Ask for the form."""
        if summary := self._chosen():
            self._begin_asking(summary)
            self._ask.ask_which("export", "export as", *KINDS)

    def action_import(self) -> None:
        """Ask for the file."""
        self._begin_asking(None)
        self._ask.ask_for_path("import", "import from", "path of a JSON file")

    @on(AskLine.Answered)
    def answer(self, event: AskLine.Answered) -> None:
        """The person has said what was asked."""
        about = self._asked_about
        self._stop_asking()
        match event.about:
            case "rename" if about is not None:
                self._store.rename(about.id, event.text)
                self._refill()
            case "export" if about is not None:
                exporting = self._export(about, KINDS[event.text])
                self.run_worker(exporting, group="file", exclusive=True)
            case "import" if event.text.strip():
                self.run_worker(self._import(event.text), group="file", exclusive=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey out what would do nothing now; undo is there when something can be undone."""
        if action == "undo":
            return self._deleted is not None and not self._asking
        if action in OF_ONE:
            return True if self._list.chosen and not self._asking else None
        if action in ("archived", "import", "go"):
            return None if self._asking else True
        return True

    # Helpers

    @property
    def _query(self) -> str:
        return self._search.value.strip()

    @property
    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _chosen(self) -> Summary | None:
        chosen = self._list.chosen
        return None if chosen is None else self._summaries.get(chosen.conversation or 0)

    def _open(self) -> None:
        chosen = self._list.chosen
        if chosen is not None:
            self.dismiss(None if chosen == Opened(self._current) else chosen)

    def _begin_asking(self, about: Summary | None) -> None:
        """Nothing else has the focus until there is an answer."""
        self._asked_about = about
        self._said.display = False
        self._search.disabled = self._list.disabled = True
        self._asking = True
        self._show_keys()

    def _stop_asking(self) -> None:
        self._ask.close()
        self._search.disabled = self._list.disabled = False
        self._asking = False
        self._search.focus()
        self._show_keys()

    async def _export(self, summary: Summary, kind: Kind) -> None:
        try:
            self._say(f"exported to {await export_conversation(self._store, summary.id, kind)}")
        except SpecchatError as error:
            self._show_error(error)

    async def _import(self, written: str) -> None:
        try:
            summary = await import_conversation(self._store, written)
        except SpecchatError as error:
            self._show_error(error)
            return
        self._archived = summary.archived
        self._search.clear()
        self._say(f"imported: {_named(summary)}")
        self._refill(Opened(summary.id))

    def _search_for(self, query: str, *, fresh: bool, pause_s: float = 0) -> None:
        self.run_worker(self._find(query, fresh, pause_s), group="search", exclusive=True)

    async def _find(self, query: str, fresh: bool, pause_s: float) -> None:
        """Search and show what is found, from its top if the query is a fresh one."""
        await asyncio.sleep(pause_s)
        try:
            found = await asyncio.to_thread(self._store.search, query, FOUND)
        except SpecchatError as error:
            self._show_error(error)
            return
        self._searched = query
        self._list.border_title = "found"
        if fresh:
            self._list.go_to_first()
        section = found_section(found, self._summaries, self._now, self._current)
        some = f"the newest {FOUND}" if len(found) == FOUND else f"{len(section.entries)}"
        self._list.border_subtitle = some
        self._list.show([section], NOTHING_FOUND)
        self._show_keys()
        if self._open_found:
            self._open()

    def _refill(self, go_to: Opened | None = None) -> None:
        """Read what there is and show it, or look for it again."""
        try:
            listed = self._store.conversations(archived=self._archived, limit=LISTED)
            others = self._store.conversations(archived=not self._archived, limit=LISTED)
            self._deleted = self._store.last_deleted()
        except SpecchatError as error:
            self._show_error(error)
            return
        self._summaries = {summary.id: summary for summary in (*listed, *others)}
        if self._query:
            self._search_for(self._query, fresh=False)
            return
        self._searched = ""
        self._list.border_title = "archived chats" if self._archived else "chats"
        self._list.border_subtitle = f"{len(listed):,}" if listed else ""
        empty = NOTHING_ARCHIVED if self._archived else NOTHING_YET
        self._list.show(sections_of(listed, self._now, self._current), empty, go_to)
        self._show_keys()

    def _show_keys(self) -> None:
        """Those that work now. The footer is slow to draw, so only when they are others."""
        work = (self._list.chosen is None, self._deleted is None, self._asking)
        if work != self._keys_shown:
            self._keys_shown = work
            self.refresh_bindings()

    def _say(self, text: str) -> None:
        self._said.update(Content.styled(one_line(text), "$foreground-muted"))
        self._said.display = True

    def _show_error(self, error: SpecchatError) -> None:
        self._said.update(error_line(error))
        self._said.display = True


def _named(summary: Summary) -> str:
    return shorten(one_line(summary.title) or UNTITLED)
