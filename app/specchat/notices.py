"""What a person should know that stops nothing."""

import msgspec

from specchat.errors import SpecchatError


class Notice(msgspec.Struct, frozen=True):
    """Something the person should know that stops nothing."""

    kind: str
    title: str
    message: str
    help: str

    @classmethod
    def without_draft(cls, error: SpecchatError) -> "Notice":
        """The chat goes on without the draft, model or head, that this error is about."""
        return cls(
            kind=error.kind,
            title="Going on without the draft",
            message=f"{error.message} Guesses come from the conversation itself (n-gram).",
            help=error.next_step,
        )
