"""What of a long conversation still goes into the prompt: whole turns leave it, oldest first."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from specchat.chat.template import ChatTemplate
from specchat.engine.prompt import prompt_tokens
from specchat.engine.protocol import Message
from specchat.llama.vocabulary import Vocabulary

LEAST_ROOM = 256
"""Tokens that are kept free for an answer, in a context that has twice as many."""
PARTS_OF_CONTEXT = 8
"""One of so many is kept free for it in a large context."""
PARTS_OF_ROOM = 4
"""At least one of so many leaves at a time. What stays is decoded anew then, and reused after that
until the next part has to leave."""
AROUND_A_MESSAGE = 5
"""About what a template writes around each."""
REMEMBERED = 16384
"""Messages whose length is remembered."""


class Fitted(NamedTuple):
    """A prompt, and how many messages of the conversation it lacks."""

    tokens: list[int]
    left_out: int


class Beginning(NamedTuple):
    """A place where the prompt may begin."""

    message: int
    """The first that is not left out."""
    before: int
    """Tokens of the messages before it, about."""


def room_for_prompt(n_ctx: int, max_tokens: int | None) -> int:
    """The longest prompt, in tokens, that leaves room for an answer."""
    answer = min(max(LEAST_ROOM, n_ctx // PARTS_OF_CONTEXT), n_ctx // 2)
    return n_ctx - (answer if max_tokens is None else min(answer, max_tokens))


class PromptFitter:
    """Writes prompts that fit.

    System messages and the newest question stay, whatever happens. Where a prompt begins depends
    on the conversation and the room alone, and moves only when it no longer fits: the next turn
    finds its prefix in the cache.
    """

    def __init__(self, vocabulary: Vocabulary, template: ChatTemplate) -> None:
        self._vocabulary = vocabulary
        self._template = template
        self._length = lru_cache(REMEMBERED)(self._measure)

    def fit(self, conversation: Sequence[Message], begun: str, room: int) -> Fitted:
        """The longest prompt with no more tokens than `room`; longer where nothing more can leave.

        Args:
            begun: what the answer begins with.

        Raises:
            TemplateProblem: the template refuses the conversation.
        """
        lengths = [self._length(message.content) for message in conversation]
        beginnings = _beginnings(conversation, lengths, room)
        length = sum(lengths)
        # A template may write more than is thought here, or leave out what a model has thought.
        at = next((i for i, at in enumerate(beginnings) if length - at.before <= room), -1)
        at %= len(beginnings)
        fitted = self._from(conversation, begun, beginnings[at])
        if len(fitted.tokens) > room:
            for beginning in beginnings[at + 1 :]:
                fitted = self._from(conversation, begun, beginning)
                if len(fitted.tokens) <= room:
                    break
            return fitted
        for beginning in reversed(beginnings[:at]):
            longer = self._from(conversation, begun, beginning)
            if len(longer.tokens) > room:
                break
            fitted = longer
        return fitted

    def _from(self, conversation: Sequence[Message], begun: str, beginning: Beginning) -> Fitted:
        kept = [
            message
            for index, message in enumerate(conversation)
            if index >= beginning.message or message.role == "system"
        ]
        tokens = prompt_tokens(self._vocabulary, self._template, kept, begun)
        return Fitted(tokens, len(conversation) - len(kept))

    def _measure(self, content: str) -> int:
        return len(self._vocabulary.tokenize(content, parse_special=False)) + AROUND_A_MESSAGE


def _beginnings(
    conversation: Sequence[Message], lengths: Sequence[int], room: int
) -> list[Beginning]:
    """Where the prompt may begin: with all of it, a part of the room later, ..., with the newest
    question. More messages at the end change none of them but the last."""
    turns = _turns(conversation)
    spoken = [
        0 if message.role == "system" else length
        for message, length in zip(conversation, lengths, strict=True)
    ]
    before = [0, *accumulate(spoken)]
    step = max(1, room // PARTS_OF_ROOM)
    found = [Beginning(0, 0)]
    for turn in turns[1:]:
        if before[turn] >= found[-1].before + step or turn == turns[-1]:
            found.append(Beginning(turn, before[turn]))
    return found


def _turns(conversation: Sequence[Message]) -> list[int]:
    """Where each turn begins: a question, with all that follows it; what comes before the first
    question belongs to it."""
    questions = [index for index, message in enumerate(conversation) if message.role == "user"]
    return [0, *questions[1:]]
