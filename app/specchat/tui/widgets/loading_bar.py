"""How far loading is, in a line."""

from pathlib import Path

from textual.content import Content
from textual.widgets import Static

from specchat.engine.protocol import LoadProgress, LoadStep, Pair
from specchat.tui.wording import bar, percent, shorten, visible

BAR_WIDTH = 20
STEPS: dict[LoadStep, str] = {
    "target": "loading target  ",
    "draft": "loading draft  ",
    "costs": "measuring what guesses cost here  ",
}


class LoadingBar(Static):
    """Names the file that is being loaded and how much of it is there."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._files: dict[LoadStep, str] = {}
        self.display = False

    def begin(self, pair: Pair, doing: str = "starting the engine") -> None:
        """Loading starts."""
        self._files = {"target": pair.target, "draft": pair.draft or "", "costs": ""}
        self.update(doing)
        self.display = True

    def show(self, progress: LoadProgress) -> None:
        """Loading goes on."""
        role = STEPS[progress.step]
        done = percent(progress.fraction).rjust(5)
        room = self.size.width - len(role) - BAR_WIDTH - len(done) - 2
        name = shorten(visible(Path(self._files[progress.step]).name), max(8, room))
        self.update(
            Content.assemble(
                (role, "$foreground-muted"),
                f"{name}  ",
                (bar(progress.fraction, BAR_WIDTH), "$primary on $boost"),
                done,
            )
        )
