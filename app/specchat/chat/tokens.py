"""The tokens of an answer and where each came from."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from specchat.speculation.controller import Source

Origin = Literal["ngram", "draft", "corrected", "plain"]
ORIGINS: tuple[Origin, ...] = ("ngram", "draft", "corrected", "plain")
"""Guessed from seen text, guessed by the draft model, put by the target in place of a refused
guess, and the target's own where nothing was refused. Stored by their place here."""


class Tokens(msgspec.Struct, frozen=True, array_like=True):
    """Tokens in order. All three are as long as each other, but that `sizes` may be empty."""

    ids: tuple[int, ...] = ()
    origins: bytes = b""
    """An index into `ORIGINS` for each token."""
    sizes: tuple[int, ...] = ()
    """Characters of text that became whole with each token, where they are known. They make up the
    end of the text; what comes before them was written by nobody's tokens, such as a person's
    edit."""

    def __post_init__(self) -> None:
        if len(self.origins) != len(self.ids) or len(self.sizes) not in (0, len(self.ids)):
            raise ValueError("as many origins and sizes as tokens")
        if any(origin >= len(ORIGINS) for origin in self.origins):
            raise ValueError("an origin that is none")

    def within(self, length: int) -> "Tokens":
        """The sizes cut at the end, so that they make no more than these characters."""
        sizes, left = [], length
        for size in self.sizes:
            sizes.append(min(size, left))
            left -= sizes[-1]
        return Tokens(self.ids, self.origins, tuple(sizes))

    def plus(self, other: "Tokens") -> "Tokens":
        """These, then the others; sizes are kept when both have them."""
        known = bool(self.sizes or not self.ids) and bool(other.sizes or not other.ids)
        sizes = self.sizes + other.sizes if known else ()
        return Tokens(self.ids + other.ids, self.origins + other.origins, sizes)


class TokenLog:
    """Collects the tokens of one answer, a round at a time."""

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._origins = bytearray()
        self._sizes: list[int] = []

    def add(
        self,
        tokens: Sequence[int],
        sizes: Sequence[int] = (),
        *,
        drafted: int,
        accepted: int,
        source: Source | None,
    ) -> None:
        """Take one round.

        Args:
            tokens: what it emitted, the accepted ones first.
            sizes: of each token, as in `Tokens`.
            source: who drafted.
        """
        guessed: Origin = "ngram" if source == "ngram" else "draft"
        own: Origin = "corrected" if accepted < drafted else "plain"
        self._ids += tokens
        self._sizes += sizes
        for index in range(len(tokens)):
            self._origins.append(ORIGINS.index(guessed if index < accepted else own))

    def tokens(self, count: int | None = None) -> Tokens:
        """All so far, or the first `count` of them: a stop string takes some back."""
        sizes = self._sizes if len(self._sizes) == len(self._ids) else ()
        return Tokens(tuple(self._ids[:count]), bytes(self._origins[:count]), tuple(sizes[:count]))


_decoder = msgspec.msgpack.Decoder(Tokens)


def encode_tokens(tokens: Tokens) -> bytes:
    """About four bytes a token."""
    return msgspec.msgpack.encode(tokens)


def decode_tokens(data: bytes) -> Tokens:
    """What `encode_tokens` wrote.

    Raises:
        msgspec.DecodeError: something else did.
    """
    return _decoder.decode(data)
