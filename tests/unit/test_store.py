"""Conversations are kept as trees in which nothing is overwritten."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat.chat.database import StoreProblem
from specchat.chat.known import Known
from specchat.chat.records import AnswerRecord, Setup
from specchat.chat.store import UNDO_DAYS, Store
from specchat.chat.tokens import ORIGINS, TokenLog, Tokens
from specchat.speculation.metrics import Figures
from specchat.speculation.settings import SamplingSettings
from support.answers import RECORD


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[Store]:
    store = Store.open(path, clock)
    yield store
    store.close()


def exchange(
    store: Store, conversation: int, question: str, answer: str, parent: int | None
) -> int:
    asked = store.ask(conversation, question, parent)
    answered = store.begin_answer(conversation, asked)
    store.append(answered, answer)
    store.finish(answered, "complete", Known(RECORD))
    return answered


def texts(store: Store, conversation: int) -> list[str]:
    return [message.text for message in store.load(conversation).path]


def titles(store: Store) -> list[str]:
    return [summary.title for summary in store.conversations()]


def test_what_was_said_is_there_when_the_store_is_opened_again(store: Store, path: Path) -> None:
    conversation = store.new(Setup(system="Be brief."))
    exchange(store, conversation, "Hello?", "Hi.", None)
    store.close()
    again = Store.open(path)
    opened = again.load(conversation)
    again.close()

    assert [(each.role, each.text, each.state) for each in opened.path] == [
        ("user", "Hello?", "complete"),
        ("assistant", "Hi.", "complete"),
    ]
    assert opened.setup.system == "Be brief."
    assert opened.path[1].answer == RECORD


def test_a_question_is_saved_before_its_answer_begins(store: Store, path: Path) -> None:
    conversation = store.new()
    store.ask(conversation, "Are you there?", None)
    other = Store.open(path)
    found = texts(other, conversation)
    other.close()

    assert found == ["Are you there?"]


def test_an_answer_under_way_is_seen_by_another_program_as_being_written(
    store: Store, path: Path
) -> None:
    conversation = store.new()
    answer = store.begin_answer(conversation, store.ask(conversation, "Well?", None))
    store.append(answer, "So far")
    store.flush()
    other = Store.open(path)
    seen = other.load(conversation).path[1]
    other.close()

    assert (seen.text, seen.state) == ("So far", "writing")


def test_closing_keeps_an_answer_under_way_as_interrupted(store: Store, path: Path) -> None:
    conversation = store.new()
    answer = store.begin_answer(conversation, store.ask(conversation, "Well?", None))
    store.append(answer, "So ")
    store.append(answer, "far")
    store.close()
    again = Store.open(path)
    kept = again.load(conversation).path[1]
    again.close()

    assert (kept.text, kept.state) == ("So far", "interrupted")


def test_what_is_known_of_an_answer_is_saved_with_its_text(store: Store, path: Path) -> None:
    tokens = Tokens((5, 6), bytes(2), (3, 3))
    conversation = store.new()
    answer = store.begin_answer(conversation, store.ask(conversation, "Well?", None))
    store.follow(answer, lambda: Known(RECORD, tokens))
    store.append(answer, "So far")
    store.flush()
    other = Store.open(path)
    seen = other.message(answer)
    assert (seen.text, seen.state, seen.answer) == ("So far", "writing", RECORD)
    assert other.tokens(answer) == tokens
    other.close()


def test_the_whole_text_at_the_end_counts(store: Store) -> None:
    conversation = store.new()
    answer = store.begin_answer(conversation, store.ask(conversation, "Well?", None))
    store.append(answer, "So f")
    store.finish(answer, "stopped", text="So far")

    assert store.load(conversation).path[1].text == "So far"


def test_another_answer_is_a_sibling_and_the_first_one_stays(store: Store) -> None:
    conversation = store.new()
    asked = store.ask(conversation, "A colour?", None)
    first = store.begin_answer(conversation, asked)
    store.finish(first, "complete", text="Red.")
    second = store.begin_answer(conversation, asked)
    store.finish(second, "complete", text="Blue.")

    assert texts(store, conversation) == ["A colour?", "Blue."]
    assert store.load(conversation).siblings(second) == [first, second]
    store.show(first)
    assert texts(store, conversation) == ["A colour?", "Red."]


def test_an_edited_question_begins_a_line_of_its_own(store: Store) -> None:
    conversation = store.new()
    first = exchange(store, conversation, "One?", "1.", None)
    exchange(store, conversation, "Two?", "2.", first)
    question = store.load(conversation).path[0].id
    edited = store.edit(question, "Eleven?")

    assert texts(store, conversation) == ["Eleven?"]
    opened = store.load(conversation)
    assert opened.siblings(edited) == [question, edited]
    end = opened.newest_below(question)
    assert end is not None
    store.show(end)
    assert texts(store, conversation) == ["One?", "1.", "Two?", "2."]


def test_an_edited_answer_can_be_gone_on_from(store: Store) -> None:
    conversation = store.new()
    answer = exchange(store, conversation, "A colour?", "Red.", None)
    edited = store.edit(answer, "Light ")
    store.reopen(edited)
    store.append(edited, "blue.")
    store.finish(edited, "complete")

    assert texts(store, conversation) == ["A colour?", "Light blue."]
    store.show(answer)
    assert texts(store, conversation) == ["A colour?", "Red."]


def test_a_stopped_answer_can_be_continued(store: Store) -> None:
    conversation = store.new()
    answer = store.begin_answer(conversation, store.ask(conversation, "Count.", None))
    store.append(answer, "One, ")
    store.finish(answer, "stopped")
    store.reopen(answer)
    store.append(answer, "two.")
    store.finish(answer, "complete")

    assert texts(store, conversation) == ["Count.", "One, two."]


def test_a_withdrawn_question_was_never_asked(store: Store) -> None:
    conversation = store.new()
    answer = exchange(store, conversation, "One?", "1.", None)
    question = store.ask(conversation, "Never mind?", answer)
    store.begin_answer(conversation, question)
    store.withdraw(question)

    assert texts(store, conversation) == ["One?", "1."]
    assert store.search("never") == []


def test_a_conversation_of_any_length_can_be_removed(path: Path, clock: Clock) -> None:
    store = Store.open(path, clock)
    conversations = [store.new(title=title) for title in ("withdrawn", "deleted")]
    for conversation in conversations:
        parent, first = None, 0
        for number in range(1500):
            parent = store.ask(conversation, f"number {number}", parent)
            first = first or parent
        if conversation == conversations[0]:
            store.withdraw(first)
    store.delete(conversations[1])
    store.close()
    clock.now += (UNDO_DAYS + 1) * 86_400
    store = Store.open(path, clock)
    store.undelete(conversations[1])

    assert store.load(conversations[0]).messages == {}
    assert titles(store) == ["withdrawn"]
    assert store.search("number") == []
    store.close()


def test_branching_off_copies_the_line_up_to_there(store: Store) -> None:
    conversation = store.new(Setup(system="Be brief."))
    first = exchange(store, conversation, "One?", "1.", None)
    exchange(store, conversation, "Two?", "2.", first)
    branch = store.branch_off(first)
    exchange(store, branch, "Three?", "3.", store.load(branch).current)

    assert texts(store, branch) == ["One?", "1.", "Three?", "3."]
    assert texts(store, conversation) == ["One?", "1.", "Two?", "2."]
    assert store.load(branch).setup.system == "Be brief."


def test_the_list_has_pinned_ones_first_and_then_the_last_used(store: Store, clock: Clock) -> None:
    keys = {}
    for title in ("old", "pinned", "new"):
        keys[title] = store.new(title=title)
        clock.now += 60
    store.pin(keys["pinned"])

    assert titles(store) == ["pinned", "new", "old"]
    store.ask(keys["old"], "Still here?", None)
    assert titles(store) == ["pinned", "old", "new"]


def test_an_archived_conversation_leaves_the_list_but_not_the_search(store: Store) -> None:
    conversation = store.new()
    store.ask(conversation, "Remember the lighthouse.", None)
    store.archive(conversation)

    assert store.conversations() == []
    assert [each.id for each in store.conversations(archived=True)] == [conversation]
    assert [each.conversation for each in store.search("lighthouse")][:1] == [conversation]


def test_a_deleted_conversation_can_be_brought_back(store: Store) -> None:
    conversation = store.new()
    store.ask(conversation, "Remember the lighthouse.", None)
    store.delete(conversation)

    assert store.conversations() == []
    assert store.search("lighthouse") == []
    with pytest.raises(StoreProblem, match="It was deleted"):
        store.load(conversation)
    store.undelete(conversation)
    assert texts(store, conversation) == ["Remember the lighthouse."]


def test_the_conversation_that_was_deleted_last_is_the_first_to_come_back(
    store: Store, clock: Clock
) -> None:
    keys = [store.new(title=title) for title in ("first", "second", "third")]
    for key in keys:
        store.ask(key, "Is this worth keeping?", None)
    never_used = store.new()
    for key in (keys[2], keys[0], never_used):
        clock.now += 60
        store.delete(key)
    back = []
    while summary := store.last_deleted():
        back.append(summary.title)
        store.undelete(summary.id)

    assert back == ["first", "third"]
    assert len(store.conversations()) == 3


def test_what_was_deleted_is_removed_after_some_days(path: Path, clock: Clock) -> None:
    store = Store.open(path, clock)
    gone, kept = store.new(title="gone"), store.new(title="kept")
    exchange(store, gone, "Who?", "Nobody.", None)
    store.delete(gone)
    clock.now += (UNDO_DAYS - 1) * 86_400
    store.delete(kept)
    store.close()
    clock.now += 2 * 86_400
    store = Store.open(path, clock)
    store.undelete(gone)
    store.undelete(kept)

    assert titles(store) == ["kept"]
    assert store.search("nobody") == []
    store.close()


def test_a_conversation_is_named_after_its_first_question(store: Store) -> None:
    conversation = store.new()
    exchange(store, conversation, "What is a lighthouse? I saw one.", "A tower.", None)

    assert titles(store) == ["What is a lighthouse?"]


def test_a_question_that_is_only_code_is_named_after_the_answer(store: Store) -> None:
    conversation = store.new()
    exchange(store, conversation, "```\nx =\n```", "<think>hm</think>\nA value is missing.", None)

    assert titles(store) == ["A value is missing."]


def test_a_given_title_stays_and_an_empty_one_is_made_again(store: Store) -> None:
    conversation = store.new()
    exchange(store, conversation, "What is a lighthouse?", "A tower.", None)
    store.rename(conversation, "Sea")
    assert titles(store) == ["Sea"]

    store.rename(conversation, " ")
    assert titles(store) == ["What is a lighthouse?"]


def test_tokens_come_back_with_their_origins(store: Store) -> None:
    log = TokenLog()
    log.add([10, 11, 12], [4, 0, 2], drafted=3, accepted=2, source="ngram")
    log.add([13, 14], [1, 1], drafted=1, accepted=1, source="model")
    log.add([15], [3], drafted=0, accepted=0, source=None)
    conversation = store.new()
    answer = store.begin_answer(conversation, None)
    store.finish(answer, "complete", Known(RECORD, log.tokens()))
    kept = store.tokens(answer)

    assert kept is not None
    assert kept.ids == (10, 11, 12, 13, 14, 15)
    assert kept.sizes == (4, 0, 2, 1, 1, 3)
    assert [ORIGINS[origin] for origin in kept.origins] == [
        "ngram", "ngram", "corrected", "draft", "plain", "plain",
    ]  # fmt: skip
    assert store.tokens(conversation) is None


def test_tokens_of_a_continued_answer_are_put_together() -> None:
    first, second = Tokens((1, 2), b"\0\1", (3, 4)), Tokens((5,), b"\2", (6,))

    assert first.plus(second) == Tokens((1, 2, 5), b"\0\1\2", (3, 4, 6))
    assert first.plus(Tokens((5,), b"\2")).sizes == ()


def test_tokens_may_be_cut_to_the_text_that_was_kept() -> None:
    log = TokenLog()
    log.add([1, 2, 3], [4, 5, 6], drafted=0, accepted=0, source=None)

    assert log.tokens(2) == Tokens((1, 2), b"\3\3", (4, 5))
    assert log.tokens().within(6).sizes == (4, 2, 0)
    assert log.tokens().within(20).sizes == (4, 5, 6)


def test_sizes_that_are_not_known_of_all_tokens_are_left_out() -> None:
    log = TokenLog()
    log.add([1, 2], [4, 5], drafted=0, accepted=0, source=None)
    log.add([3], drafted=0, accepted=0, source=None)

    assert log.tokens().sizes == ()


def test_a_token_that_may_never_come_is_kept_as_such(store: Store) -> None:
    record = AnswerRecord(
        target="a.gguf", drafter="none", rule="token", draft_length=0, seed=2**63 - 1,
        sampling=SamplingSettings(logit_bias={7: float("-inf")}), figures=Figures(),
    )  # fmt: skip
    conversation = store.new()
    answer = store.begin_answer(conversation, None)
    store.finish(answer, "complete", Known(record))

    assert store.load(conversation).path[0].answer == record


@pytest.mark.parametrize("text", ["", "a\0b", "\ud83d", "日本語 🙂", "x" * 100_000, "'; DROP"])
def test_any_text_can_be_said(store: Store, text: str) -> None:
    conversation = store.new()
    store.ask(conversation, text, None)

    assert texts(store, conversation) == [
        text.replace("\0", "\ufffd").encode(errors="replace").decode()
    ]


def test_a_store_in_memory_does_the_same() -> None:
    store = Store.in_memory()
    conversation = store.new()
    exchange(store, conversation, "What is a lighthouse?", "A tower.", None)

    assert texts(store, conversation) == ["What is a lighthouse?", "A tower."]
    assert store.search("tower")[0].conversation == conversation
    assert store.trouble is None
    store.close()
