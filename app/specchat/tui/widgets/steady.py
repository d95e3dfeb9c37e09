"""Text that changes often, without laying the whole screen out each time."""

from collections.abc import Iterator
from contextlib import contextmanager

from textual.content import Content
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widget import Widget
from textual.widgets import Static

STEP = 4
"""Lines that text which keeps growing grows by at once."""


def put(widget: Static, content: Content | str) -> None:
    """Show this in a widget as wide as its place; the screen is laid out anew only where it takes
    another number of lines.

    Laying out costs more than all else while an answer comes in: every line is drawn again.
    """
    wrapped = Content(content) if isinstance(content, str) else content
    changed = _lines(widget, wrapped) != widget.content_size.height
    widget.update(wrapped, layout=widget.display and changed)


@contextmanager
def drawn_together(widget: Widget) -> Iterator[None]:
    """Draw what changes in this block all at once, at its end: Textual waits for the next event."""
    screen = widget.screen  # the program may be left meanwhile
    with widget.app.batch_update():
        yield
    screen.check_idle()


def is_drawn(widget: Widget) -> bool:
    """Whether it has a place on the screen. What is drawn without one makes Textual look for the
    places of all widgets."""
    return all(each.display for each in widget.ancestors_with_self if isinstance(each, Widget))


def _lines(widget: Static, content: Content) -> int:
    """How many lines it takes in the width that there is; -1 while there is none."""
    width = widget.content_size.width
    return content.get_height(widget.styles.get_rules(), width) if width else -1


class LaidOutOnce(Widget):
    """A second base, for what changes its size while an answer comes in.

    Textual lays the screen out once more after every change of a size. A scrollbar that comes
    needs that, and asks for it itself.
    """

    virtual_size = Reactive(Size(0, 0))


class GrowingText(Static, LaidOutOnce):
    """Text that grows at its end, with room for a few lines more. Empty it is not there."""

    def show(self, text: str) -> None:
        """Show this."""
        if not self.show_in_place(text):
            self.update(text)
            self.display = bool(text)

    def show_in_place(self, text: str) -> bool:
        """Show this if the screen can stay laid out as it is; whether it could."""
        lines = _lines(self, Content(text)) if text and self.display else -1
        fits = lines > 0 and _full_steps(lines) == self.content_size.height
        if fits:
            self.update(text, layout=False)
        return fits

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """In full steps."""
        return _full_steps(super().get_content_height(container, viewport, width))


def _full_steps(lines: int) -> int:
    return -(-lines // STEP) * STEP
