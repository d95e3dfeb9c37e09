"""Conversations that come back from the JSON of `export`."""

import math
from pathlib import Path
from typing import Any

import msgspec

from specchat.chat.exported import FORMAT, VERSION, ExportedConversation, from_exported
from specchat.chat.tokens import Tokens
from specchat.chat.tree import Conversation
from specchat.errors import SpecchatError

LARGEST = 1 << 28
"""Bytes of a file that is still taken for a conversation."""


class NotAConversation(SpecchatError):
    """A file that is no conversation of ours, or a damaged one."""

    kind = "not_a_conversation"
    title = "Nothing to import"


def read_conversation(path: Path) -> tuple[Conversation, dict[int, Tokens]]:
    """The conversation in a file, and the tokens of its answers; for `Store.add_copy`.

    Raises:
        NotAConversation: it cannot be read, or holds something else.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise _refused(path, "It is too large to be a conversation.")
        data = path.read_bytes()
    except OSError as error:
        raise _refused(path, f"It cannot be read: {error.strerror}.") from error
    try:
        return parse_conversation(data)
    except ValueError as error:
        raise _refused(path, f"{str(error)[:1].upper()}{str(error)[1:]}.") from error


def parse_conversation(data: bytes) -> tuple[Conversation, dict[int, Tokens]]:
    """The conversation that `to_json` wrote, and the tokens of its answers.

    Raises:
        ValueError: something else did, or it is damaged: with what and where.
    """
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"it is no JSON, or was cut short: {error}") from error
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise ValueError("it is no conversation that specchat has written")
    if raw.get("version") != VERSION:
        raise ValueError("it was written by a newer specchat")
    _refuse_large_numbers(raw)
    try:
        _restore_infinities(raw)
        return from_exported(msgspec.convert(raw, ExportedConversation, str_keys=True))
    except msgspec.ValidationError as error:
        raise ValueError(f"it is damaged: {error}") from error
    except SpecchatError as error:  # a setting out of its range
        raise ValueError(f"it is damaged: {error.message.rstrip('.')}") from error


def _restore_infinities(file: dict[str, Any]) -> None:
    """A bias of minus infinity was written as null."""
    messages = file.get("messages")
    holders = [file.get("setup"), *(messages if isinstance(messages, list) else ())]
    for holder in holders:
        answer = holder.get("answer", holder) if isinstance(holder, dict) else None
        sampling = answer.get("sampling") if isinstance(answer, dict) else None
        biases = sampling.get("logit_bias") if isinstance(sampling, dict) else None
        if isinstance(biases, dict):
            biases |= {token: -math.inf for token, bias in biases.items() if bias is None}


def _refuse_large_numbers(file: Any) -> None:
    """A whole number of more than 64 bits can be read, but not saved."""
    values = [file]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            values += value.values()
        elif isinstance(value, list):
            values += value
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError(f"it is damaged: {value} is too large")


def _refused(path: Path, happened: str) -> NotAConversation:
    return NotAConversation(
        f"Tried to import {path}.",
        happened,
        "Choose a file that specchat exported as JSON.",
    )
