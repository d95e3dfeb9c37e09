"""Tags that are control tokens come up in the text; those of a prompt's end are known."""

import re
from collections.abc import Iterable
from typing import cast

import pytest

from specchat.chat.reasoning import TAGS, Tags
from specchat.engine.thinking import opened_by, show_marks
from specchat.llama.vocabulary import Vocabulary

FAR = 1_000
"""Letters have ids above the control tokens."""


class ControlTokens:
    """A vocabulary of some control tokens and every letter; it writes down what is shown."""

    def __init__(self, *control: str, ends: Iterable[str] = ()) -> None:
        self.control = control
        self.end_tokens = frozenset(control.index(text) for text in ends)
        self.shown: set[str] = set()

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        assert parse_special
        pattern = "|".join(map(re.escape, self.control)) or "(?!)"
        parts = re.split(f"({pattern})", text)
        ids: list[int] = []
        for index, part in enumerate(parts):
            ids += [self.control.index(part)] if index % 2 else [FAR + ord(each) for each in part]
        return ids

    def is_control(self, token: int) -> bool:
        return token < FAR

    def show(self, tokens: Iterable[int]) -> None:
        self.shown.update(self.control[token] for token in tokens)

    def written(self, token: int) -> str:
        return self.write([token])

    def write(self, tokens: Iterable[int]) -> str:
        return "".join(
            chr(token - FAR) if token >= FAR else self.control[token] for token in tokens
        )


def shown(vocabulary: ControlTokens) -> set[str]:
    show_marks(cast("Vocabulary", vocabulary))
    return vocabulary.shown


def test_only_marks_of_thinking_are_shown() -> None:
    vocabulary = ControlTokens("<|im_start|>", "<|im_end|>", "<think>", "</think>")

    assert shown(vocabulary) == {"<think>", "</think>"}


def test_marks_made_of_several_tokens_are_shown_with_all_of_them() -> None:
    vocabulary = ControlTokens(
        "<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>", "<|call|>",
        ends=["<|return|>", "<|call|>"],
    )  # fmt: skip

    assert shown(vocabulary) == {"<|start|>", "<|end|>", "<|message|>", "<|channel|>"}


def test_what_ends_an_answer_is_never_shown() -> None:
    phi = ControlTokens("<|system|>", "<|end|>", ends=["<|end|>"])
    odd = ControlTokens("<think>", "</think>", ends=["</think>"])

    assert shown(phi) == set()
    assert shown(odd) == {"<think>"}


def test_a_mark_of_another_family_stays_hidden() -> None:
    assert shown(ControlTokens("<|start|>", "<|end|>", "<|message|>")) == set()


@pytest.mark.parametrize("tags", TAGS, ids=lambda tags: tags.name)
@pytest.mark.parametrize("after", ["", "\n", "\n\n"])
def test_the_end_of_the_prompt_is_read_from_its_tokens(tags: Tags, after: str) -> None:
    for vocabulary in (ControlTokens(), ControlTokens("<s>", tags.open)):
        prompt = f"Hello there, assistant\n{tags.open}{after}"
        ids = vocabulary.tokenize(prompt, parse_special=True)

        assert opened_by(cast("Vocabulary", vocabulary), ids) == tags
        closed = [*ids, *vocabulary.tokenize(f"\n{tags.close}", parse_special=True)]
        assert opened_by(cast("Vocabulary", vocabulary), closed) is None
