"""Conversations that go out into a file, and come in from one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specchat.chat.export_file import Kind
    from specchat.chat.records import Summary
    from specchat.chat.store import Store


async def export_conversation(store: Store, key: int, kind: Kind) -> Path:
    """Write it into the current folder; where it is.

    Raises:
        SpecchatError: it is not there any more, or cannot be written.
    """
    from specchat.chat.export_file import export_to, tokens_of

    conversation = store.load(key)
    tokens = tokens_of(store, conversation) if kind == "json" else {}
    return await asyncio.to_thread(export_to, Path(), conversation, tokens, kind)


async def import_conversation(store: Store, written: str) -> Summary:
    """Save what is in a file as a new conversation.

    Args:
        written: the file's path as a person or a terminal writes it, in quotes or not.

    Raises:
        SpecchatError: it holds no conversation.
    """
    from specchat.chat.importing import read_conversation

    path = Path(written.strip().strip("\"'")).expanduser()
    conversation, tokens = await asyncio.to_thread(read_conversation, path)
    return store.load(store.add_copy(conversation, tokens)).summary
