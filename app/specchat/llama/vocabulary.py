"""The tokens of a model: text to ids, ids to bytes."""

import ctypes
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from specchat.llama.library import Library


class Vocabulary:
    """A model's vocabulary. It lives as long as its model."""

    def __init__(self, library: Library, handle: Any) -> None:
        self._api = library.api
        self._handle = handle
        self._pieces: dict[int, bytes] = {}
        self._buffer = ctypes.create_string_buffer(256)
        self.n_tokens: int = self._api.llama_vocab_n_tokens(handle)
        self.kind: int = self._api.llama_vocab_type(handle)
        """`enum llama_vocab_type`."""
        self.bos: int = self._api.llama_vocab_bos(handle)
        self.eos: int = self._api.llama_vocab_eos(handle)
        self.mask: int = self._api.llama_vocab_mask(handle)
        """What stands for a token that is to be guessed; -1 where there is none."""
        self.adds_bos: bool = self._api.llama_vocab_get_add_bos(handle)
        self.adds_eos: bool = self._api.llama_vocab_get_add_eos(handle)

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        """The ids of a text; no token is added at either end.

        Args:
            parse_special: take control tokens written out in the text for what they say. False
                for everything that a person typed, or a pasted `<|im_end|>` would end the turn.
        """
        data = text.encode("utf-8", errors="replace")
        room = len(data) + 8
        ids = (ctypes.c_int32 * room)()
        count = self._api.llama_tokenize(
            self._handle, data, len(data), ids, room, False, parse_special
        )
        if count < 0:
            room = -count
            ids = (ctypes.c_int32 * room)()
            count = self._api.llama_tokenize(
                self._handle, data, len(data), ids, room, False, parse_special
            )
        return list(ids[:count])

    def piece(self, token: int) -> bytes:
        """The bytes a token stands for; nothing for a control token, unless it is shown. May be
        half a character."""
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = self._read_piece(token, special=False)
        return piece

    def show(self, tokens: Iterable[int]) -> None:
        """Have these control tokens written out by `piece` from now on."""
        for token in tokens:
            self._pieces[token] = self._read_piece(token, special=True)

    def is_control(self, token: int) -> bool:
        """Whether a token stands for no text of its own."""
        return not self._read_piece(token, special=False)

    def written(self, token: int) -> str:
        """How a token is written out, control tokens too; empty for no token (-1)."""
        return self.write([token]) if token >= 0 else ""

    def write(self, tokens: Iterable[int]) -> str:
        """How tokens are written out, control tokens too."""
        pieces = (self._read_piece(token, special=True) for token in tokens)
        return b"".join(pieces).decode(errors="replace")

    def text(self, token: int) -> bytes:
        """The token's entry in the file, as llama.cpp compares vocabularies by."""
        return self._api.llama_vocab_get_text(self._handle, token) or b""

    def texts(self, tokens: Iterable[int]) -> list[bytes]:
        """The entries of several tokens; half a microsecond each."""
        read, handle = self._api.llama_vocab_get_text, self._handle
        return [read(handle, token) or b"" for token in tokens]

    @cached_property
    def end_tokens(self) -> frozenset[int]:
        """Every end-of-generation token, not only EOS and EOT."""
        is_end, handle = self._api.llama_vocab_is_eog, self._handle
        return frozenset(token for token in range(self.n_tokens) if is_end(handle, token))

    @cached_property
    def suppressed(self) -> Sequence[int]:
        """Tokens that the file says must never be generated."""
        count = ctypes.c_int32()
        first = self._api.llama_vocab_get_suppress_tokens(self._handle, ctypes.byref(count))
        return tuple(first[: count.value]) if first and count.value > 0 else ()

    def _read_piece(self, token: int, special: bool) -> bytes:
        size = self._api.llama_token_to_piece(
            self._handle, token, self._buffer, len(self._buffer), 0, special
        )
        if size < 0:
            self._buffer = ctypes.create_string_buffer(-size)
            return self._read_piece(token, special)
        return self._buffer.raw[:size]
