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
    def without_draft(cls, error: SpecchatError, what: str = "draft model") -> "Notice":
        """The chat goes on without what this error is about."""
        return cls(
            kind=error.kind,
            title=f"Going on without the {what}",
            message=f"{error.message} Guesses come from the conversation itself (n-gram).",
            help=error.next_step,
        )
