"""From tokens to text that is certain: whole characters, and no part of a stop string."""

import codecs
from collections.abc import Callable, Iterable, Sequence


class TextStream:
    """The text of one answer.

    Args:
        piece: the bytes of a token; may be part of a character.
        stop: texts that end the answer and are not part of it.
    """

    def __init__(self, piece: Callable[[int], bytes], stop: Sequence[str] = ()) -> None:
        self._piece = piece
        self._stop = [text.encode() for text in stop if text]
        self._longest_stop = max(map(len, self._stop), default=0)
        self._data = bytearray()
        self._starts: list[int] = []
        """Where the bytes of each token start."""
        self._released = 0
        self._parts: list[str] = []
        self._whole = codecs.getincrementaldecoder("utf-8")("replace")
        self.sizes: list[int] = []
        """Of each token, how many characters became whole with it. What is held back and what a
        stop string takes away counts too: the text ends within the sizes, never beyond them."""
        self.stopped = False
        """Whether a stop string was found; nothing is added after it."""

    @property
    def text(self) -> str:
        """All text given out so far."""
        return "".join(self._parts)

    @property
    def kept_tokens(self) -> int:
        """How many of the tokens begin before the end of the text; the rest is the stop string."""
        if not self.stopped:
            return len(self._starts)
        return sum(start < len(self._data) for start in self._starts)

    def add(self, tokens: Iterable[int]) -> str:
        """Take tokens and give the text that has become certain."""
        if self.stopped:
            return ""
        searched = max(self._released, len(self._data) - self._longest_stop + 1)
        for token in tokens:
            piece = self._piece(token)
            self._starts.append(len(self._data))
            self._data += piece
            self.sizes.append(len(self._whole.decode(piece)))
        found = [
            (at + len(text), at)
            for text in self._stop
            if (at := self._data.find(text, searched)) >= 0
        ]
        if found:
            # The one that was complete first, however many tokens came at a time.
            _, start = min(found)
            self.stopped = True
            del self._data[start:]
            return self._release(len(self._data))
        return self._release(len(self._data) - self._possible_stop())

    def finish(self) -> str:
        """Give what was held back. Half a character at the very end is left out."""
        return self._release(len(self._data))

    def _possible_stop(self) -> int:
        """Length of the longest end of the data with which a stop string begins."""
        longest = min(self._longest_stop - 1, len(self._data) - self._released)
        for length in range(longest, 0, -1):
            end = bytes(self._data[-length:])
            if any(text.startswith(end) for text in self._stop):
                return length
        return 0

    def _release(self, end: int) -> str:
        text, used = codecs.utf_8_decode(self._data[self._released : end], "replace", False)
        self._released += used
        self._parts.append(text)
        return text
