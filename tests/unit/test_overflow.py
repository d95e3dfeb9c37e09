"""What leaves the prompt when the context fills: whole turns, oldest first, a part at a time."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.chat.template import ChatTemplate
from specchat.engine.overflow import PARTS_OF_ROOM, PromptFitter, room_for_prompt
from specchat.engine.prompt import prompt_tokens
from specchat.engine.protocol import Message
from specchat.llama.vocabulary import Vocabulary
from unit.letters import CHATML, Letters, written

WITHOUT_THINKING = CHATML.replace("message.content", "message.content.split('|')[-1]")
WORDY = CHATML.replace("<|im_end|>", "<|im_end|>" + "-" * 40)
SYSTEM = Message("system", "Be brief.")


class Listening(Letters):
    """Counts the letters that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = 0

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        self.heard += len(text)
        return super().tokenize(text, parse_special=parse_special)


@cache
def template_of(source: str) -> ChatTemplate:
    """Compiled once for all examples."""
    return ChatTemplate(source, bos="", eos="")


def make_fitter(source: str = CHATML, vocabulary: Letters | None = None) -> PromptFitter:
    return PromptFitter(cast("Vocabulary", vocabulary or Letters()), template_of(source))


def prompt_of(conversation: Sequence[Message], source: str = CHATML) -> list[int]:
    return prompt_tokens(cast("Vocabulary", Letters()), template_of(source), conversation)


contents = st.builds(
    lambda thought, said: "x" * thought + "|" + "y" * said, st.integers(0, 60), st.integers(0, 60)
)
answers = st.lists(st.builds(Message, st.just("assistant"), contents), max_size=2)
turns = st.builds(lambda text, after: [Message("user", text), *after], contents, answers)
rooms = st.integers(1, 600)


@st.composite
def conversations(draw: st.DrawFn) -> list[list[Message]]:
    """Turns; the first begins with a system message, or a greeting, or neither."""
    first: list[Message] = draw(
        st.sampled_from([[], [SYSTEM], [Message("assistant", "Hello!")], [SYSTEM, SYSTEM]])
    )
    [begins, *others] = draw(st.lists(turns, min_size=1, max_size=12))
    return [[*first, *begins], *others]


def flat(conversation: Sequence[Sequence[Message]]) -> list[Message]:
    return [message for turn in conversation for message in turn]


def systems(conversation: Sequence[Message]) -> list[Message]:
    return [message for message in conversation if message.role == "system"]


def suffixes(conversation: Sequence[Sequence[Message]]) -> list[list[Message]]:
    """Every conversation that lacks none, one, ..., all but one of the turns."""
    return [
        [*systems(flat(conversation[:start])), *flat(conversation[start:])]
        for start in range(len(conversation))
    ]


@pytest.mark.parametrize("source", [CHATML, WITHOUT_THINKING, WORDY], ids=["", "less", "more"])
@given(conversations(), rooms)
def test_what_stays_is_the_system_message_and_the_last_whole_turns(
    source: str, conversation: list[list[Message]], room: int
) -> None:
    everything = flat(conversation)
    fitted = make_fitter(source).fit(everything, "", room)
    possible = suffixes(conversation)

    [kept] = [turns for turns in possible if len(turns) == len(everything) - fitted.left_out]
    assert fitted.tokens == prompt_of(kept, source)
    assert len(fitted.tokens) <= room or kept == possible[-1]


@given(conversations(), rooms)
def test_nothing_leaves_while_all_of_it_fits(conversation: list[list[Message]], room: int) -> None:
    everything = flat(conversation)
    fitted = make_fitter().fit(everything, "", room)

    assert (fitted.left_out == 0) == (len(prompt_of(everything)) <= room or len(conversation) == 1)


@pytest.mark.parametrize("source", [CHATML, WITHOUT_THINKING, WORDY], ids=["", "less", "more"])
@given(conversations(), turns, rooms)
def test_the_prompt_begins_where_it_did_as_long_as_that_fits(
    source: str, conversation: list[list[Message]], turn: list[Message], room: int
) -> None:
    fitter, everything = make_fitter(source), flat([*conversation, turn])
    before = fitter.fit(flat(conversation), "", room)
    after = fitter.fit(everything, "", room)

    earlier, later = suffixes(conversation), suffixes([*conversation, turn])
    [start] = [
        start for start, kept in enumerate(later) if len(everything) - len(kept) == before.left_out
    ]
    alone = earlier[start] == earlier[-1] and start > 0
    if len(prompt_of(later[start], source)) > room:
        assert after.left_out > before.left_out
    elif not alone:  # only its question had stayed: such a turn leaves as a whole
        assert after.left_out == before.left_out
        assert after.tokens == prompt_of(later[start], source)


def test_the_beginning_moves_seldom_and_by_a_part_of_the_room() -> None:
    fitter, room = make_fitter(), 1000
    turn = [Message("user", "x" * 20), Message("assistant", "y" * 20)]
    conversation: list[Message] = []
    left_out, lengths = [], []
    for _ in range(100):
        fitted = fitter.fit([*conversation, turn[0]], "", room)
        left_out.append(fitted.left_out)
        lengths.append(len(fitted.tokens))
        conversation += turn
    moves = [after - before for before, after in pairwise(left_out)]

    assert max(lengths) <= room
    assert min(lengths[lengths.index(max(lengths)) :]) > room * (1 - 1.5 / PARTS_OF_ROOM)
    assert len(set(left_out)) < 100 * len(prompt_of(turn)) / (room / PARTS_OF_ROOM)
    assert {move for move in moves if move} == {max(moves)}


def test_what_the_answer_begins_with_takes_room_too() -> None:
    conversation = [Message("user", "a" * 50), Message("assistant", "b"), Message("user", "c")]
    room = len(prompt_of(conversation)) + 9
    fitter = make_fitter()

    assert fitter.fit(conversation, "d" * 9, room).left_out == 0
    fitted = fitter.fit(conversation, "d" * 10, room)
    assert fitted.left_out == 2
    assert written(fitted.tokens).endswith("c<|im_end|>\n<|im_start|>assistant\n" + "d" * 10)


def test_the_newest_question_stays_however_long_it_is() -> None:
    conversation = [SYSTEM, *flat([[Message("user", "a")]] * 3), Message("user", "b" * 500)]
    fitted = make_fitter().fit(conversation, "", 100)

    assert fitted.left_out == 3
    assert fitted.tokens == prompt_of([SYSTEM, conversation[-1]])


def test_a_long_conversation_costs_no_more_than_what_is_sent_of_it() -> None:
    vocabulary, room = Listening(), 2000
    fitter = make_fitter(vocabulary=vocabulary)
    turn = [Message("user", "x" * 40), Message("assistant", "y" * 40)]
    conversation = [*turn * 500, turn[0]]
    fitter.fit(conversation, "", room)
    vocabulary.heard = 0
    assert fitter.fit(conversation, "", room).left_out > 900

    assert vocabulary.heard < 10 * room < len(prompt_of(conversation))


@pytest.mark.parametrize(
    ("n_ctx", "max_tokens", "room"),
    [
        (8192, None, 7168),
        (8192, 100, 8092),
        (8192, 5000, 7168),
        (1024, None, 768),
        (256, None, 128),
        (256, 5, 251),
    ],
)
def test_an_eighth_of_the_context_is_kept_for_the_answer_or_what_it_may_take(
    n_ctx: int, max_tokens: int | None, room: int
) -> None:
    assert room_for_prompt(n_ctx, max_tokens) == room
