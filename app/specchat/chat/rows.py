"""Rows of the database, and the records that they are made of and become."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from specchat.chat.database import Statement
from specchat.chat.known import Known
from specchat.chat.records import AnswerRecord, Message, Setup, State, Summary
from specchat.chat.rounds import encode_rounds
from specchat.chat.tokens import encode_tokens
from specchat.chat.tree import Conversation

Record = TypeVar("Record")

ADD_CONVERSATION = (
    "INSERT INTO conversations (id, title, title_given, pinned, archived, setup, current,"
    " created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
ADD_MESSAGE = (
    "INSERT INTO messages (id, conversation, parent, role, state, writer, created_at, text)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
ANSWER = (
    "target, draft, drafter, rule, emitted, tested, accepted, decode_s, plain_tokens_per_second,"
    " time_to_first_token_s, record, tokens, rounds"
)
"""The columns of how an answer came about, beside its message."""
ADD_ANSWER = (
    f"INSERT OR REPLACE INTO answers (message, {ANSWER})"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
COPY_ANSWER = (
    f"INSERT INTO answers (message, {ANSWER}) SELECT ?, {ANSWER} FROM answers WHERE message = ?"
)
ADD_TEXT = "UPDATE messages SET text = text || ? WHERE id = ?"
ANSWER_TEXT = "SELECT conversation, parent, text FROM messages WHERE id = ?"
SUMMARY = "SELECT id, title, pinned, archived, created_at, updated_at, setup, current"
LIST = f"""{SUMMARY} FROM conversations
    WHERE deleted_at IS NULL AND archived = ? ORDER BY pinned DESC, updated_at DESC LIMIT ?"""
LAST_DELETED = f"""{SUMMARY} FROM conversations c
    WHERE deleted_at IS NOT NULL AND EXISTS (SELECT 1 FROM messages WHERE conversation = c.id)
    ORDER BY deleted_at DESC, id DESC LIMIT 1"""
OPEN = f"{SUMMARY} FROM conversations WHERE id = ? AND deleted_at IS NULL"
_MESSAGE = """SELECT m.id, m.parent, m.role, m.text, m.state, m.created_at, a.record
    FROM messages m LEFT JOIN answers a ON a.message = m.id"""
MESSAGE = f"{_MESSAGE} WHERE m.id = ?"
MESSAGES = f"{_MESSAGE} WHERE m.conversation = ? ORDER BY m.id"
LAST_USED = """SELECT id FROM conversations
    WHERE deleted_at IS NULL AND archived = 0 ORDER BY updated_at DESC LIMIT 1"""
QUESTIONS = """SELECT m.text FROM messages m JOIN conversations c ON c.id = m.conversation
    WHERE m.role = 'user' AND c.deleted_at IS NULL ORDER BY m.id DESC LIMIT ?"""
SHOW = """UPDATE conversations SET current = ?
    WHERE id = (SELECT conversation FROM messages WHERE id = ?)"""
USED = """UPDATE conversations SET updated_at = ?
    WHERE id = (SELECT conversation FROM messages WHERE id = ?)"""
REMOVE = """WITH RECURSIVE below (id) AS (
        VALUES (?) UNION ALL SELECT m.id FROM messages m JOIN below b ON m.parent = b.id)
    DELETE FROM messages WHERE id IN below"""
FIRST_EXCHANGE = """SELECT m.role, m.text, m.state, a.record
    FROM messages m LEFT JOIN answers a ON a.message = m.id
    WHERE m.conversation = ? ORDER BY m.id LIMIT 2"""


def summary_of(row: Sequence[Any]) -> Summary:
    """From a row of `LIST`."""
    key, title, pinned, archived, created_at, updated_at, *_ = row
    return Summary(
        id=key,
        title=title,
        pinned=bool(pinned),
        archived=bool(archived),
        created_at=created_at,
        updated_at=updated_at,
    )


def conversation_of(row: Sequence[Any], messages: Sequence[Sequence[Any]]) -> Conversation:
    """From a row of `OPEN` and the rows of `MESSAGES`."""
    *_, setup, current = row
    return Conversation(
        summary_of(row), decode(setup, Setup), [message_of(each) for each in messages], current
    )


def message_of(row: Sequence[Any]) -> Message:
    """From a row of `MESSAGES`."""
    key, parent, role, text, state, created_at, record = row
    return Message(
        id=key,
        parent=parent,
        role=role,
        text=text,
        state=state,
        created_at=created_at,
        answer=None if record is None else decode(record, AnswerRecord),
    )


def add_answer(message: int, known: Known) -> Statement:
    """The statement that keeps how an answer came about, in place of what was kept before."""
    answer, tokens, rounds = known
    figures = answer.figures
    return ADD_ANSWER, (
        message,
        answer.target,
        answer.draft,
        answer.drafter,
        answer.rule,
        figures.emitted,
        figures.tested,
        figures.accepted,
        figures.decode_s,
        figures.plain_tokens_per_second,
        figures.time_to_first_token_s,
        encode(answer),
        None if tokens is None else encode_tokens(tokens),
        None if rounds is None else encode_rounds(rounds),
    )


def settled(state: State) -> State:
    """The state of a copy: nobody is writing it."""
    return "interrupted" if state == "writing" else state


def encode(record: msgspec.Struct) -> bytes:
    """For a column."""
    return msgspec.msgpack.encode(record)


def decode(data: bytes, type: type[Record]) -> Record:
    """From a column."""
    return msgspec.msgpack.decode(data, type=type)


def clean(text: str) -> str:
    """Text that can be written as UTF-8, and that SQLite does not end early."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()
