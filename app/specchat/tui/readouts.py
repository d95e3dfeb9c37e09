"""What is around the conversation and shows figures: the first line, the panel, its one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from specchat.tui.widgets.loading_bar import LoadingBar
from specchat.tui.widgets.memory_bars import MemoryBars
from specchat.tui.widgets.speculation_panel import (
    LiveFigures,
    SpeculationLine,
    SpeculationPanel,
)
from specchat.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from specchat.engine.protocol import Loaded, Pair
    from specchat.pairing.machine import Conditions, Machine
    from specchat.pairing.memory import MemoryPlan


class Readouts:
    """Tells each of them what it shows.

    Args:
        clock: seconds since some moment.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.live = LiveFigures(clock=clock)
        self.top_line = TopLine()
        self.loading_bar = LoadingBar()
        self.panel = SpeculationPanel()
        self.memory = MemoryBars()
        self.line = SpeculationLine()

    def begin(self, pair: Pair) -> None:
        """A pair is being loaded."""
        self.top_line.begin(pair)
        self._show_memory(None, None)
        self.loading_bar.begin(pair)

    def loaded(self, loaded: Loaded, plan: MemoryPlan | None, machine: Machine | None) -> None:
        """It is there."""
        self.top_line.show_loaded(loaded, plan, machine)
        self._show_memory(plan, machine)
        self.loading_bar.display = False

    def show_setup(self, holds: Iterable[str]) -> None:
        """What holds for answers otherwise than usual."""
        self.top_line.show_setup(list(holds))

    def heed(self, conditions: Conditions) -> None:
        """How the machine is."""
        self.live.conditions = conditions
        self.show_speculation()

    def show_figures(self) -> None:
        """All figures as they are now."""
        self.top_line.show_context(self.live.n_past, self.live.left_out)
        self.show_speculation()

    def show_speculation(self) -> None:
        """Those of speculation; ages go on."""
        self.panel.show(self.live)
        self.line.show(self.live)

    def _show_memory(self, plan: MemoryPlan | None, machine: Machine | None) -> None:
        self.memory.show(plan, machine)
        self.line.show_memory(plan, machine)
