"""The conversation on screen: a tree in the store, and the answer that is under way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from specchat.chat.known import Known
from specchat.chat.reasoning import Tags, lead, remembered, tags_named
from specchat.chat.records import Message as Kept
from specchat.chat.records import Setup, State
from specchat.chat.tokens import Tokens
from specchat.chat.tree import Conversation as Tree
from specchat.engine.protocol import Message

if TYPE_CHECKING:
    from specchat.chat.store import Store


@dataclass
class OpenAnswer:
    """An answer that has not ended."""

    id: int
    """What the engine calls it."""
    message: int
    """What the store calls it."""
    begun: Kept | None = None
    """The answer as it was, where it goes on from there."""
    question: str = ""
    """What was asked just now; empty for another answer to an old question."""
    parts: list[str] = field(default_factory=list)
    stopping: bool = False
    opened: str | None = None
    """The name of the tags that its prompt left open."""
    note: str | None = None
    """What is going on, in words; None while it waits for the engine."""
    tokens: Callable[[], Tokens | None] = lambda: None
    """Gives the tokens of all its text so far."""

    @property
    def text(self) -> str:
        """What came so far."""
        return "".join(self.parts)

    @property
    def whole_text(self) -> str:
        """What it began with, and what came so far."""
        return (self.begun.text if self.begun else "") + self.text


class Conversation:
    """The messages on screen. What is asked and answered is in the store at once.

    A new conversation is in the store from its first question on.

    Args:
        open_store: called when the store is first needed.
        setup: what a new conversation sets for itself.
    """

    def __init__(self, open_store: Callable[[], Store], setup: Setup | None = None) -> None:
        self._open_store = open_store
        self._first_setup = setup or Setup()
        self._setup = self._first_setup
        self._tree: Tree | None = None
        self._ids = itertools.count(1)
        self.open: OpenAnswer | None = None

    @cached_property
    def store(self) -> Store:
        """Where it is kept."""
        return self._open_store()

    @property
    def key(self) -> int | None:
        """What the store calls it; None before its first question."""
        return self._tree.summary.id if self._tree else None

    @property
    def setup(self) -> Setup:
        """What it sets for itself."""
        return self._tree.setup if self._tree else self._setup

    def set_up(self, setup: Setup) -> None:
        """Change what it sets for itself."""
        if self._tree is None:
            self._setup = setup
        else:
            self._tree.setup = setup
            self.store.set_up(self._tree.summary.id, setup)

    @property
    def path(self) -> list[Kept]:
        """The messages on screen, the open answer among them."""
        return self._tree.path if self._tree else []

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was said before the open answer, as the model is to read it; instructions come
        before it (`instructed`)."""
        said = self.path
        if self.open is not None:
            said = said[:-1]
        return tuple(
            Message(
                each.role,
                remembered(each.text, each.opened) if each.role == "assistant" else each.text,
            )
            for each in said
        )

    def text_of(self, message: Kept) -> str:
        """What a message says, the open answer as far as it has come."""
        answer = self.open
        return answer.whole_text if answer and answer.message == message.id else message.text

    def opened_of(self, message: Kept) -> Tags | None:
        """The tags that the prompt left open before a message, the open answer's as well."""
        answer = self.open
        if answer and answer.message == message.id:
            return tags_named(answer.opened)
        return message.opened

    @property
    def last_answer(self) -> Kept | None:
        """The last answer on screen that has ended."""
        ended = (each for each in reversed(self.path) if each.state != "writing")
        return next((each for each in ended if each.role == "assistant"), None)

    def message(self, message: int) -> Kept:
        """One of its messages."""
        return self._opened().messages[message]

    def place(self, message: int) -> tuple[int, int]:
        """Which of the wordings or tries at this place it is, from 1, and how many there are."""
        if self._tree is None:
            return 1, 1
        siblings = self._tree.siblings(message)
        return siblings.index(message) + 1, len(siblings)

    # Asking and answering

    def next_id(self) -> int:
        """What the engine may call another answer, growing."""
        return next(self._ids)

    def ask(self, text: str, *, instead_of: int | None = None) -> OpenAnswer:
        """Save a question and open its answer.

        Args:
            instead_of: the question of which this is another wording.
        """
        tree = self._tree or self._begin()
        parent = tree.current if instead_of is None else tree.messages[instead_of].parent
        question = self.store.ask(tree.summary.id, text, parent)
        tree.put(self.store.message(question))
        return self._answer(tree, question, text)

    def again(self, message: int) -> OpenAnswer:
        """Open another answer to a question, or beside an answer."""
        tree = self._opened()
        kept = tree.messages[message]
        return self._answer(tree, message if kept.role == "user" else kept.parent)

    def go_on(self, message: int) -> OpenAnswer:
        """Open an answer that has ended; what comes is added to it. Where something was said after
        it, that stays with it, and the longer answer stands beside it."""
        tree = self._opened()
        before = tree.messages[message]
        if tree.goes_on(message):
            message = self.store.begin_beside(message)
        else:
            self.store.reopen(message)
            self.store.show(message)
        tree.put(self.store.message(message))
        self.open = OpenAnswer(next(self._ids), message, begun=before)
        return self.open

    def follow(self, known: Callable[[], Known | None]) -> None:
        """Keep with the text of the open answer what this tells of it."""
        if self.open is not None:
            self.store.follow(self.open.message, known)

    def add(self, text: str) -> None:
        """Take text of the open answer."""
        if self.open and text:
            self.open.parts.append(text)
            self.store.append(self.open.message, text)

    def finish(
        self,
        text: str,
        state: State,
        known: Known | None = None,
    ) -> Kept:
        """End the open answer with this text, after what it began with.

        Args:
            known: how the whole of it came about; without it, what `follow` tells.
        """
        tree, answer = self._opened(), self.open
        assert answer is not None
        self.open = None
        whole = (answer.begun.text if answer.begun else "") + text
        self.store.finish(answer.message, state, known, whole)
        tree.put(self.store.message(answer.message))
        return tree.messages[answer.message]

    def withdraw(self) -> str:
        """Take the open answer back, and the question with it if that was asked just now.

        Returns:
            The question.
        """
        tree, answer = self._opened(), self.open
        assert answer is not None
        self.open = None
        begun = answer.begun
        if begun is not None and begun.id == answer.message:
            self.store.finish(begun.id, begun.state, text=begun.text)
            tree.put(begun)
            return ""
        parent = tree.messages[answer.message].parent
        gone = parent if answer.question and parent is not None else answer.message
        self.store.withdraw(gone)
        tree.remove(gone)
        if not tree.messages:
            self.store.delete(tree.summary.id)
            self._setup, self._tree = tree.setup, None
        elif begun is not None:
            self.show(begun.id)
        elif (current := tree.newest_below(tree.current)) is not None:
            self.show(current)
        return answer.question

    # Moving about

    def show(self, message: int) -> None:
        """Make the line on screen go through this message."""
        tree = self._opened()
        tree.current = tree.newest_below(message) or message
        self.store.show(tree.current)

    def sibling(self, message: int, step: int) -> int | None:
        """The wording or try so many places further; None where there is none."""
        siblings = self._opened().siblings(message)
        index = siblings.index(message) + step
        return siblings[index] if 0 <= index < len(siblings) else None

    def reword(self, message: int, text: str) -> int:
        """Put other words beside an answer, as if the model had written them after its thinking."""
        tree = self._opened()
        kept = tree.messages[message]
        key = self.store.edit(message, lead(kept.text, kept.opened) + text)
        tree.put(self.store.message(key))
        return key

    def put_beside(self, question: int, text: str, state: State, known: Known | None) -> int:
        """Save an answer that was written elsewhere beside those that a question has.

        Args:
            known: how it came about, where that is known.

        Returns:
            What the store calls it.
        """
        tree = self._opened()
        key = self.store.begin_answer(tree.summary.id, question)
        self.store.finish(key, state, known, text)
        tree.put(self.store.message(key))
        return key

    def load(self, key: int) -> None:
        """Take a conversation from the store in place of this one.

        Raises:
            StoreProblem: it is not there.
        """
        self._tree = self.store.load(key)
        self.open = None

    def clear(self) -> None:
        """Begin a new one. Ids go on growing."""
        self._tree, self._setup, self.open = None, self._first_setup, None

    def flush(self) -> None:
        """Save what came of the open answer, if it is time to."""
        if self.open is not None:
            self.store.flush_if_due()

    def close(self) -> None:
        """Let go of the store."""
        if "store" in self.__dict__:
            self.store.close()

    # Helpers

    def _begin(self) -> Tree:
        self._tree = self.store.load(self.store.new(self._setup))
        return self._tree

    def _opened(self) -> Tree:
        assert self._tree is not None
        return self._tree

    def _answer(self, tree: Tree, parent: int | None, question: str = "") -> OpenAnswer:
        message = self.store.begin_answer(tree.summary.id, parent)
        tree.put(self.store.message(message))
        self.open = OpenAnswer(next(self._ids), message, question=question)
        return self.open


def instructed(said: Iterable[Message], system: str | None) -> tuple[Message, ...]:
    """The messages with these instructions before them, if there are any."""
    return (*((Message("system", system),) if system else ()), *said)
