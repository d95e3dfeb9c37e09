"""Walking through what was sent before, from the newest to older ones and back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specchat.tui.attachments import Attachment
from specchat.tui.slash import escaped

RecentQuestions = Callable[[int], Sequence[str]]
"""So many of the last questions, of all conversations, the newest first."""

MOST = 200


@dataclass(frozen=True)
class Written:
    """What the prompt holds: its text, as it is shown, and the files that go along."""

    text: str
    attachments: tuple[Attachment, ...] = ()


def no_questions(limit: int) -> Sequence[str]:
    """Nothing was asked before."""
    return ()


class Recall:
    """Where in the past the prompt is. Place 0 is what is being written.

    Args:
        recent: asked when a walk begins.
    """

    def __init__(self, recent: RecentQuestions = no_questions) -> None:
        self.recent = recent
        self._sent: dict[str, Written] = {}
        """In this run, by the whole message, the oldest first; commands too, which are nowhere
        else."""
        self._entries: list[Written] = []
        self._place = 0
        self._changed: dict[int, Written] = {}
        """What was made of each place on the way."""

    def sent(self, message: str, written: Written) -> None:
        """This was sent: it is the newest, and the next walk begins behind it.

        Args:
            message: the whole of it, as the conversation has it.
        """
        self._sent.pop(message, None)
        self._sent[message] = written
        if len(self._sent) > MOST:
            del self._sent[next(iter(self._sent))]
        self._place, self._changed = 0, {}

    def as_written(self, message: str) -> Written:
        """How a message was in the prompt."""
        return self._sent.get(message, Written(escaped(message)))

    def older(self, now: Written) -> Written | None:
        """The one before; None where there is none.

        Args:
            now: what the prompt holds, to come back to.
        """
        if self._place == 0:
            self._entries = self._known(now)
        if self._place == len(self._entries):
            return None
        return self._go(1, now)

    def newer(self, now: Written) -> Written | None:
        """The one after, in the end what was being written; None while that is shown."""
        return self._go(-1, now) if self._place else None

    def _go(self, step: int, now: Written) -> Written:
        self._changed[self._place] = now
        self._place += step
        past = self._entries[self._place - 1] if self._place else Written("")
        return self._changed.get(self._place, past)

    def _known(self, now: Written) -> list[Written]:
        """Each once, at its newest place; what the prompt holds already is not shown again."""
        messages = dict.fromkeys([*reversed(self._sent), *self.recent(MOST)])
        known = [self.as_written(message) for message in messages if message.strip()]
        return [written for written in known if written != now][:MOST]
