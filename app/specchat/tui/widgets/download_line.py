"""How far a download is, in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from specchat.tui.wording import SEPARATOR, bar, percent, visible

if TYPE_CHECKING:
    from specchat.hub.progress import Progress

BAR_WIDTH = 12


class DownloadLine(Static):
    """Names the pair and says how far it is; hidden while nothing is downloaded."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._notice = ""
        self._done = -1
        self.display = False

    def show(self, name: str, progress: Progress | None, notice: str = "") -> None:
        """The download goes on. A notice stays until more has come."""
        self.display = True
        if progress is None:
            self._notice = notice
        elif progress.total_done_bytes != self._done:
            self._notice, self._done = "", progress.total_done_bytes
        head = Content.assemble(("downloading ", "$foreground-muted"), visible(name), "  ")
        if progress is None or self._notice:
            self.update(head + Content.styled(visible(self._notice), "$foreground-muted"))
            return
        done = progress.total_done_bytes / max(progress.total_bytes, 1)
        self.update(
            Content.assemble(
                head,
                (bar(done, BAR_WIDTH), "$primary on $boost"),
                f" {percent(done)}",
                (SEPARATOR + SEPARATOR.join(_facts(progress)), "$foreground-muted"),
            )
        )

    def hide(self) -> None:
        """It has ended."""
        self._notice, self._done = "", -1
        self.display = False


def _facts(progress: Progress) -> list[str]:
    from specchat.hub.wording import size_text, time_text

    done, total = size_text(progress.total_done_bytes), size_text(progress.total_bytes)
    number, _, unit = done.rpartition(" ")
    facts = [f"{number if total.endswith(f' {unit}') else done} of {total}"]
    if progress.stage == "checking":
        return [*facts, "checking what is here"]
    if progress.seconds_left is not None:
        facts.append(f"{time_text(progress.seconds_left)} left")
    if progress.bytes_per_second is not None:
        facts.append(f"{size_text(progress.bytes_per_second)}/s")
    return facts
