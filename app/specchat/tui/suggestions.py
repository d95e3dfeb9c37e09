"""What may be put in place of what is being typed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Suggestion:
    """One line of the list above the prompt."""

    label: str
    """As it is listed."""
    detail: str
    """What it is or does, in a few words."""
    text: str
    """What goes in place of what was typed."""
    start: int
    """Where that begins, on the line of the cursor."""
    paths: tuple[str, ...] = ()
    """Files that are attached with it."""
