"""What is known of an answer beside its text."""

from typing import NamedTuple

from specchat.chat.records import AnswerRecord
from specchat.chat.rounds import Rounds
from specchat.chat.tokens import Tokens


class Known(NamedTuple):
    """How an answer came about; None where that was not followed, or is not kept."""

    record: AnswerRecord
    tokens: Tokens | None = None
    """Of the whole answer, as far as its text goes."""
    rounds: Rounds | None = None
