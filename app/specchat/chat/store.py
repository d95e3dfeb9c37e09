"""The conversations of a person: saved while they come in, listed, searched, never overwritten.

Everything but `search` and `tidy` takes about a millisecond and belongs to one thread, the
screen's. `search` may have to read all texts, and `tidy` waits for the disk: both belong to a
worker.
"""

import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from specchat.chat import rows
from specchat.chat.coming_in import ComingIn
from specchat.chat.database import (
    Database,
    Statement,
    StoreProblem,
    connect,
    copied_to_memory,
    problem_of,
)
from specchat.chat.known import Known
from specchat.chat.reasoning import spoken, tags_named
from specchat.chat.records import AnswerRecord, Found, Message, Role, Setup, State, Summary
from specchat.chat.rounds import Rounds, decode_rounds
from specchat.chat.rows import clean
from specchat.chat.search import search
from specchat.chat.titles import make_title
from specchat.chat.tokens import Tokens, decode_tokens
from specchat.chat.tree import Conversation
from specchat.chat.writers import is_running, this_program
from specchat.paths import data_folder

NO_ROUNDS: Mapping[int, Rounds] = {}
UNDO_DAYS = 7
"""How long what was deleted can be brought back; then it is removed when the store is opened."""


class Store:
    """All conversations. When the disk fails it goes on in memory, says so in `trouble`, and
    writes what is missing once the disk works again.

    `Store.open` and `Store.in_memory` make one.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._last_id = 0
        self._coming_in = ComingIn()

    @classmethod
    def open(cls, path: Path | None = None, clock: Callable[[], float] = time.time) -> "Store":
        """The store in a file; by default `chats.db` in the data folder.

        Answers that a dead program was writing become interrupted ones.

        Raises:
            StoreProblem: it cannot be used now; `in_memory` takes its place.
        """
        path = path or default_path()
        store = cls(Database(connect(path), path), clock)
        store._mark_interrupted()
        store._remove_deleted()
        return store

    @classmethod
    def in_memory(
        cls,
        trouble: StoreProblem | None = None,
        path: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> "Store":
        """A store that lasts as long as the program.

        Args:
            trouble: why the file could not be opened.
            path: that file: what can be read of it is there, and it is written when it can be.
        """
        return cls(Database(copied_to_memory(path), path, trouble), clock)

    @property
    def trouble(self) -> StoreProblem | None:
        """Why what is new is in memory only; None while it is on the disk."""
        return self._database.trouble

    def close(self) -> None:
        """Save what is coming in, and let go of the file."""
        for message in self._coming_in.messages:
            self.finish(message, "interrupted")
        self._database.close()

    # Conversations

    def conversations(self, *, archived: bool = False, limit: int = 200) -> list[Summary]:
        """Pinned ones first, then the last used."""
        return [rows.summary_of(row) for row in self._database.read(rows.LIST, (archived, limit))]

    def new(self, setup: Setup | None = None, title: str = "") -> int:
        """Begin a conversation; without a title it gets one from its first exchange."""
        key, now = self._new_id(), self._now()
        row = (key, clean(title), bool(title), 0, 0, rows.encode(setup or Setup()), None, now, now)
        self._database.write((rows.ADD_CONVERSATION, row))
        return key

    def load(self, conversation: int) -> Conversation:
        """All of a conversation, but the tokens of its answers.

        Raises:
            StoreProblem: it is not there any more.
        """
        found = self._database.read(rows.OPEN, (conversation,))
        if not found:
            raise StoreProblem(
                "Tried to open a conversation.", "It was deleted.", "Choose another one."
            )
        messages = self._database.read(rows.MESSAGES, (conversation,))
        return rows.conversation_of(found[0], messages)

    def message(self, message: int) -> Message:
        """One message as it is kept now."""
        ((*row,),) = self._database.read(rows.MESSAGE, (message,))
        return rows.message_of(row)

    def last_used(self) -> int | None:
        """The conversation that something was said in last; None if there is none."""
        found = self._database.read(rows.LAST_USED)
        return int(found[0][0]) if found else None

    def questions(self, limit: int = 100) -> list[str]:
        """What was asked last in all conversations, the newest first."""
        return [text for (text,) in self._database.read(rows.QUESTIONS, (limit,))]

    def rename(self, conversation: int, title: str) -> None:
        """Give it a title; an empty one is made by the rule again."""
        title = clean(title).strip()
        self._set(conversation, "title = ?, title_given = ?", title, bool(title))
        self._name(conversation)

    def pin(self, conversation: int, pinned: bool = True) -> None:
        """Keep it at the top of the list, or no longer."""
        self._set(conversation, "pinned = ?", pinned)

    def archive(self, conversation: int, archived: bool = True) -> None:
        """Take it out of the list, or put it back; the search finds it either way."""
        self._set(conversation, "archived = ?", archived)

    def set_up(self, conversation: int, setup: Setup) -> None:
        """Change what the conversation sets for itself."""
        self._set(conversation, "setup = ?", rows.encode(setup))

    def delete(self, conversation: int) -> None:
        """Remove it from list and search; `undelete` brings it back for some days."""
        self._set(conversation, "deleted_at = ?", self._now())

    def undelete(self, conversation: int) -> None:
        """Undo `delete`."""
        self._set(conversation, "deleted_at = ?", None)

    def last_deleted(self) -> Summary | None:
        """What `undelete` would bring back first; without messages there is nothing to it."""
        return next(map(rows.summary_of, self._database.read(rows.LAST_DELETED)), None)

    # Messages

    def ask(self, conversation: int, text: str, parent: int | None) -> int:
        """Save a question: it is on the disk when this returns, and is the current message.

        Args:
            parent: the message before it. Another question with the same one is its sibling.
        """
        message = self._add(conversation, parent, "user", "complete", text)
        self._name(conversation)
        return message

    def begin_answer(self, conversation: int, parent: int | None, text: str = "") -> int:
        """Begin an answer, beside any other answer of the same parent.

        Args:
            text: what it begins with.
        """
        message = self._add(conversation, parent, "assistant", "writing", text)
        self._coming_in.begin(message)
        return message

    def begin_beside(self, answer: int) -> int:
        """Begin an answer beside another one, with all that this one has said and what is kept of
        it."""
        ((conversation, parent, text),) = self._database.read(rows.ANSWER_TEXT, (answer,))
        message = self._add(conversation, parent, "assistant", "writing", text)
        self._database.write((rows.COPY_ANSWER, (message, answer)))
        self._coming_in.begin(message)
        return message

    def reopen(self, message: int) -> None:
        """Go on with an answer that has ended; what comes is added to its text."""
        sql = "UPDATE messages SET state = 'writing', writer = ? WHERE id = ?"
        self._database.write((sql, (self._writer, message)))
        self._coming_in.begin(message)

    def follow(self, message: int, known: Callable[[], Known | None]) -> None:
        """Save with new text of an answer under way what this tells of it, so that both go
        together; None leaves what is kept as it is."""
        self._coming_in.follow(message, known)

    def append(self, message: int, text: str) -> None:
        """Take new text of an answer under way; it is saved at least every `SAVE_EVERY_S` while
        text comes. A timer that calls `flush_if_due` four times a second sees to the last of it."""
        self._coming_in.append(message, text)
        self.flush_if_due()

    def flush_if_due(self) -> None:
        """Save what came, if some of it may be `SAVE_EVERY_S` old."""
        if self._coming_in.is_due:
            self.flush()

    def flush(self) -> None:
        """Save the text of all answers under way, and what is known of them."""
        self._database.write(*self._coming_in.statements())
        self._coming_in.saved()

    def finish(
        self,
        message: int,
        state: State,
        known: Known | None = None,
        text: str | None = None,
    ) -> None:
        """End an answer.

        Args:
            known: how the whole of it came about, what it began with included; without it, what
                `follow` tells.
            text: the whole of it; without it, what was appended stands.
        """
        known = known or self._coming_in.known(message)
        change = ("text || ?", self._coming_in.unsaved(message)) if text is None else ("?", text)
        sql = f"UPDATE messages SET text = {change[0]}, state = ?, writer = NULL WHERE id = ?"
        statements: list[Statement] = [(sql, (clean(change[1]), state, message))]
        if known is not None:
            statements.append(rows.add_answer(message, known))
        self._database.write(*statements, (rows.USED, (self._now(), message)))
        self._coming_in.forget([message])
        self._name(self._conversation_of(message))

    def edit(self, message: int, text: str) -> int:
        """Another wording of a message, as its sibling; it is the current message then.

        Who answered, and which tags its prompt left open, are kept with an answer.
        """
        sql = "SELECT conversation, parent, role FROM messages WHERE id = ?"
        ((conversation, parent, role),) = self._database.read(sql, (message,))
        edited = self._add(conversation, parent, role, "complete", text)
        if (record := self.message(message).answer) is not None:
            self._database.write(rows.add_answer(edited, Known(record.as_edited())))
        return edited

    def show(self, message: int) -> None:
        """Make this the current message, the end of the line on screen."""
        self._database.write((rows.SHOW, (message, message)))

    def withdraw(self, message: int) -> None:
        """Take a message back, with all that was said after it, as if it had never been."""
        sql = "SELECT parent FROM messages WHERE id = ?"
        ((parent,),) = self._database.read(sql, (message,))
        self._database.write((rows.SHOW, (parent, message)), (rows.REMOVE, (message,)))
        left = "SELECT id FROM messages WHERE writer = ?"
        written = {key for (key,) in self._database.read(left, (self._writer,))}
        self._coming_in.forget(set(self._coming_in.messages) - written)

    def branch_off(self, message: int) -> int:
        """A new conversation with copies of everything from the first message to this one."""
        old = self.load(self._conversation_of(message))
        line = old.path_to(message)
        tokens = {each.id: kept for each in line if (kept := self.tokens(each.id))}
        rounds = {each.id: made for each in line if (made := self.rounds(each))}
        summary = replace(old.summary, pinned=False, archived=False, updated_at=self._now())
        return self.add_copy(Conversation(summary, old.setup, line, message), tokens, rounds)

    def tokens(self, message: int) -> Tokens | None:
        """The tokens of an answer; None where they were not kept."""
        found = self._database.read("SELECT tokens FROM answers WHERE message = ?", (message,))
        return decode_tokens(found[0][0]) if found and found[0][0] is not None else None

    def rounds(self, answer: Message) -> Rounds | None:
        """The rounds of an answer; None where they were not kept."""
        found = self._database.read("SELECT rounds FROM answers WHERE message = ?", (answer.id,))
        if not found or found[0][0] is None:
            return None
        return decode_rounds(found[0][0], answer.text)

    def add_copy(
        self,
        source: Conversation,
        tokens: Mapping[int, Tokens],
        rounds: Mapping[int, Rounds] = NO_ROUNDS,
    ) -> int:
        """Save a conversation under new ids, such as an imported one.

        Args:
            tokens: of its answers, by message.
            rounds: the same.
        """
        conversation = self._new_id()
        ids: dict[int | None, int | None] = {None: None}
        statements: list[Statement] = []
        for each in source.messages.values():
            message = ids[each.id] = self._new_id()
            state = rows.settled(each.state)
            row = (message, conversation, ids[each.parent], each.role, state, None)
            statements.append((rows.ADD_MESSAGE, (*row, each.created_at, clean(each.text))))
            if each.answer is not None:
                known = Known(each.answer, tokens.get(each.id), rounds.get(each.id))
                statements.append(rows.add_answer(message, known))
        summary = source.summary
        values = (
            *(conversation, clean(summary.title), bool(summary.title)),
            *(summary.pinned, summary.archived, rows.encode(source.setup), ids[source.current]),
            *(summary.created_at, summary.updated_at),
        )
        self._database.write((rows.ADD_CONVERSATION, values), *statements)
        return conversation

    def tidy(self) -> None:
        """Bring what was saved from SQLite's log into its file. To be called now and then, such
        as after an answer, from a worker: it waits for the disk."""
        self._database.tidy()

    def search(self, query: str, limit: int = 50) -> list[Found]:
        """Titles and messages with all words of the query, or parts of words; the newest first.

        Raises:
            StoreProblem: the file cannot be read.
        """
        try:
            with self._database.reader() as connection:
                return search(connection, clean(query), limit)
        except sqlite3.DatabaseError as error:
            raise problem_of(error, "Tried to search the conversations.") from error

    # Helpers

    @cached_property
    def _writer(self) -> str:
        return this_program()

    def _add(
        self, conversation: int, parent: int | None, role: Role, state: State, text: str
    ) -> int:
        message, now = self._new_id(parent), self._now()
        writer = self._writer if state == "writing" else None
        row = (message, conversation, parent, role, state, writer, now, clean(text))
        self._database.write(
            (rows.ADD_MESSAGE, row), (rows.SHOW, (message, message)), (rows.USED, (now, message))
        )
        return message

    def _set(self, conversation: int, what: str, *values: object) -> None:
        sql = f"UPDATE conversations SET {what} WHERE id = ?"
        self._database.write((sql, (*values, conversation)))

    def _conversation_of(self, message: int) -> int:
        sql = "SELECT conversation FROM messages WHERE id = ?"
        ((conversation,),) = self._database.read(sql, (message,))
        return int(conversation)

    def _name(self, conversation: int) -> None:
        """Give it a title from its first exchange, if it has none."""
        sql = "SELECT 1 FROM conversations WHERE id = ? AND title = ''"
        if not self._database.read(sql, (conversation,)):
            return
        exchange = []
        for role, text, state, record in self._database.read(rows.FIRST_EXCHANGE, (conversation,)):
            if role == "assistant" and state != "writing":
                opened = rows.decode(record, AnswerRecord).opened if record else None
                exchange.append(spoken(text, tags_named(opened)))
            elif role == "user":
                exchange.append(text)
        if title := next(filter(None, map(make_title, exchange)), ""):
            self._set(conversation, "title = ?", title)

    def _mark_interrupted(self) -> None:
        """Answers whose program is gone."""
        sql = "SELECT DISTINCT writer FROM messages WHERE writer IS NOT NULL"
        change = "UPDATE messages SET state = 'interrupted', writer = NULL WHERE writer = ?"
        writers = [writer for (writer,) in self._database.read(sql)]
        self._database.write(*((change, (each,)) for each in writers if not is_running(each)))

    def _remove_deleted(self) -> None:
        before = self._now() - UNDO_DAYS * 86_400_000
        self._database.write(("DELETE FROM conversations WHERE deleted_at < ?", (before,)))

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _new_id(self, after: int | None = None) -> int:
        """Grows with time, and is no other program's either: milliseconds, then 20 random bits."""
        drawn = (self._now() << 20) | secrets.randbits(20)
        self._last_id = max(drawn, self._last_id + 1, (after or 0) + 1)
        return self._last_id


def default_path() -> Path:
    """Where the conversations are kept.

    Raises:
        StoreProblem: the folder cannot be made.
    """
    try:
        return data_folder() / "chats.db"
    except OSError as error:
        raise StoreProblem(
            "Tried to open the conversations.",
            f"Their folder cannot be made: {error}.",
            "Name another folder in the environment variable SPECCHAT_HOME.",
        ) from error


def open_store(path: Path | None = None) -> Store:
    """The store in the file, or in memory where that cannot be; then it has `trouble`."""
    try:
        path = path or default_path()
        return Store.open(path)
    except StoreProblem as problem:
        return Store.in_memory(problem, path)
