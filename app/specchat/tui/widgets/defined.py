"""Text whose figures tell what they mean when the mouse rests on them."""

from textual import events
from textual.widgets import Static

from specchat.tui.definitions import defined_by


class Defined(Static):
    """Shows the definition of the figure under the mouse, of those that `definitions.figure` made.

    Textual shows a widget's tooltip once the mouse has rested; which figure it rests on is in the
    style of the text there.
    """

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """The tooltip is that of the figure here."""
        self.tooltip = defined_by(event.style.meta)
