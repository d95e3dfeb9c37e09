"""The JSON form of a conversation, for other programs and for coming back: its types."""

import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from specchat.chat.records import AnswerRecord, Message, Role, Setup, State, Summary
from specchat.chat.tokens import ORIGINS, Origin, Tokens
from specchat.chat.tree import Conversation

FORMAT: Final = "specchat conversation"
VERSION: Final = 1

Count = Annotated[int, Meta(ge=0)]
Time = Annotated[datetime.datetime, Meta(tz=True)]


class ExportedTokens(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tokens of an answer."""

    ids: tuple[Count, ...]
    origins: tuple[Origin, ...]
    """Of each token: guessed from seen text, guessed by the draft model, the target's correction of
    a guess, the target's own."""
    sizes: tuple[Count, ...] = ()
    """Characters of text that became whole with each token, where they are known."""


class ExportedMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A node of the tree. Messages with the same parent are other tries or wordings."""

    parent: Count | None
    """The place in `messages`, from 0, of the message before it; that is an earlier place."""
    role: Role
    text: str
    state: State
    created_at: Time
    answer: AnswerRecord | None = None
    tokens: ExportedTokens | None = None


class ExportedConversation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What `specchat` writes as JSON. The figures are defined in docs/numbers.md."""

    format: Literal["specchat conversation"] = FORMAT
    version: Literal[1] = VERSION
    title: str
    created_at: Time
    updated_at: Time
    pinned: bool = False
    archived: bool = False
    setup: Setup = Setup()
    current: Count | None
    """The place in `messages` of the last one on screen."""
    messages: tuple[ExportedMessage, ...]


def export_schema() -> bytes:
    """The JSON Schema, as published in docs/conversation.schema.json."""
    schema: dict[str, Any] = msgspec.json.schema(ExportedConversation)
    required = schema["$defs"]["ExportedConversation"]["required"]
    required += ["format", "version"]  # they are always written, and asked for when read
    # JSON has no minus infinity, which is a bias that forbids a token.
    bias = schema["$defs"]["SamplingSettings"]["properties"]["logit_bias"]
    bias["additionalProperties"] = {"type": ["number", "null"]}
    return msgspec.json.format(msgspec.json.encode(schema), indent=2)


def to_exported(source: Conversation, tokens: dict[int, Tokens]) -> ExportedConversation:
    """The whole tree of a conversation.

    Args:
        tokens: of its answers, by message.
    """
    places = {message: place for place, message in enumerate(source.messages)}
    summary = source.summary
    return ExportedConversation(
        title=summary.title,
        created_at=_to_time(summary.created_at),
        updated_at=_to_time(summary.updated_at),
        pinned=summary.pinned,
        archived=summary.archived,
        setup=source.setup,
        current=None if source.current is None else places[source.current],
        messages=tuple(
            ExportedMessage(
                parent=None if message.parent is None else places[message.parent],
                role=message.role,
                text=message.text,
                state=message.state,
                created_at=_to_time(message.created_at),
                answer=message.answer,
                tokens=_to_exported_tokens(tokens.get(message.id)),
            )
            for message in source.messages.values()
        ),
    )


def from_exported(file: ExportedConversation) -> tuple[Conversation, dict[int, Tokens]]:
    """The conversation, its messages numbered by their places, and the tokens of its answers.

    Raises:
        ValueError: a place is none, or tokens do not go together.
    """
    for place, message in enumerate(file.messages):
        if message.parent is not None and message.parent >= place:
            raise ValueError(f"message {place} comes before its parent, {message.parent}")
    if file.current is not None and file.current >= len(file.messages):
        raise ValueError(f"there is no message {file.current} to be the current one")
    summary = Summary(
        id=0,
        title=file.title,
        pinned=file.pinned,
        archived=file.archived,
        created_at=_from_time(file.created_at),
        updated_at=_from_time(file.updated_at),
    )
    messages = [
        Message(
            id=place,
            parent=message.parent,
            role=message.role,
            text=message.text,
            state=message.state,
            created_at=_from_time(message.created_at),
            answer=message.answer,
        )
        for place, message in enumerate(file.messages)
    ]
    tokens = {
        place: _from_exported_tokens(message.tokens)
        for place, message in enumerate(file.messages)
        if message.tokens is not None
    }
    return Conversation(summary, file.setup, messages, file.current), tokens


def _to_exported_tokens(tokens: Tokens | None) -> ExportedTokens | None:
    if tokens is None:
        return None
    origins = tuple(ORIGINS[origin] for origin in tokens.origins)
    return ExportedTokens(ids=tokens.ids, origins=origins, sizes=tokens.sizes)


def _from_exported_tokens(tokens: ExportedTokens) -> Tokens:
    origins = bytes(ORIGINS.index(origin) for origin in tokens.origins)
    return Tokens(tokens.ids, origins, tokens.sizes)


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MILLISECOND = datetime.timedelta(milliseconds=1)


def _to_time(milliseconds: int) -> datetime.datetime:
    return EPOCH + milliseconds * MILLISECOND


def _from_time(time: datetime.datetime) -> int:
    return (time - EPOCH) // MILLISECOND
