"""A conversation as a tree: which messages are on screen, and what stands beside each."""

from collections.abc import Iterable

from specchat.chat.records import Message, Setup, Summary


class Conversation:
    """One conversation as it was when it was opened.

    Args:
        messages: the oldest first, so that a parent comes before its children.
        current: the last message on screen; None shows the newest line.
    """

    def __init__(
        self, summary: Summary, setup: Setup, messages: Iterable[Message], current: int | None
    ) -> None:
        self.summary = summary
        self.setup = setup
        self.messages: dict[int, Message] = {message.id: message for message in messages}
        self._children: dict[int | None, list[int]] = {}
        for message in self.messages.values():
            self._children.setdefault(message.parent, []).append(message.id)
        self.current = current if current in self.messages else self.newest_below(None)

    def put(self, message: Message) -> None:
        """Take a message that is new, or one that has changed, and make it the current one."""
        if message.id not in self.messages:
            self._children.setdefault(message.parent, []).append(message.id)
        self.messages[message.id] = message
        self.current = message.id

    def remove(self, message: int) -> None:
        """Take a message away with all that was said after it; the one before it is current."""
        below = [message]
        for each in below:
            below += self._children.pop(each, ())
        self.current = self.messages[message].parent
        self._children[self.current].remove(message)
        for each in below:
            del self.messages[each]

    @property
    def path(self) -> list[Message]:
        """From the first message to the current one."""
        return self.path_to(self.current)

    def path_to(self, message: int | None) -> list[Message]:
        """From the first message to this one."""
        path = []
        while message is not None:
            path.append(self.messages[message])
            message = path[-1].parent
        return path[::-1]

    def siblings(self, message: int) -> list[int]:
        """The wordings or tries in this place, itself among them, the oldest first."""
        return self._children[self.messages[message].parent]

    def goes_on(self, message: int) -> bool:
        """Whether anything was said after it."""
        return bool(self._children.get(message))

    def newest_below(self, message: int | None) -> int | None:
        """The end of the line that goes on from here, by the newest at each turn."""
        while children := self._children.get(message):
            message = children[-1]
        return message
