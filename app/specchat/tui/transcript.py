"""The widgets of a conversation: a part of it, and more of it when the person scrolls there."""

from collections.abc import Iterable
from functools import partial

from specchat.chat.records import Message
from specchat.tui.conversation import Conversation
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.messages import Answer, Question, Said, Side

PAGE = 20
"""The most messages that are brought to the screen at a time."""
LINES = 60
"""When they have so many lines, it is enough: each piece of Markdown takes some milliseconds."""
COLUMNS = 60
"""How wide a line is taken to be."""
MOST = 3 * PAGE
"""When more than these are there, those far from what is in view leave the screen."""


class Transcript:
    """Shows the line of a conversation that ends at its current message.

    Args:
        conversation: what was said.
        chat: where it is shown.
    """

    def __init__(self, conversation: Conversation, chat: ChatView) -> None:
        self._conversation = conversation
        self._chat = chat
        self._first = 0
        """Which message of the line is the first one on screen."""

    def show(
        self, message: int | None = None, *, focus: bool = False, line: int | None = None
    ) -> None:
        """Show it anew, with this message in view, or its end.

        Args:
            focus: move the focus to the message; letters are keys then, and no text.
            line: of the view, at which the message is to begin.
        """
        path = self._conversation.path
        index = next((at for at, each in enumerate(path) if each.id == message), len(path))
        below = _page(path[index:])
        above = _page(reversed(path[:index]), PAGE - min(below, PAGE // 2))
        self._first = index - above
        shown = path[self._first : index + min(below, PAGE - above)]
        self._chat.replace(
            [self._widget(each) for each in shown],
            earlier=self._first,
            later=len(path) - self._first - len(shown),
        )
        widget = self.widget(message) if message is not None else None
        if widget is not None:
            self._chat.hold(widget, line)
            if focus:
                self._chat.call_after_refresh(widget.focus, scroll_visible=False)

    def show_first(self) -> None:
        """Show its beginning."""
        if path := self._conversation.path:
            self.show(path[0].id, line=0)

    def add(self, *messages: Message) -> None:
        """Show messages that are new at the end."""
        if self._end + len(messages) < len(self._conversation.path):
            self.show()
            return
        surplus = len(self._chat.said) + len(messages) - MOST
        if surplus > 0:
            self._leave_out("earlier", surplus + PAGE)
        self._chat.add(*map(self._widget, messages))
        self._chat.follow()

    def bring(self, side: Side) -> None:
        """Bring the page before the first message on screen, or after the last one. What is far
        from it leaves the screen."""
        path, first, end = self._conversation.path, self._first, self._end
        if side == "earlier":
            self._first -= _page(reversed(path[:first]))
            brought, beyond = path[self._first : first], self._first
        else:
            brought = path[end : end + _page(path[end:])]
            beyond = len(path) - end - len(brought)
        if not brought:
            return
        other: Side = "later" if side == "earlier" else "earlier"
        surplus = min(len(self._chat.said) + len(brought) - MOST, self._chat.spare(other))
        self._chat.extend(side, [self._widget(each) for each in brought], beyond)
        if surplus > 0:
            self._leave_out(other, surplus)

    def _leave_out(self, side: Side, count: int) -> None:
        if side == "earlier":
            self._first += count
            self._chat.shorten(side, count, self._first)
        else:
            left = len(self._conversation.path) - self._end
            self._chat.shorten(side, count, left + count)

    @property
    def _end(self) -> int:
        """The message of the line that would be the next one on screen."""
        return self._first + len(self._chat.said)

    def remove(self, *messages: int) -> None:
        """These are not part of the conversation any more."""
        self._chat.take(messages)

    def answer(self, message: int) -> Answer | None:
        """The widget of an answer, if it is on screen."""
        found = self.widget(message)
        return found if isinstance(found, Answer) else None

    def widget(self, message: int) -> Said | None:
        """The widget of a message, if it is on screen."""
        return next((each for each in self._chat.said if each.message == message), None)

    def focus(self, message: int, step: int = 0) -> bool:
        """Move the focus to a message, or to one so many places below it.

        Returns:
            Whether there is one.
        """
        path = self._conversation.path
        index = next((at for at, each in enumerate(path) if each.id == message), 0) + step
        if not 0 <= index < len(path):
            return False
        wanted = path[index].id
        if step and self.widget(wanted) is None:
            self.bring("earlier" if step < 0 else "later")
        if widget := self.widget(wanted):
            widget.focus()
        else:
            self.show(wanted, focus=True)
        return True

    def line(self, message: int) -> int | None:
        """The line of the view at which a message begins, if it is on screen."""
        widget = self.widget(message)
        return None if widget is None else self._chat.line_of(widget)

    def _widget(self, message: Message) -> Said:
        place = self._conversation.place(message.id)
        if message.role == "user":
            return Question(message.text, message.id, place)
        answer = self._conversation.open
        if answer is not None and answer.message == message.id:
            return Answer.under_way(answer, place)
        ended = Answer.of(message, place)
        ended.get_tokens(partial(self._conversation.store.tokens, message.id))
        return ended


def _page(messages: Iterable[Message], most: int = PAGE) -> int:
    """How many of these messages are enough for a page."""
    count = lines = 0
    for message in messages:
        if count >= most or lines >= LINES:
            break
        count += 1
        lines += 2 + message.text.count("\n") + len(message.text) // COLUMNS
    return count
