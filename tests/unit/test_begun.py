"""The tokens with which an answer goes on: what the model said, spelled as it spells."""

from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from specchat.chat.template import ChatTemplate
from specchat.engine.begun import begun_tokens
from specchat.engine.prompt import prompt_tokens
from specchat.engine.protocol import Message
from specchat.llama.vocabulary import Vocabulary
from unit.letters import BOS, CHATML, CONTROL, END_THINK, THINK, Letters, Spaced, written

texts = st.lists(st.one_of(st.sampled_from([*CONTROL, " ", "\n"]), st.text(max_size=5))).map(
    "".join
)


def begun(text: str, vocabulary: Letters | None = None) -> list[int]:
    return begun_tokens(cast("Vocabulary", vocabulary or Letters()), text)


@given(texts)
def test_every_letter_is_there_and_no_other(text: str) -> None:
    assert written(begun(text)) == text


@given(texts)
@example("Hello")
@example(" Hello")
@example("  Hello")
@example(" ")
@example("\nHello")
@example("<think> a</think>b")
def test_a_space_that_the_tokenizer_puts_in_front_is_left_out(text: str) -> None:
    assert written(begun(text, Spaced())) == text


@given(texts)
def test_only_marks_around_thinking_become_control_tokens(text: str) -> None:
    control = [token for token in begun(text) if token < len(CONTROL)]

    assert set(control) <= {THINK, END_THINK}
    assert control.count(THINK) == text.count("<think>")
    assert control.count(END_THINK) == text.count("</think>")


@pytest.mark.parametrize("mark", ["<|im_end|>", "<s>"])
def test_another_control_token_in_it_is_text(mark: str) -> None:
    assert begun(f"a{mark}") == Letters().tokenize(f"a{mark}", parse_special=False)


def test_a_mark_that_is_no_token_of_this_model_is_text() -> None:
    assert begun("[THINK]a") == Letters().spell("[THINK]a")


def test_it_comes_after_the_prompt_and_is_no_part_of_a_turn() -> None:
    vocabulary = cast("Vocabulary", Letters(adds_bos=True))
    template = ChatTemplate(CHATML, bos="<s>", eos="")
    question = [Message("user", "Hi")]
    asked = prompt_tokens(vocabulary, template, question)

    assert asked[0] == BOS
    assert prompt_tokens(vocabulary, template, question, "<think>Oh") == [
        *asked,
        THINK,
        *Letters().spell("Oh"),
    ]


def test_an_answer_that_begins_with_nothing_adds_nothing() -> None:
    assert begun("") == []
