"""A download beside the chat: one at a time, in a thread that never holds up quitting."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from textual.message import Message
from textual.message_pump import MessagePump

from specchat.errors import CannotWrite, SpecchatError

if TYPE_CHECKING:
    from specchat.hub.progress import Progress


class Downloading(Message):
    """How far it is, or why it waits."""

    def __init__(self, name: str, progress: Progress | None, notice: str = "") -> None:
        super().__init__()
        self.name = name
        self.progress = progress
        self.notice = notice


class Downloaded(Message):
    """It has ended: all is here, or it was stopped, or an error says why not."""

    def __init__(self, name: str, error: SpecchatError | None, *, stopped: bool = False) -> None:
        super().__init__()
        self.name = name
        self.error = error
        self.stopped = stopped


class _Stopped(Exception):
    """The person wants no more of it."""


class Download:
    """Brings a pair of the catalog; what came is kept, however it ends.

    Args:
        name: the pair's name.
        receiver: gets the messages.
    """

    def __init__(self, name: str, receiver: MessagePump) -> None:
        self.name = name
        self._receiver = receiver
        self._stop = threading.Event()
        # A daemon, because the Hub may let a request wait for longer than anybody wants to quit.
        self._thread = threading.Thread(target=self._run, name=f"download {name}", daemon=True)

    def start(self) -> None:
        """Begin; messages follow."""
        self._thread.start()

    def stop(self) -> None:
        """End it soon, with a `Downloaded`."""
        self._stop.set()

    def progress(self, progress: Progress) -> None:
        """Called by the download, in its thread."""
        self._listen()
        self._receiver.post_message(Downloading(self.name, progress))

    def notice(self, sentence: str) -> None:
        """Called by the download, in its thread."""
        self._listen()
        self._receiver.post_message(Downloading(self.name, None, sentence))

    def _listen(self) -> None:
        if self._stop.is_set():
            raise _Stopped

    def _run(self) -> None:
        error: SpecchatError | None = None
        try:
            self._bring()
        except _Stopped:
            pass
        except SpecchatError as refusal:
            error = refusal
        except OSError as trouble:
            error = CannotWrite(
                f"Tried to download {self.name}.",
                f"{trouble}.",
                f"Try it outside: specchat pull {self.name}",
            )
        self._receiver.post_message(Downloaded(self.name, error, stopped=self._stop.is_set()))

    def _bring(self) -> None:
        from specchat.hub.pairs import request_for
        from specchat.hub.plan import plan_download
        from specchat.hub.transfer import download

        request = request_for(self.name)
        if request.items:
            plan = plan_download(self.name, request.items, self.notice)
            download(plan.files, plan.cache, self, plan.wanted)
