"""The tokens of a text that the model itself has written, so that it can go on from there."""

import re
from collections.abc import Sequence

from specchat.chat.reasoning import ALL_MARKS
from specchat.llama.vocabulary import Vocabulary

MARKS = re.compile("|".join(map(re.escape, sorted(ALL_MARKS, key=len, reverse=True))))
ANCHOR = "\n"
"""What a word that begins without a space can be tokenized behind."""


def begun_tokens(vocabulary: Vocabulary, text: str) -> list[int]:
    """The tokens with which an answer begins.

    Of the control tokens written out in it, only those of marks around thinking count: a person may
    have changed the text. A model may have spelled it in another way than the tokenizer does.
    """
    ids: list[int] = []
    start = 0
    for mark in MARKS.finditer(text):
        tokens = vocabulary.tokenize(mark[0], parse_special=True)
        if tokens != vocabulary.tokenize(mark[0], parse_special=False):
            ids += _tokens_of(vocabulary, text[start : mark.start()])
            ids += tokens
            start = mark.end()
    return ids + _tokens_of(vocabulary, text[start:])


def _tokens_of(vocabulary: Vocabulary, text: str) -> list[int]:
    """Plain text alone: some tokenizers put a space in front, which was not said."""
    if not text:
        return []
    ids = vocabulary.tokenize(text, parse_special=False)
    if _bytes_of(vocabulary, ids) != b" " + text.encode("utf-8", errors="replace"):
        return ids
    if text[0] == " " and text[1:]:
        return vocabulary.tokenize(text[1:], parse_special=False)
    behind = vocabulary.tokenize(ANCHOR + text, parse_special=False)
    before, said = (" " + ANCHOR).encode(), b""
    for count, token in enumerate(behind, 1):
        said += vocabulary.piece(token)
        if said == before:
            return behind[count:]
        if len(said) > len(before):
            break
    return ids


def _bytes_of(vocabulary: Vocabulary, ids: Sequence[int]) -> bytes:
    return b"".join(map(vocabulary.piece, ids))
