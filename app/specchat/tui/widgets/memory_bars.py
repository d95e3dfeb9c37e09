"""What the pair takes of each device's memory, at the foot of the panel."""

from textual.content import Content
from textual.widgets import Static

from specchat.pairing.machine import Machine
from specchat.pairing.memory import MemoryPlan
from specchat.tui.definitions import definition
from specchat.tui.memory_lines import legend_line, narrow_lines


class MemoryBars(Static):
    """Two lines a device; hidden until a plan is known."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.tooltip = Content("\n").join([definition("memory"), legend_line()])
        self._plan: MemoryPlan | None = None
        self._machine: Machine | None = None
        self.display = False

    def show(self, plan: MemoryPlan | None, machine: Machine | None) -> None:
        """This is what was planned for the pair."""
        self._plan, self._machine = plan, machine
        self.display = plan is not None
        self._draw()

    def on_resize(self) -> None:
        """As long as there is room."""
        self._draw()

    def _draw(self) -> None:
        if self._plan is not None and self._machine is not None:
            width = self.content_size.width or 26
            self.update(Content("\n").join(narrow_lines(self._plan, self._machine, width)))
