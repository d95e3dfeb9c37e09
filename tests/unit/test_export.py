"""Conversations leave as Markdown and as JSON, and come back from our JSON whole."""

import contextlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from specchat.chat.export import figures_line, to_json, to_markdown
from specchat.chat.exported import export_schema
from specchat.chat.importing import NotAConversation, parse_conversation, read_conversation
from specchat.chat.records import AnswerRecord, Message, Setup, Summary
from specchat.chat.store import Store
from specchat.chat.tokens import ORIGINS, Tokens
from specchat.chat.tree import Conversation
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from support.answers import RECORD

SCHEMA = Path(__file__).parents[2] / "docs" / "conversation.schema.json"
UPDATE = (
    'python -c "from specchat.chat.exported import export_schema; '
    'print(export_schema().decode())" > docs/conversation.schema.json'
)
VALIDATOR = jsonschema.Draft202012Validator(json.loads(export_schema()))
SUMMARY = Summary(
    id=1,
    title="Lighthouses",
    pinned=False,
    archived=False,
    created_at=1_795_000_000_123,
    updated_at=1_795_000_060_456,
)

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
times = st.integers(0, 4_000_000_000_000)
samplings = st.builds(
    SamplingSettings,
    temperature=st.floats(0, 2),
    seed=st.none() | st.integers(0, 2**63 - 1),
    logit_bias=st.dictionaries(
        st.integers(0, 300_000), st.floats(-100, 100) | st.just(float("-inf")), max_size=2
    ),
)
answers = st.none() | st.builds(
    AnswerRecord,
    target=words,
    draft=st.none() | words,
    drafter=st.sampled_from(["chain", "model", "ngram", "none"]),
    rule=st.sampled_from(["greedy", "token", "block", "coupled"]),
    draft_length=st.just("auto") | st.integers(0, 64),
    sampling=samplings,
    seed=st.integers(0, 2**63 - 1),
    figures=st.just(RECORD.figures),
    parts=st.just(RECORD.parts) | st.just({}),
    opened=st.none() | st.just("think"),
)
setups = st.builds(
    Setup,
    system=st.none() | words,
    preset=st.none() | words,
    sampling=st.none() | samplings,
    speculation=st.none() | st.just(SpeculationSettings(drafter="ngram", draft_length=3)),
)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Conversation, dict[int, Tokens]]:
    count = draw(st.integers(0, 6))
    messages, tokens = [], {}
    for place in range(count):
        messages.append(
            Message(
                id=place,
                parent=draw(st.none() | st.integers(0, place - 1)) if place else None,
                role=draw(st.sampled_from(["user", "assistant"])),
                text=draw(words),
                state=draw(st.sampled_from(["complete", "length", "stopped", "interrupted"])),
                created_at=draw(times),
                answer=draw(answers),
            )
        )
        if messages[-1].answer is not None and draw(st.booleans()):
            ids = draw(st.lists(st.integers(0, 300_000), max_size=4))
            origins = draw(st.binary(min_size=len(ids), max_size=len(ids)))
            sizes = tuple(ids) if draw(st.booleans()) else ()
            tokens[place] = Tokens(
                tuple(ids), bytes(each % len(ORIGINS) for each in origins), sizes
            )
    summary = Summary(
        id=0,
        title=draw(words),
        pinned=draw(st.booleans()),
        archived=draw(st.booleans()),
        created_at=draw(times),
        updated_at=draw(times),
    )
    current = draw(st.integers(0, count - 1)) if count else None
    return Conversation(summary, draw(setups), messages, current), tokens


def facts(conversation: Conversation, tokens: dict[int, Tokens]) -> list[Any]:
    """All of a conversation but its ids."""
    places = {message: place for place, message in enumerate(conversation.messages)}
    return [
        replace(conversation.summary, id=0),
        conversation.setup,
        None if conversation.current is None else places[conversation.current],
        [
            replace(
                message,
                id=places[message.id],
                parent=None if message.parent is None else places[message.parent],
            )
            for message in conversation.messages.values()
        ],
        {places[message]: kept for message, kept in tokens.items()},
    ]


@given(conversations())
def test_what_is_exported_comes_back_whole(source: tuple[Conversation, dict[int, Tokens]]) -> None:
    data = to_json(*source)

    assert facts(*parse_conversation(data)) == facts(*source)
    VALIDATOR.validate(json.loads(data))


@given(conversations())
def test_what_is_imported_is_saved_whole(source: tuple[Conversation, dict[int, Tokens]]) -> None:
    store = Store.in_memory()
    saved = store.load(store.add_copy(*parse_conversation(to_json(*source))))
    tokens = {key: kept for key in saved.messages if (kept := store.tokens(key)) is not None}
    store.close()

    assert facts(saved, tokens) == facts(*source)


@given(conversations())
def test_any_conversation_can_be_written_as_markdown(
    source: tuple[Conversation, dict[int, Tokens]],
) -> None:
    assert to_markdown(source[0]).startswith("# ")


def test_the_published_schema_is_the_one_of_the_code() -> None:
    assert SCHEMA.read_bytes().strip() == export_schema().strip(), f"update it with: {UPDATE}"


def chat(
    *messages: Message, current: int | None = None, setup: Setup | None = None
) -> Conversation:
    return Conversation(SUMMARY, setup or Setup(), messages, current)


def user(key: int, parent: int | None, text: str) -> Message:
    return Message(
        id=key,
        parent=parent,
        role="user",
        text=text,
        state="complete",
        created_at=SUMMARY.created_at,
    )


def model(key: int, parent: int | None, text: str, **more: Any) -> Message:
    fields = {"state": "complete", "answer": RECORD, "created_at": SUMMARY.created_at, **more}
    return Message(id=key, parent=parent, role="assistant", text=text, **fields)


def test_markdown_has_the_line_on_screen_and_the_figures() -> None:
    conversation = chat(
        user(1, None, "A colour?"),
        model(2, 1, "Red."),
        model(3, 1, "<think>\nHm.\n\nBlue?\n</think>\n\nBlue."),
        user(4, 3, "Why?"),
        current=4,
        setup=Setup(system="Be brief."),
    )

    assert to_markdown(conversation) == (
        "# Lighthouses\n\n*2026-11-18, specchat*\n\n"
        "## System\n\nBe brief.\n\n"
        "## You\n\nA colour?\n\n"
        "## Target-7B-Q4_K_M (2 of 2)\n\n"
        "> **Thinking**\n>\n> Hm.\n>\n> Blue?\n\n"
        "Blue.\n\n"
        f"*{figures_line(RECORD)}*\n\n"
        "## You\n\nWhy?\n"
    )


def test_the_line_of_figures_has_what_is_known() -> None:
    assert figures_line(RECORD) == (
        "10.0 tok/s, 1.25x plain, 75% accepted, 2.5 tokens a round, 0.2 s to first token, "
        "draft Draft-0.5B-Q8_0.gguf, rule block, temperature 0.7, seed 42"
    )


def test_a_code_block_that_was_cut_off_does_not_swallow_what_follows() -> None:
    conversation = chat(
        user(1, None, "Code?\n```\nx"), model(2, 1, "````py\nx = 1", state="stopped", answer=None)
    )

    assert to_markdown(conversation).endswith(
        "## You\n\nCode?\n```\nx\n```\n\n## Model\n\n````py\nx = 1\n````\n\n*stopped*\n"
    )


def test_a_whole_tree_goes_into_json() -> None:
    conversation = chat(
        user(1, None, "A?"), model(2, 1, "a"), model(3, 1, "b"), user(4, None, "B?"), current=2
    )
    tokens = {2: Tokens((5, 6), b"\0\2", (1, 2))}
    data = json.loads(to_json(conversation, tokens))

    assert [(each["text"], each["parent"]) for each in data["messages"]] == [
        ("A?", None), ("a", 0), ("b", 0), ("B?", None),
    ]  # fmt: skip
    assert data["current"] == 1
    assert data["created_at"] == "2026-11-18T11:06:40.123000Z"
    assert data["messages"][1]["tokens"] == {
        "ids": [5, 6], "origins": ["ngram", "corrected"], "sizes": [1, 2],
    }  # fmt: skip
    assert data["messages"][1]["answer"]["figures"]["accepted"] == 12


def changed(**changes: Any) -> bytes:
    data = json.loads(
        to_json(chat(user(1, None, "A?"), model(2, 1, "a")), {2: Tokens((5,), b"\0")})
    )
    for path, value in changes.items():
        *inside, last = path.split("__")
        place = data
        for name in inside:
            place = place[int(name) if name.isdigit() else name]
        place[int(last) if last.isdigit() else last] = value
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no JSON, or was cut short"),
        (b"\xff\xfe", "no JSON, or was cut short"),
        (b"[" * 100_000, "no JSON, or was cut short"),
        (changed()[:-40], "no JSON, or was cut short"),
        (b"[]", "no conversation that specchat has written"),
        (b'{"messages": []}', "no conversation that specchat has written"),
        (changed(format="other chat"), "no conversation that specchat has written"),
        (changed(version=2), "written by a newer specchat"),
        (changed(messages__0__parent=1), "Message 0 comes before its parent, 1"),
        (changed(messages__1__parent=1), "Message 1 comes before its parent, 1"),
        (changed(messages__1__parent=-1), r"damaged: .*>= 0.*messages"),
        (changed(current=2), "no message 2 to be the current one"),
        (changed(messages__0__role="system"), r"damaged: .*'system'.*messages"),
        (changed(messages__0__text=None), r"damaged: .*messages"),
        (changed(messages__0__mood="good"), r"damaged: .*unknown field `mood`"),
        (changed(messages__1__tokens__origins=[]), "As many origins and sizes as tokens"),
        (changed(messages__1__answer__sampling__temperature=-1), "damaged: Tried to set the temp"),
        (changed(messages__1__answer__seed=2**63), "damaged: 9223372036854775808 is too large"),
        (changed(messages__1__tokens__ids=[10**40]), "damaged: .* too large"),
        (changed(created_at="yesterday"), r"damaged: .*RFC3339"),
        (changed(created_at="2026-11-18T11:06:40"), r"damaged: .*timezone"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else value,
)
def test_what_is_no_conversation_is_refused_in_a_sentence(
    data: bytes, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(data)
    with pytest.raises(NotAConversation, match=says) as refusal:
        read_conversation(path)

    assert refusal.value.tried == f"Tried to import {path}."
    assert "exported as JSON" in refusal.value.next_step


def test_a_file_that_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(NotAConversation, match="It cannot be read"):
            read_conversation(path)


@given(st.binary(max_size=60), st.data())
def test_a_damaged_file_never_brings_anything_else_than_a_refusal(
    noise: bytes, data: st.DataObject
) -> None:
    sound = changed()
    at = data.draw(st.integers(0, len(sound)))
    damaged = sound[:at] + noise + sound[at + data.draw(st.integers(0, 60)) :]
    with contextlib.suppress(ValueError):
        facts(*parse_conversation(damaged))
