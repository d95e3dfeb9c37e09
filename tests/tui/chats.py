"""Conversations of a few days, and the screen that lists them."""

from datetime import UTC, datetime

from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from specchat.chat.store import Store
from specchat.settings import Settings
from specchat.tui.app import DEFAULTS
from specchat.tui.conversation_rows import Row
from specchat.tui.screens.conversations import ConversationsScreen
from specchat.tui.widgets.ask_line import AskLine
from specchat.tui.widgets.conversation_list import ConversationList, Opened
from tui.screen_driver import make_app, wait_until

NOW = datetime(2026, 11, 18, 15, tzinfo=UTC).timestamp()
HOUR, DAY = 3600.0, 86400.0


class Clock:
    """Time that passes when a test says so."""

    now = NOW

    def __call__(self) -> float:
        return self.now


class Chats:
    """A store, and how tests fill it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = Store.in_memory(clock=self.clock)

    def add(self, question: str, answer: str = "So it is.", ago: float = 0) -> int:
        """A conversation of one exchange; its key."""
        self.clock.now = NOW - ago
        key = self.store.new()
        asked = self.store.ask(key, question, None)
        answered = self.store.begin_answer(key, asked)
        self.store.finish(answered, "complete", text=answer)
        self.clock.now = NOW
        return key

    def add_a_few(self) -> list[int]:
        """One of each day that has a heading, the last used first."""
        return [
            self.add("How do lighthouses work?", "A lens turns before a lamp.", 0),
            self.add("Name a colour.", "Blue, as the sea before a storm.", 3 * HOUR),
            self.add("灯台はいつ建てられましたか", "一八六九年です。", DAY),
            self.add("Sort a list in Python", "Call `sorted` on it.", 4 * DAY),
            self.add("Why is the sky dark at night?", "The universe has an age.", 200 * DAY),
        ]


class Visit:
    """The screen of the conversations, over a chat.

    Args:
        current: the conversation in the chat.
        settings: of the file.
    """

    def __init__(
        self, chats: Chats, current: int | None = None, settings: Settings = DEFAULTS
    ) -> None:
        self.app = make_app("happy", settings=settings)
        self.left: list[Opened | None] = []
        """How the screen was left."""
        self._screen = ConversationsScreen(chats.store, current, clock=chats.clock)

    async def begin(self, pilot: Pilot[None]) -> ConversationList:
        """Open it; the list."""
        self.app.push_screen(self._screen, self.left.append)
        await wait_until(pilot, lambda: self._screen.is_mounted and bool(self.list.option_count))
        self.search.cursor_blink = False
        return self.list

    @property
    def screen(self) -> ConversationsScreen:
        return self._screen

    @property
    def list(self) -> ConversationList:
        return self._screen.query_one(ConversationList)

    @property
    def search(self) -> Input:
        return self._screen.query_one("#search", Input)

    @property
    def said(self) -> str:
        """The quiet line."""
        line = self._screen.query_one("#said", Static)
        return str(line.content) if line.display else ""

    @property
    def at(self) -> str:
        """The entry where the person is."""
        option = self.list.highlighted_option
        return "" if option is None else shown(option.prompt)

    @property
    def everything(self) -> str:
        """All of the list."""
        return "\n".join(listed(self.list))

    @property
    def asking(self) -> bool:
        """Whether the line under the list asks something."""
        return self._screen.query_one(AskLine).display

    async def find(self, pilot: Pilot[None], words: str) -> None:
        """Type into the search and wait for what all of it brings."""
        await pilot.press(*(key if key != " " else "space" for key in words))
        await wait_until(pilot, lambda: self._screen._searched == self.search.value.strip())


def listed(options: OptionList, width: int = 60) -> list[str]:
    """Everything that the list says, a line each."""
    return [line for option in options.options for line in shown(option.prompt, width).splitlines()]


def shown(prompt: object, width: int = 60) -> str:
    """The lines of an entry, without what pads them."""
    if isinstance(prompt, Row):
        return "\n".join(line.plain.rstrip() for line in prompt.lines(width))
    return str(prompt)
