"""The question that is being answered, on the screen and in the conversation."""

from collections.abc import Sequence

from specchat.engine.protocol import Notice
from specchat.speculation.metrics import Figures
from specchat.tui.conversation import Conversation, OpenAnswer
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.messages import Answer, Question


class Exchange:
    """Keeps the widgets of the open question in step with the conversation.

    Args:
        conversation: what was said.
        chat: where it is shown.
    """

    def __init__(self, conversation: Conversation, chat: ChatView) -> None:
        self._conversation = conversation
        self._chat = chat
        self._widgets: tuple[Question, Answer] | None = None

    def begin(self, question: str) -> OpenAnswer:
        """A question was asked."""
        answer = self._conversation.ask(question)
        self._widgets = Question(question), Answer()
        self._chat.add(*self._widgets)
        self._chat.follow()
        return answer

    def write(self, text: str) -> None:
        """Text of the answer came."""
        if self._widgets:
            self._widgets[1].write(text)

    def note(self, text: str) -> None:
        """What is going on, below the answer."""
        if self._widgets:
            self._widgets[1].note(text)

    def close(
        self, text: str, figures: Figures | None, ended: str, alarms: Sequence[Notice] = ()
    ) -> None:
        """The answer has ended, with this text."""
        self._conversation.finish(text)
        if self._widgets:
            self._widgets[1].finish(figures, ended, alarms)
        self._widgets = None

    def take_back(self) -> str:
        """The question might as well not have been asked; its text."""
        if self._widgets:
            for widget in self._widgets:
                widget.remove()
        self._widgets = None
        return self._conversation.withdraw()

    def forget(self) -> None:
        """Nothing was said."""
        self._widgets = None
        self._conversation.clear()
