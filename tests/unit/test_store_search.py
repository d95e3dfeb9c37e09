"""Search finds any part of any word in any script, the newest first."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.chat.search import find_words, make_snippet
from specchat.chat.store import Store

SAID = {
    "english": "The lighthouse keeper is decoding a message.",
    "code": "Call get_user_name(id) and look at 50% of path\\to\\file.",
    "german": "Über die Straße geht ein Bär.",
    "chinese": "请帮我写一个快速排序算法的实现。",
    "japanese": "東京タワーは高いです。",
    "korean": "데이터베이스의 인덱스",
    "emoji": "Nice 🙂🙂🙂 work",
}


@pytest.fixture
def store() -> Iterator[Store]:
    store = Store.in_memory()
    for text in SAID.values():
        store.ask(store.new(title="talk"), text, None)
    yield store
    store.close()


def found(store: Store, query: str) -> set[str]:
    texts = [
        store.load(each.conversation).messages[each.message].text
        for each in store.search(query)
        if each.message is not None
    ]
    return {name for name, text in SAID.items() if text in texts}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("lighthouse", {"english"}),
        ("lighth", {"english"}),
        ("coding", {"english"}),
        ("LIGHTHOUSE Keeper", {"english"}),
        ("keeper lighthouse", {"english"}),
        ("keeper nowhere", set()),
        ("user_name", {"code"}),
        ("userXname", set()),
        ("50%", {"code"}),
        ("0%", {"code"}),
        ("%", {"code"}),
        ("_", {"code"}),
        ("path\\to", {"code"}),
        ("\\", {"code"}),
        ("über", {"german"}),
        ("ÜB", {"german"}),
        ("bär", {"german"}),
        ("排序", {"chinese"}),
        ("快速排序", {"chinese"}),
        ("序", {"chinese"}),
        ("実", set()),
        ("タワー", {"japanese"}),
        ("東京", {"japanese"}),
        ("인덱", {"korean"}),
        ("베이스의", {"korean"}),
        ("🙂", {"emoji"}),
        ("🙂🙂🙂", {"emoji"}),
        ('"', set()),
        ('keeper" OR "', set()),
        ("ke", {"english"}),
        ("is decoding", {"english"}),
        ("", set()),
        ("  ", set()),
    ],
)
def test_what_is_looked_for_is_found(store: Store, query: str, expected: set[str]) -> None:
    assert found(store, query) == expected


@given(st.sampled_from(sorted(SAID.values())), st.data())
def test_every_piece_of_a_message_finds_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    piece = text[start : data.draw(st.integers(start + 1, len(text)))]
    if not piece.strip():
        return
    store = Store.in_memory()
    message = store.ask(store.new(title="."), text, None)

    assert message in [each.message for each in store.search(piece)]
    store.close()


def test_each_letter_more_narrows_the_search(store: Store) -> None:
    for end in range(1, len("lighthouse") + 1):
        assert "english" in found(store, "lighthouse"[:end])


def test_the_newest_is_found_first() -> None:
    store = Store.in_memory()
    messages = [store.ask(store.new(title="talk"), f"lighthouse {i}", None) for i in range(5)]

    assert [each.message for each in store.search("lighthouse")] == messages[::-1]
    assert [each.message for each in store.search("li", limit=2)] == messages[:2:-1]
    store.close()


def test_titles_are_found_before_messages() -> None:
    store = Store.in_memory()
    titled = store.new(title="My Lighthouse")
    message = store.ask(store.new(title="Other"), "lighthouse", None)
    results = store.search("lighthouse")

    assert [each.message for each in results] == [None, message]
    assert results[0].conversation == titled
    store.close()


def test_an_answer_is_found_when_it_has_ended() -> None:
    store = Store.in_memory()
    conversation = store.new(title="talk")
    answer = store.begin_answer(conversation, store.ask(conversation, "Well?", None))
    store.append(answer, "lighthouse")
    store.flush()
    assert store.search("lighthouse") == store.search("li") == []

    store.finish(answer, "complete")
    assert [each.message for each in store.search("lighthouse")] == [answer]


def test_a_changed_text_is_found_by_its_new_words_only() -> None:
    store = Store.in_memory()
    conversation = store.new(title="talk")
    answer = store.begin_answer(conversation, None, "lighthouse")
    store.finish(answer, "stopped")
    store.reopen(answer)
    store.finish(answer, "complete", text="windmill")

    assert store.search("lighthouse") == []
    assert [each.message for each in store.search("windmill")] == [answer]
    store.close()


def test_a_snippet_shows_the_words_and_what_is_around_them() -> None:
    text = "word " * 100 + "the lighthouse\nkeeper" + " word" * 100
    places = find_words(text, ["KEEPER", "lighthouse"])
    assert places is not None
    snippet, marks = make_snippet(text, places)

    assert [snippet[start:end] for start, end in marks] == ["lighthouse", "keeper"]
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert "\n" not in snippet


@given(st.text(), st.text(min_size=1, max_size=3))
def test_marks_lie_within_their_snippet(text: str, word: str) -> None:
    places = find_words(text, [word])
    if places is not None:
        snippet, marks = make_snippet(text, places)
        assert all(0 <= start < end <= len(snippet) for start, end in marks)


def test_a_letter_that_folds_to_two_is_marked_whole() -> None:
    assert find_words("eine Straße", ["strasse"]) == [(5, 11)]
