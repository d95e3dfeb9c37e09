"""The first line: the pair, where it runs, and how full the context is."""

from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from specchat.engine.protocol import Loaded, Pair
from specchat.tui.wording import tokens, visible


class TopLine(Horizontal):
    """Names first; they give way when the line is narrow.

    Args:
        pair: the files to load.
    """

    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self._names = Static(_names(pair.target, pair.draft), markup=False, id="names")
        self._backend = Static("", markup=False, id="backend")
        self._fill = Static("", markup=False, id="context")
        self._n_ctx = 0

    def compose(self) -> ComposeResult:
        yield self._names
        yield self._backend
        yield self._fill

    def show_loaded(self, loaded: Loaded) -> None:
        """Name what is loaded: a draft that cannot be used is not."""
        draft = loaded.draft.path if loaded.draft else None
        self._names.update(_names(loaded.target.path, draft))
        self._backend.update(visible(loaded.engine.backend))
        self._n_ctx = loaded.n_ctx

    def show_context(self, used: int) -> None:
        """Tell how many tokens the target's context holds."""
        if self._n_ctx:
            self._fill.update(f"context {tokens(used)} of {tokens(self._n_ctx)}")


def _names(target: str, draft: str | None) -> str:
    # The file's name: what a model calls itself is often odd, and leaves out the quantisation.
    return visible("  <-  ".join(Path(path).stem for path in (target, draft) if path))
