"""What was said in this chat, and the answer that is under way."""

import itertools
from dataclasses import dataclass, field

from specchat.engine.protocol import Message


@dataclass
class OpenAnswer:
    """An answer that has not ended."""

    id: int
    question: str
    parts: list[str] = field(default_factory=list)
    stopping: bool = False

    @property
    def text(self) -> str:
        """What came so far."""
        return "".join(self.parts)


class Conversation:
    """The messages in order; the last question stays open until its answer ends.

    Args:
        system: instructions that come before everything else.
    """

    def __init__(self, system: str | None = None) -> None:
        self._system = (Message("system", system),) if system else ()
        self._turns: list[Message] = []
        self._ids = itertools.count(1)
        self.open: OpenAnswer | None = None

    def instruct(self, system: str | None) -> None:
        """From the next question on, these instructions come before everything else."""
        self._system = (Message("system", system),) if system else ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """Everything said, the open question included."""
        return (*self._system, *self._turns)

    def ask(self, question: str) -> OpenAnswer:
        """Add a question and open its answer."""
        self._turns.append(Message("user", question))
        self.open = OpenAnswer(next(self._ids), question)
        return self.open

    def finish(self, text: str) -> None:
        """End the open answer with this text."""
        self._turns.append(Message("assistant", text))
        self.open = None

    def withdraw(self) -> str:
        """Take the open question back, as if it had not been asked; its text."""
        question = self._turns.pop().content
        self.open = None
        return question

    def clear(self) -> None:
        """Forget everything but the system message. Ids go on growing."""
        self._turns.clear()
        self.open = None
