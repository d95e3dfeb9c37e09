"""The text of an answer with a mark on every token that tells where it came from.

Each origin has a colour, and a style that shows without colours.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple
from unicodedata import category

from textual.content import Content

from specchat.chat.tokens import ORIGINS, Origin, Tokens
from specchat.tui.wording import SEPARATOR, percent, visible

STYLES: dict[Origin, str] = {
    "ngram": "bold underline $text-primary",
    "draft": "underline $text-success",
    "corrected": "reverse $text-warning",
    "plain": "",
}
NAMES: dict[Origin, str] = {
    "ngram": "n-gram",
    "draft": "draft",
    "corrected": "corrected",
    "plain": "plain",
}
NOT_A_TOKENS = "italic $foreground-muted"
LINE_END = "↵"
"""Stands before a line break, which could not show its mark."""

JOINER = "\u200d"
LATER_PARTS = {"Mn", "Mc", "Me", "Cf"}
"""Categories of what is shown together with the character before it."""


class OriginSpan(NamedTuple):
    """A part of the text with one origin; None: no token stands for it."""

    start: int
    end: int
    origin: Origin | None


def origin_spans(text: str, tokens: Tokens) -> list[OriginSpan]:
    """The whole text in parts, each as long as it can be.

    What is one character for the eye is never divided: it has the origin of the token that
    completed it. Sizes are needed; tokens that stand for less than the text are its end.
    """
    begun = max(0, len(text) - sum(tokens.sizes))
    ends = accumulate(tokens.sizes, initial=begun)
    origins = [None, *(ORIGINS[origin] for origin in tokens.origins)]
    starts = _starts(text)
    spans: list[OriginSpan] = []
    done = 0
    for end, origin in zip(ends, origins, strict=True):
        whole = starts[end] if end < len(text) else len(text)
        if whole <= done:
            continue
        if spans and spans[-1].origin == origin:
            spans[-1] = spans[-1]._replace(end=whole)
        else:
            spans.append(OriginSpan(done, whole, origin))
        done = whole
    return spans


def origin_content(text: str, tokens: Tokens) -> Content:
    """The raw text with its marks."""
    parts: list[str | tuple[str, str]] = []
    for start, end, origin in origin_spans(text, tokens):
        shown = visible(text[start:end]).replace("\n", f"{LINE_END}\n")
        style = STYLES[origin] if origin else NOT_A_TOKENS
        parts.append((shown, style) if style else shown)
    return Content.assemble(*parts)


def legend(tokens: Tokens | None = None) -> Content:
    """What the marks mean, and how many of these tokens have each."""
    parts: list[str | tuple[str, str]] = []
    for index, origin in enumerate(ORIGINS):
        parts += [SEPARATOR if parts else "", (NAMES[origin], STYLES[origin])]
        if tokens is not None and tokens.ids:
            parts.append(f" {percent(tokens.origins.count(index) / len(tokens.ids))}")
    return Content.assemble(*parts)


def _starts(text: str) -> Sequence[int]:
    """For each place in the text, where what is one character for the eye begins."""
    if text.isascii():
        return range(len(text))
    starts: list[int] = []
    start = 0
    for index, character in enumerate(text):
        if not index or not _joins(text[index - 1], character, start == index - 1):
            start = index
        starts.append(start)
    return starts


def _joins(before: str, character: str, second: bool) -> bool:
    """Whether a character is part of what the one before it began or went on with.

    Args:
        second: it would be the second part.
    """
    if before == "\n" or character < "\x80":
        return before == JOINER and character != "\n"
    return (
        before == JOINER
        or category(character) in LATER_PARTS
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # the colour of a skin
        or "\u1160" <= character <= "\u11ff"  # the rest of a Korean syllable
        or (second and _is_half_a_flag(before) and _is_half_a_flag(character))
    )


def _is_half_a_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
