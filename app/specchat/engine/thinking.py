"""What marks thinking, where it is made of control tokens: in the text and at a prompt's end."""

from collections.abc import Sequence

from specchat.chat.reasoning import LONGEST_MARK, TAGS, Tags, tags_opened_by
from specchat.llama.vocabulary import Vocabulary


def show_marks(vocabulary: Vocabulary) -> None:
    """Have the control tokens that mark thinking written out in answers.

    Others stay hidden, and so do tokens that end an answer: `<|end|>` ends a thought of gpt-oss,
    and an answer of Phi.
    """
    for tags in TAGS:
        if _begins_with_control_token(vocabulary, tags.open):
            for mark in (tags.open, tags.close, *tags.aside):
                shown = _control_tokens(vocabulary, mark)
                vocabulary.show(token for token in shown if token not in vocabulary.end_tokens)


def opened_by(vocabulary: Vocabulary, prompt: Sequence[int]) -> Tags | None:
    """The tags that a prompt leaves open; None for most models."""
    # A token may be a single letter, or blanks after the mark.
    return tags_opened_by(vocabulary.write(prompt[-2 * LONGEST_MARK :]))


def _begins_with_control_token(vocabulary: Vocabulary, mark: str) -> bool:
    first = vocabulary.tokenize(mark, parse_special=True)[:1]
    return bool(first) and first == _control_tokens(vocabulary, mark)[:1]


def _control_tokens(vocabulary: Vocabulary, mark: str) -> list[int]:
    """The control tokens that a mark is written with."""
    tokens = vocabulary.tokenize(mark, parse_special=True)
    # A token for what is unknown is hidden, too, but says nothing of the mark.
    return [
        token
        for token in tokens
        if vocabulary.is_control(token) and vocabulary.written(token) in mark
    ]
