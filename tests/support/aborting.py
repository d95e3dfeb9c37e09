"""An abort in the middle of a decode, at a place that a test chooses."""

from typing import Any

from specchat.llama.library import AbortFlag, Library


class AbortInside(AbortFlag):
    """Ends the decode in which llama.cpp asks for the n-th time, once; it is never seen set."""

    def __init__(self, library: Library) -> None:
        super().__init__(library)
        self._left = 0
        self.asked = 0
        """How often llama.cpp has asked."""
        self.callback: Any = library.api.ggml_abort_callback(self._ask)

    def at(self, ask: int) -> None:
        """End the decode at this ask from now, counted from 1."""
        self._left = ask

    def _ask(self, _data: Any) -> bool:
        self.asked += 1
        self._left -= 1
        return self._left == 0
