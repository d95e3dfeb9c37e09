"""The pair that was used last, in the data folder."""

from specchat.choosing.choice import Choice


def remember(choice: Choice) -> None:
    """Keep the pair for the next start; called once it has been loaded in the chat.

    Where the data folder cannot be written, nothing is remembered.
    """
    raise NotImplementedError
