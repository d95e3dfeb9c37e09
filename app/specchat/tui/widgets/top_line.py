"""The first line: the pair, what holds in the conversation, where it runs, and the context."""

from collections.abc import Sequence
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from specchat.engine.drafter_names import WITHOUT_NGRAMS, what_drafts
from specchat.engine.protocol import Loaded, Pair
from specchat.pairing.machine import Machine
from specchat.pairing.memory import MemoryPlan
from specchat.tui.definitions import definition
from specchat.tui.memory_lines import main_share, memory_text, total_bytes
from specchat.tui.wording import SEPARATOR, tokens, visible

SETUP = (
    "What this conversation has otherwise than where nothing is set. /preset, /system, /draft, "
    "/length and /rule tell more, and change it."
)


class TopLine(Horizontal):
    """Names first; they give way when the line is narrow."""

    def __init__(self) -> None:
        super().__init__()
        self._names = Static("", markup=False, id="names")
        self._setup = Static("", markup=False, id="setup")
        self._setup.tooltip = SETUP
        self._setup.display = False
        self._backend = Static("", markup=False, id="backend")
        self._fill = Static("", markup=False, id="context")
        self._fill.tooltip = definition("context")
        self._filled = ""
        self._n_ctx = 0

    def compose(self) -> ComposeResult:
        yield self._names
        yield self._setup
        yield self._backend
        yield self._fill

    def begin(self, pair: Pair) -> None:
        """These files are to be loaded."""
        self._names.update(_names(pair.target, Path(pair.draft).stem if pair.draft else None))
        self._backend.update("")
        self._backend.tooltip = None
        self._fill.update("")
        self._filled = ""
        self._n_ctx = 0

    def show_loaded(self, loaded: Loaded, plan: MemoryPlan | None, machine: Machine | None) -> None:
        """Name what is loaded: a draft that cannot be used is not."""
        draft = Path(loaded.draft.path).stem if loaded.draft else None
        if draft is None and loaded.drafter in WITHOUT_NGRAMS:
            draft = f"its {what_drafts(loaded.drafter)}"
        self._names.update(_names(loaded.target.path, draft))
        share = main_share(plan) if plan else None
        if share and machine:
            memory = memory_text(share, total_bytes(share, machine))
            self._backend.update(visible(f"{share.device} {memory}"))
        else:
            self._backend.update(visible(loaded.engine.backend))
        self._backend.tooltip = definition("memory") if share and machine else None
        self._n_ctx = loaded.n_ctx

    def show_setup(self, words: Sequence[str]) -> None:
        """Tell what holds in the conversation, where that is not what holds anywhere."""
        self._setup.update(visible(SEPARATOR.join(words)))
        self._setup.display = bool(words)

    def show_context(self, used: int, left_out: int = 0) -> None:
        """Tell how many tokens the target's context holds, and how many messages it lacks."""
        if self._n_ctx:
            lacks = f", {left_out} left out" if left_out else ""
            text = f"context {tokens(used)} of {tokens(self._n_ctx)}{lacks}"
            if text != self._filled:
                self._fill.update(text, layout=len(text) != len(self._filled))
                self._filled = text


def _names(target: str, draft: str | None) -> str:
    # The file's name: what a model calls itself is often odd, and leaves out the quantisation.
    return visible("  <-  ".join(filter(None, (Path(target).stem, draft))))
