"""A vocabulary of a few control tokens and one token for every letter."""

import re
from collections.abc import Sequence

CONTROL = ["<s>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
BOS, START, END, THINK, END_THINK = range(5)
FIRST_LETTER = 10

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content }}<|im_end|>\n{% endfor %}"
    "{{ '<|im_start|>assistant\n' }}"
)


class Letters:
    """Control tokens stand for no bytes."""

    def __init__(self, *, adds_bos: bool = False, bos: int = BOS) -> None:
        self.adds_bos = adds_bos
        self.bos = bos

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        pattern = "|".join(map(re.escape, CONTROL)) if parse_special else "(?!)"
        ids: list[int] = []
        for index, part in enumerate(re.split(f"({pattern})", text)):
            ids += [CONTROL.index(part)] if index % 2 else self.spell(part)
        return ids

    def spell(self, text: str) -> list[int]:
        """A text without control tokens."""
        return [ord(letter) + FIRST_LETTER for letter in text]

    def piece(self, token: int) -> bytes:
        return b"" if token < len(CONTROL) else chr(token - FIRST_LETTER).encode()


class Spaced(Letters):
    """Puts a space in front of whatever text it is given, as SentencePiece does."""

    def spell(self, text: str) -> list[int]:
        return super().spell(f" {text}" if text else "")


def written(ids: Sequence[int]) -> str:
    """The text of tokens, control tokens written out."""
    return "".join(
        CONTROL[token] if token < len(CONTROL) else chr(token - FIRST_LETTER) for token in ids
    )
