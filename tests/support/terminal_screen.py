"""What a terminal shows, from the bytes that a program wrote on it."""

import codecs
import re
from collections.abc import Iterator

from rich.cells import cell_len

# CSI, OSC and two-character sequences (ECMA-48, 5.4; xterm's OSC ends with BEL or ST).
SEQUENCE = re.compile(
    r"\x1b\[([0-9;?<=>$ ]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1bP.*?\x1b\\|\x1b[^\[\]P]",
    re.DOTALL,
)


class TerminalScreen:
    """As much of a terminal as the chat uses: places, text, and clearing.

    Args:
        columns: cells a line.
        lines: from the top.
    """

    def __init__(self, columns: int, lines: int) -> None:
        self._columns = columns
        self._cells = [[" "] * columns for _ in range(lines)]
        self._line = self._column = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        """A sequence that has only begun."""

    def feed(self, data: bytes) -> None:
        """Take what was written next, wherever it was cut."""
        text = self._held + self._decoder.decode(data)
        at = 0
        for match in SEQUENCE.finditer(text):
            self._write(text[at : match.start()])
            self._obey(match[1] or "", match[2] or "")
            at = match.end()
        begun = text.find("\x1b", at)
        end = len(text) if begun < 0 else begun
        self._write(text[at:end])
        self._held = text[end:]

    @property
    def lines(self) -> list[str]:
        """What stands in each line."""
        return ["".join(line) for line in self._cells]

    def _obey(self, parameters: str, final: str) -> None:
        numbers = [int(part or 0) for part in parameters.split(";") if part.isdecimal() or not part]
        first = numbers[0] if numbers else 0
        if final in ("H", "f"):
            self._line = min(max(first, 1), len(self._cells)) - 1
            column = numbers[1] if len(numbers) > 1 else 1
            self._column = min(max(column, 1), self._columns) - 1
        elif final == "J" and first == 2:
            self._cells = [[" "] * self._columns for _ in self._cells]
        elif final == "K":
            self._cells[self._line][self._column :] = [" "] * (self._columns - self._column)

    def _write(self, text: str) -> None:
        for character in text:
            if character == "\r":
                self._column = 0
            elif character == "\n":
                self._line = min(self._line + 1, len(self._cells) - 1)
            elif character >= " ":
                for cell in self._filled(character):
                    if self._column < self._columns:
                        self._cells[self._line][self._column] = cell
                        self._column += 1

    def _filled(self, character: str) -> Iterator[str]:
        """The cells that a character takes."""
        width = cell_len(character)
        yield from (character, "")[:width]
