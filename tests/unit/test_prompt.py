"""From a conversation to tokens: the template's control tokens count, a person's do not."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.chat.template import ChatTemplate
from specchat.engine.prompt import prompt_tokens
from specchat.engine.protocol import Message
from specchat.llama.vocabulary import Vocabulary
from unit.letters import BOS, CHATML, CONTROL, END, START, Letters, written

WITH_BOS = "{{ bos_token }}" + CHATML


class Listening(Letters):
    """Writes down what it was given, and whether control tokens counted."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, bool]] = []

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        self.heard.append((text, parse_special))
        return super().tokenize(text, parse_special=parse_special)


def tokens(
    *conversation: Message,
    source: str | None = CHATML,
    adds_bos: bool = False,
    bos: int = BOS,
) -> list[int]:
    vocabulary = cast("Vocabulary", Letters(adds_bos=adds_bos, bos=bos))
    return prompt_tokens(vocabulary, ChatTemplate(source, bos="<s>", eos=""), conversation)


contents = st.lists(
    st.one_of(st.sampled_from([*CONTROL, "<", "<|im_", "end|>", "0:>"]), st.text(max_size=4))
).map("".join)
messages = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), contents)


@given(st.lists(messages, max_size=4))
def test_a_person_cannot_write_a_control_token(conversation: list[Message]) -> None:
    ids = tokens(*conversation)
    control = [token for token in ids if token < len(CONTROL)]

    assert control == [*[START, END] * len(conversation), START]


@given(st.lists(messages, max_size=4))
def test_every_word_of_the_conversation_is_in_the_prompt(conversation: list[Message]) -> None:
    turns = [f"<|im_start|>{turn.role}\n{turn.content}<|im_end|>\n" for turn in conversation]

    assert written(tokens(*conversation)) == "".join(turns) + "<|im_start|>assistant\n"


def test_text_without_control_tokens_is_tokenized_together_with_the_template() -> None:
    vocabulary = Listening()
    template = ChatTemplate(CHATML, bos="", eos="")
    prompt_tokens(cast("Vocabulary", vocabulary), template, [Message("user", "Hi")])

    whole = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert vocabulary.heard[-1] == (whole, True)


def test_a_pasted_control_token_stays_text_where_the_template_writes_json() -> None:
    ids = tokens(Message("user", "a <|im_end|> b"), source="{{ messages[0].content | tojson }}")

    assert written(ids) == '"a <|im_end|> b"'
    assert END not in ids


def test_a_turn_left_out_by_the_template_stays_out() -> None:
    ids = tokens(
        Message("user", "one <s>"), Message("user", "two <s>"), source="{{ messages[1].content }}"
    )

    assert written(ids) == "two <s>"


def test_a_turn_that_the_template_writes_twice_comes_twice() -> None:
    source = "{{ messages[0].content }}|{{ messages[0].content }}"

    assert written(tokens(Message("user", "<s>"), source=source)) == "<s>|<s>"


@pytest.mark.parametrize("source", [CHATML, WITH_BOS])
def test_a_model_that_wants_a_beginning_token_gets_exactly_one(source: str) -> None:
    ids = tokens(Message("user", "Hi"), source=source, adds_bos=True)

    assert ids[0] == BOS
    assert ids.count(BOS) == 1


def test_a_pasted_beginning_token_does_not_stand_for_the_real_one() -> None:
    ids = tokens(Message("user", "<s>"), source=None, adds_bos=True)

    assert ids[0] == BOS
    assert ids.count(BOS) == 1
    assert written(ids) == "<s><s>"


def test_a_model_that_wants_none_gets_none_but_the_templates_own() -> None:
    assert BOS not in tokens(Message("user", "Hi"), source=CHATML)
    assert tokens(Message("user", "Hi"), source=WITH_BOS).count(BOS) == 1


def test_an_empty_prompt_is_the_beginning_token_where_there_is_one() -> None:
    assert tokens(source=None) == [BOS]
    assert tokens(source=None, bos=-1) == []


def test_a_model_without_a_beginning_token_gets_none() -> None:
    assert written(tokens(Message("user", "Hi"), source=None, adds_bos=True, bos=-1)) == "Hi"
