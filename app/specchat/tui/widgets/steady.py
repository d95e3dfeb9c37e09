"""Text that changes often, without laying the whole screen out each time."""

from textual.content import Content
from textual.widgets import Static


def put(widget: Static, content: Content | str) -> None:
    """Show this in a widget as wide as its place; the screen is laid out anew only where it takes
    another number of lines.

    Laying out costs more than all else while an answer comes in: every line is drawn again.
    """
    size = widget.content_size
    wrapped = Content(content) if isinstance(content, str) else content
    height = wrapped.get_height(widget.styles.get_rules(), size.width) if size.width else -1
    widget.update(wrapped, layout=widget.display and height != size.height)
