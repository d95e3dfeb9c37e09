"""Thinking, answer and code are told apart, however the text is cut into chunks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.chat.parts import PartFigures, PartMeter
from specchat.chat.reasoning import (
    ALL_MARKS,
    TAGS,
    Kind,
    Splitter,
    Tags,
    lead,
    split,
    spoken,
    tags_named,
    tags_opened_by,
)
from specchat.speculation.metrics import Figures

THINK = TAGS[0]
PIECES = [*sorted(ALL_MARKS), "<thi", "</", "<|", "\n", " ", "```", "``", "~~~", "py", "a", "思"]


def parts(text: str, opened: Tags | None = None) -> list[tuple[str, str]]:
    return [(span.kind, text[span.start : span.end]) for span in split(text, opened)]


texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
openings = st.sampled_from([None, *TAGS])


@given(texts, openings, st.data())
def test_the_parts_are_the_same_for_every_chunking(
    text: str, opened: Tags | None, data: st.DataObject
) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8).map(sorted))
    splitter = Splitter(opened)
    for start, end in pairwise([0, *cuts, len(text)]):
        splitter.add(text[start:end])

    assert splitter.finish() == split(text, opened)


@pytest.mark.parametrize("tags", TAGS, ids=lambda tags: tags.name)
def test_a_tag_may_be_cut_at_every_position(tags: Tags) -> None:
    text = f"{tags.open}hm{tags.close}{''.join(tags.aside)}Yes"
    for cut in range(len(text) + 1):
        splitter = Splitter()
        splitter.add(text[:cut])
        splitter.add(text[cut:])
        spans = splitter.finish()

        assert [(span.kind, text[span.start : span.end]) for span in spans] == [
            ("thinking", "hm"),
            ("answer", "Yes"),
        ]


@given(texts, openings)
def test_what_was_shown_never_changes_while_more_comes(text: str, opened: Tags | None) -> None:
    splitter = Splitter(opened)
    before = splitter.spans
    for character in text:
        splitter.add(character)
        now = splitter.spans
        if before:
            last = now[len(before) - 1]
            assert now[: len(before) - 1] == before[:-1]
            assert (last.kind, last.start) == (before[-1].kind, before[-1].start)
            assert last.end >= before[-1].end
        before = now


@given(texts, openings)
def test_the_parts_are_in_order_and_do_not_overlap(text: str, opened: Tags | None) -> None:
    spans = split(text, opened)

    assert all(span.start < span.end <= len(text) for span in spans)
    assert all(first.end <= second.start for first, second in pairwise(spans))


def test_no_mark_is_the_beginning_of_another() -> None:
    assert [(a, b) for a in ALL_MARKS for b in ALL_MARKS if a != b and b.startswith(a)] == []


def test_thinking_ends_where_it_is_closed_first() -> None:
    assert parts("<think>\nA <think> in it.</think>\n\nSo.</think>") == [
        ("thinking", "A <think> in it."),
        ("answer", "So.</think>"),
    ]


def test_thinking_that_is_never_closed_stays_thinking() -> None:
    assert parts("<think>Let me see") == [("thinking", "Let me see")]
    assert parts("<think>Let me see</thi") == [("thinking", "Let me see</thi")]


def test_an_empty_thought_is_no_part() -> None:
    assert parts("<think>\n\n</think>\n\nHello") == [("answer", "Hello")]


def test_a_tag_that_is_written_about_opens_nothing() -> None:
    text = "Models write <think> first.\n<think>\nSee?"

    assert parts(text) == [("answer", text)]


def test_a_tag_in_a_code_block_is_code() -> None:
    text = "```\n<|channel|>analysis<|message|>\n```\n"

    assert parts(text) == [("code", text)]


def test_the_channels_of_gpt_oss_are_told_apart() -> None:
    text = (
        "<|channel|>analysis<|message|>Short question.<|end|><|start|>assistant"
        "<|channel|>commentary<|message|>Looking.<|end|><|start|>assistant"
        "<|channel|>analysis<|message|>Fine.<|end|><|start|>assistant"
        "<|channel|>final<|message|>It is 4.<|return|>"
    )

    assert parts(text) == [
        ("thinking", "Short question."),
        ("answer", "Looking."),
        ("thinking", "Fine."),
        ("answer", "It is 4."),
    ]


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("<|im_start|>assistant\n<think>\n", "think"),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", None),
        ("[INST]Hi[/INST][THINK]", "mistral"),
        ("<|turn>model\n<|channel>thought\n", "gemma"),
        ("<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|>", "cohere"),
        ("<|im_start|>assistant\n", None),
        ("", None),
    ],
)
def test_the_end_of_the_prompt_tells_whether_the_answer_begins_inside(
    prompt: str, name: str | None
) -> None:
    assert tags_opened_by(prompt) == tags_named(name)


def test_an_answer_may_begin_inside() -> None:
    assert parts("hm</think>\nYes", THINK) == [("thinking", "hm"), ("answer", "Yes")]


def test_what_the_prompt_opened_may_be_opened_once_more() -> None:
    assert parts("<think>\nhm</think>Yes", THINK) == [("thinking", "hm"), ("answer", "Yes")]


def test_code_blocks_keep_their_fences() -> None:
    assert parts("See:\n```py\nx = 1\n```\nDone.") == [
        ("answer", "See:\n"),
        ("code", "```py\nx = 1\n```\n"),
        ("answer", "Done."),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("````\n```\nx\n```\n````\nend", "````\n```\nx\n```\n````\n"),
        ("~~~\n```\n~~~\nend", "~~~\n```\n~~~\n"),
        ("- item\n      ```c\n      x\n      ```\nend", "      ```c\n      x\n      ```\n"),
        ("```\nx\n``` y\n```\nend", "```\nx\n``` y\n```\n"),
        ("```\nx", "```\nx"),
        ("a\n```", "```"),
    ],
)
def test_a_block_ends_at_a_fence_of_its_own_kind(text: str, code: str) -> None:
    assert [part for kind, part in parts(text) if kind == "code"] == [code]


def test_three_backticks_around_words_are_no_block() -> None:
    text = "``` a ``` and ``b``\n"

    assert parts(text) == [("answer", text)]


def test_a_code_block_in_a_thought_is_thinking() -> None:
    assert parts("<think>\n```\nx\n```\n</think>Yes") == [
        ("thinking", "```\nx\n```\n"),
        ("answer", "Yes"),
    ]


def test_an_open_block_knows_the_fence_that_closes_it() -> None:
    splitter = Splitter()
    splitter.add("````py\nx = 1\n")

    assert splitter.open_fence == "````"
    splitter.add("````\n")
    assert splitter.open_fence == ""


def test_what_is_spoken_is_the_answer_without_its_thoughts() -> None:
    assert spoken("<think>hm</think>\n\nSo:\n```\nx\n```\n") == "So:\n```\nx\n```\n"


@pytest.mark.parametrize(
    ("text", "opened", "before"),
    [
        ("Hm.\n</think>\n\nYes.", THINK, "Hm.\n</think>\n\n"),
        ("<think>Hm.</think>\nYes, <b>no</b>.", None, "<think>Hm.</think>\n"),
        ("Hm, cut o", THINK, "Hm, cut o\n</think>\n\n"),
        ("</think>Yes.", THINK, "</think>"),
        ("", THINK, "\n</think>\n\n"),
        ("\nYes.", None, ""),
        ("", None, ""),
    ],
    ids=["opened", "of its own", "never closed", "none", "not begun", "without tags", "empty"],
)
def test_other_words_take_the_place_of_what_was_said_after_the_thinking(
    text: str, opened: Tags | None, before: str
) -> None:
    assert lead(text, opened) == before
    assert spoken(f"{before}Maybe.", opened) == "Maybe."


def test_each_kind_of_text_has_figures_of_its_own() -> None:
    meter = PartMeter(THINK)
    total = Figures()
    rounds = [
        ("Let me see.", 4, 4),
        ("</think>\n\n", 4, 1),
        ("So:\n", 4, 2),
        ("```\nx = 1\n", 4, 3),
        ("```\n", 4, 4),
    ]
    kinds = []
    for index, (text, drafted, accepted) in enumerate(rounds, start=1):
        total = Figures(
            rounds=index,
            emitted=total.emitted + accepted + 1,
            drafted=total.drafted + drafted,
            tested=total.tested + accepted + (accepted < drafted),
            accepted=total.accepted + accepted,
            decode_s=index * 0.5,
        )
        kinds.append(meter.add(text, total))

    assert kinds == ["thinking", "thinking", "answer", "answer", "code"]
    thinking = meter.parts["thinking"]
    assert (thinking.rounds, thinking.emitted, thinking.drafted) == (2, 7, 8)
    assert thinking.acceptance == 5 / 6
    assert thinking.tokens_per_second == 7.0
    assert sum(part.accepted for part in meter.parts.values()) == total.accepted
    assert sum(part.emitted for part in meter.parts.values()) == total.emitted


def test_marks_before_the_first_word_count_for_the_part_they_open() -> None:
    meter = PartMeter()

    assert meter.add("<think>\n", Figures(rounds=1, emitted=2)) == "thinking"
    assert meter.add("Hm.</think>\n\nSo", Figures(rounds=2, emitted=6)) == "thinking"
    assert meter.add(" it is.", Figures(rounds=3, emitted=9)) == "answer"
    assert {kind: part.emitted for kind, part in meter.parts.items()} == {
        "thinking": 6, "answer": 3,
    }  # fmt: skip


def test_a_first_round_of_words_and_code_counts_for_the_words() -> None:
    assert PartMeter().add("So:\n```py\n", Figures(rounds=1)) == "answer"
    assert PartMeter().add("```py\n", Figures(rounds=1)) == "code"


def test_an_answer_that_goes_on_keeps_the_figures_of_its_beginning() -> None:
    earlier: dict[Kind, PartFigures] = {
        "thinking": PartFigures(rounds=4, emitted=9, tested=8, accepted=5)
    }
    meter = PartMeter(THINK, "Hm", earlier)
    meter.add(", yes.</think>Well", Figures(rounds=1, emitted=4, tested=3, accepted=3))
    meter.add(", so.", Figures(rounds=2, emitted=6, tested=4, accepted=3))

    assert meter.parts["thinking"] == PartFigures(rounds=5, emitted=13, tested=11, accepted=8)
    assert meter.parts["answer"] == PartFigures(rounds=1, emitted=2, tested=1)
