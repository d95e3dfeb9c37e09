"""A conversation's title, made from its first exchange by rule: no model is asked."""

import re
import unicodedata
from collections.abc import Iterator

LONGEST = 48
"""Columns of a terminal; a character of Chinese, Japanese or Korean takes two."""

SENTENCE_END = re.compile(r"(?<=[.!?])\s(?![a-z\d])|(?<=[。！？])")  # noqa: RUF001
"""Not before a small letter or a digit: "e.g. this", "vs. 3.11"."""
MARKUP = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+|\d+[.)]\s+)+|`|(?<!\w)[*_]+|[*_]+(?!\w)")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
FENCE = re.compile(r"\s*(`{3,}|~{3,})")


def make_title(text: str) -> str:
    """The first sentence of a message; empty when it has no words outside of code."""
    line = next(_lines(text), "")
    return shorten(SENTENCE_END.split(line, maxsplit=1)[0].strip(" :"))


def shorten(text: str, columns: int = LONGEST) -> str:
    """The text if it is no wider, else cut after a word, with an ellipsis."""
    if width(text) <= columns:
        return text
    kept = _fitting(text, columns - 1)
    word = kept.rfind(" ")
    if word > 0 and not text[len(kept)].isspace() and width(kept[:word]) * 2 >= columns:
        kept = kept[:word]
    return kept.rstrip(" ,;:.-") + "…"


def width(text: str) -> int:
    """Columns that the text takes in a terminal (UAX #11, marks and controls take none)."""
    return sum(map(_width, text))


def _lines(text: str) -> Iterator[str]:
    """Lines with words in them, without their markup; code blocks are left out."""
    fence = ""
    for line in text.splitlines():
        found = FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence):
                fence = ""
        elif found:
            fence = found[1]
        else:
            words = " ".join(MARKUP.sub("", LINK.sub(r"\1", _printable(line))).split())
            if any(character.isalnum() for character in words):
                yield words


def _printable(line: str) -> str:
    return "".join(" " if unicodedata.category(each) in ("Cc", "Cs") else each for each in line)


def _fitting(text: str, columns: int) -> str:
    used = 0
    for index, character in enumerate(text):
        used += _width(character)
        if used > columns:
            return text[:index]
    return text


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
