"""Text of answers under way that is not saved yet, and what is known of them beside it."""

import time
from collections.abc import Callable, Collection

from specchat.chat import rows
from specchat.chat.database import Statement
from specchat.chat.known import Known

SAVE_EVERY_S = 0.4
"""How old text may get before it is on the disk, while text keeps coming."""


class ComingIn:
    """Collects text by message, and tells what has to be saved."""

    def __init__(self) -> None:
        self._parts: dict[int, list[str]] = {}
        self._follows: dict[int, Callable[[], Known | None]] = {}
        """What tells of an answer what is known beside its text."""
        self._saved_at = 0.0

    @property
    def messages(self) -> list[int]:
        """The answers under way."""
        return list(self._parts)

    @property
    def is_due(self) -> bool:
        """Whether some of it may be `SAVE_EVERY_S` old."""
        return time.monotonic() - self._saved_at >= SAVE_EVERY_S

    def begin(self, message: int) -> None:
        """Text of this answer will come."""
        self._parts[message] = []

    def follow(self, message: int, known: Callable[[], Known | None]) -> None:
        """Ask this for what is known; None leaves what is kept as it is."""
        self._follows[message] = known

    def append(self, message: int, text: str) -> None:
        """Take new text."""
        self._parts[message].append(text)

    def unsaved(self, message: int) -> str:
        """Text that has come since the last time."""
        return "".join(self._parts[message])

    def known(self, message: int) -> Known | None:
        """What is known of an answer beside its text."""
        follow = self._follows.get(message)
        return follow() if follow is not None else None

    def statements(self) -> list[Statement]:
        """What saves all that has come, each text together with what is known of it."""
        statements: list[Statement] = []
        for message, parts in self._parts.items():
            if parts:
                statements.append((rows.ADD_TEXT, (rows.clean("".join(parts)), message)))
                known = self.known(message)
                statements += [rows.add_answer(message, known)] if known else []
        return statements

    def saved(self) -> None:
        """All that has come is saved now."""
        for parts in self._parts.values():
            parts.clear()
        self._saved_at = time.monotonic()

    def forget(self, messages: Collection[int]) -> None:
        """These have ended, or are gone."""
        for message in messages:
            self._parts.pop(message, None)
            self._follows.pop(message, None)
