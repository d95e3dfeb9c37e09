"""What did not work, where there is no room for a card."""

from textual.content import Content

from specchat.errors import SpecchatError
from specchat.tui.wording import visible


def error_line(error: SpecchatError) -> Content:
    """What was tried, what happened, what to do next."""
    return Content.assemble(
        (f"✗ {error.title}. ", "bold $text-error"),
        visible(f"{error.message} → {error.next_step}"),
    )
