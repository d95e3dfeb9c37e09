"""The tokens of an answer and where each came from."""

from collections.abc import Sequence
from typing import Literal

import msgspec

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
    """Bytes of text that each token stands for, where they are known."""

    def __post_init__(self) -> None:
        if len(self.origins) != len(self.ids) or len(self.sizes) not in (0, len(self.ids)):
            raise ValueError("as many origins and sizes as tokens")
        if any(origin >= len(ORIGINS) for origin in self.origins):
            raise ValueError("an origin that is none")

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
        self._accepted_ngram = 0

    def add(
        self, tokens: Sequence[int], *, drafted: int, accepted: int, accepted_ngram: int
    ) -> None:
        """Take one round.

        Args:
            tokens: what it emitted, the accepted ones first.
            accepted_ngram: the running total of the answer, as in its figures.
        """
        guessed: Origin = "ngram" if accepted_ngram > self._accepted_ngram else "draft"
        own: Origin = "corrected" if accepted < drafted else "plain"
        self._accepted_ngram = accepted_ngram
        self._ids += tokens
        for index in range(len(tokens)):
            self._origins.append(ORIGINS.index(guessed if index < accepted else own))

    def tokens(self, count: int | None = None) -> Tokens:
        """All so far, or the first `count` of them: a stop string takes some back."""
        return Tokens(tuple(self._ids[:count]), bytes(self._origins[:count]))


_decoder = msgspec.msgpack.Decoder(Tokens)


def encode_tokens(tokens: Tokens) -> bytes:
    """About three bytes a token."""
    return msgspec.msgpack.encode(tokens)


def decode_tokens(data: bytes) -> Tokens:
    """What `encode_tokens` wrote.

    Raises:
        msgspec.DecodeError: something else did.
    """
    return _decoder.decode(data)
