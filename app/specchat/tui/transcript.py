"""The widgets of a conversation: the end of it, and more when the person scrolls up."""

from functools import partial

from specchat.chat.records import Message
from specchat.tui.conversation import Conversation
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.messages import Answer, Question, Said

PAGE = 20
"""Messages that are brought to the screen at a time: Markdown takes some milliseconds each."""
MOST = 4 * PAGE
"""When more than these are there, those far up leave the screen."""


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

    def show(self, message: int | None = None, *, focus: bool = False) -> None:
        """Show it anew, with this message in view, or its end.

        Args:
            focus: move the focus to the message; letters are keys then, and no text.
        """
        path = self._conversation.path
        index = next((at for at, each in enumerate(path) if each.id == message), len(path))
        self._first = max(0, min(index - PAGE // 2, len(path) - PAGE))
        self._chat.replace(self._first, map(self._widget, path[self._first :]))
        widget = self.widget(message) if message is not None else None
        if widget is not None:
            self._chat.call_after_refresh(widget.focus if focus else widget.scroll_visible)

    def add(self, *messages: Message) -> None:
        """Show messages that are new at the end."""
        self._chat.add(*map(self._widget, messages))
        surplus = len(self._chat.said) - MOST
        if surplus > 0:
            surplus += PAGE
            self._first += surplus
            self._chat.take_above(surplus, self._first)
        self._chat.follow()

    def earlier(self) -> None:
        """Bring the page before the first message on screen."""
        before, self._first = self._first, max(0, self._first - PAGE)
        if before:
            path = self._conversation.path[self._first : before]
            self._chat.add_above(self._first, [self._widget(each) for each in path])

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
        if index < self._first:
            self.earlier()
        if widget := self.widget(path[index].id):
            widget.focus()
        return True

    def _widget(self, message: Message) -> Said:
        place = self._conversation.place(message.id)
        if message.role == "user":
            return Question(message.text, message.id, place)
        open_answer = self._conversation.open
        is_open = open_answer is not None and open_answer.message == message.id
        answer = Answer.begun(message, place) if is_open else Answer.of(message, place)
        answer.get_tokens(partial(self._conversation.store.tokens, message.id))
        return answer
