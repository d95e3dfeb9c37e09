"""What a person should know about how an answer came about, in words."""

from collections.abc import Iterator

from specchat.engine.protocol import Finished

CONTEXT_FULL = "the context is full"


def remarks(finished: Finished) -> Iterator[str]:
    """Clauses without a full stop, each worth a line."""
    if finished.left_out:
        yield left_out(finished.left_out)
    if finished.context_full:
        yield CONTEXT_FULL


def left_out(messages: int) -> str:
    """That the beginning of the conversation was not read."""
    which = "first message" if messages == 1 else f"first {messages:,} messages"
    verbs = ("fits", "was") if messages == 1 else ("fit", "were")
    return f"the {which} no longer {verbs[0]} in the context and {verbs[1]} left out"
