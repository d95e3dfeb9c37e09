"""Search over all messages: any part of any word, in any script, upper or lower case."""

import sqlite3
from collections.abc import Iterator, Sequence

from specchat.chat.records import Found

TRIGRAM = 3
"""Shorter words are not in the index: then all texts are read."""
SNIPPET = 90
"""Characters of a snippet."""
BEFORE = 24
"""Characters of it before the first word that was found."""

TITLES = """SELECT id, title, updated_at FROM conversations
    WHERE deleted_at IS NULL AND {conditions} ORDER BY updated_at DESC LIMIT ?"""
MESSAGES = """SELECT m.conversation, c.title, m.id, m.role, m.created_at, m.text
    FROM messages m JOIN conversations c ON c.id = m.conversation
    WHERE c.deleted_at IS NULL AND {conditions} ORDER BY m.id DESC"""
INDEXED = """SELECT m.conversation, c.title, m.id, m.role, m.created_at, m.text
    FROM found f CROSS JOIN messages m ON m.id = f.rowid
    JOIN conversations c ON c.id = m.conversation
    WHERE found MATCH ? AND c.deleted_at IS NULL ORDER BY f.rowid DESC"""


def search(connection: sqlite3.Connection, query: str, limit: int) -> list[Found]:
    """Texts that have all words of the query: titles first, then messages, the newest first."""
    words = query.split()
    if not words:
        return []
    found = list(_titles(connection, words, limit))
    for conversation, title, message, role, at, text in _candidates(connection, words):
        if len(found) >= limit:
            break
        if (places := find_words(text, words)) is None:
            continue
        snippet, marks = make_snippet(text, places)
        found.append(
            Found(
                conversation=conversation,
                title=title,
                message=message,
                role=role,
                at=at,
                snippet=snippet,
                marks=marks,
            )
        )
    return found


def find_words(text: str, words: Sequence[str]) -> list[tuple[int, int]] | None:
    """Where each word first stands in the text; None unless all do."""
    folded, back = _fold(text)
    places = []
    for word in words:
        wanted = word.casefold()
        at = folded.find(wanted)
        if at < 0:
            return None
        end = at + len(wanted)
        places.append((at, end) if back is None else (back[at], back[end - 1] + 1))
    return places


def make_snippet(
    text: str, places: Sequence[tuple[int, int]]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A piece of the text on one line around the first place, and where the places are in it."""
    start = max(0, min(at for at, _ in places) - BEFORE)
    end = min(len(text), start + SNIPPET)
    piece = "".join(" " if character.isspace() else character for character in text[start:end])
    before = "…" if start else ""
    marks = {
        (at - start + len(before), min(stop, end) - start + len(before))
        for at, stop in places
        if at < end
    }
    return before + piece + ("…" if end < len(text) else ""), tuple(sorted(marks))


def _titles(connection: sqlite3.Connection, words: Sequence[str], limit: int) -> Iterator[Found]:
    conditions, parameters = _like("title", words)
    rows = connection.execute(TITLES.format(conditions=conditions), (*parameters, limit))
    for conversation, title, at in rows:
        yield Found(
            conversation=conversation,
            title=title,
            message=None,
            role=None,
            at=at,
            snippet=title,
            marks=tuple(sorted(set(find_words(title, words) or ()))),
        )


def _candidates(connection: sqlite3.Connection, words: Sequence[str]) -> sqlite3.Cursor:
    """Messages that may have all the words, the newest first."""
    trigrams = {word[at : at + TRIGRAM] for word in words for at in range(len(word) - TRIGRAM + 1)}
    if trigrams:
        quoted = ('"' + trigram.replace('"', '""') + '"' for trigram in sorted(trigrams))
        return connection.execute(INDEXED, (" AND ".join(quoted),))
    conditions, parameters = _like("m.text", words)
    # What is being written is in no index; it is left out here too.
    conditions += " AND m.state <> 'writing'"
    return connection.execute(MESSAGES.format(conditions=conditions), parameters)


def _like(column: str, words: Sequence[str]) -> tuple[str, list[str]]:
    """That the column has all words. LIKE takes upper for lower case in ASCII only."""
    conditions, parameters = [], []
    for word in words:
        forms = sorted({word, word.lower(), word.upper(), word.capitalize()})
        conditions.append("(" + " OR ".join([f"{column} LIKE ? ESCAPE '\\'"] * len(forms)) + ")")
        parameters += [f"%{_escaped(form)}%" for form in forms]
    return " AND ".join(conditions), parameters


def _escaped(word: str) -> str:
    for special in "\\%_":
        word = word.replace(special, "\\" + special)
    return word


def _fold(text: str) -> tuple[str, list[int] | None]:
    """The text without upper case, and where each of its characters was; None: where it is."""
    folded = text.casefold()
    if len(folded) == len(text):
        return folded, None
    parts = [character.casefold() for character in text]
    return folded, [index for index, part in enumerate(parts) for _ in part]
