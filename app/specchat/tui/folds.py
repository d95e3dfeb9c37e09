"""Long pasted texts: each is one word in the prompt, such as `[pasted 3,120 lines, 214 kB]`."""

import re

from specchat.hub.wording import size_text

LONGEST = 2000
"""Characters that are shown as they are."""
MOST_LINES = 20
UNWIELDY = 100_000
"""Characters of a text that is to be worked on."""


class Folds:
    """What was folded away, by the word that stands for it.

    A word that is edited stands for nothing any more. What it stood for is kept: an edit can be
    undone, and what was sent can be called back.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """A word for this text."""
        word = first = _word_of(text)
        number = 1
        while self._texts.get(word, text) != text:
            number += 1
            word = f"{first[:-1]}, {number}]"
        self._texts[word] = text
        return word

    def unfold(self, text: str) -> str:
        """The text with everything in its place."""
        if not self._texts:
            return text
        return self._pattern.sub(lambda match: self._texts[match[0]], text)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where in a line the words stand."""
        return [match.span() for match in self._pattern.finditer(line)] if self._texts else []

    @property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(re.escape(word) for word in self._texts))


def is_long(text: str) -> bool:
    """Whether a text is too long to be shown in the prompt as it is."""
    return len(text) > LONGEST or text.count("\n") >= MOST_LINES


def _word_of(text: str) -> str:
    lines = text.count("\n") + (not text.endswith("\n"))
    size = size_text(len(text.encode(errors="replace")))
    return f"[pasted {lines:,} line{'' if lines == 1 else 's'}, {size}]"
