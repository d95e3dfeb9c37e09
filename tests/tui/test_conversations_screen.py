"""The list of conversations: found, opened, renamed, put away, brought back, taken along."""

import json
import sys
from pathlib import Path

import pytest
from textual.content import Content

from specchat.chat.database import StoreProblem
from specchat.chat.store import Store
from specchat.cli import cli
from specchat.tui.conversation_rows import FOUND, FoundMessage
from specchat.tui.screens.conversations import (
    NOTHING_ARCHIVED,
    NOTHING_FOUND,
    NOTHING_YET,
    ConversationsScreen,
)
from specchat.tui.screens.help import HelpScreen
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.completions import Completions
from specchat.tui.widgets.conversation_list import Opened
from specchat.tui.widgets.messages import Answer
from specchat.tui.widgets.path_field import PathField
from specchat.tui.widgets.prompt import Prompt
from tui.chats import DAY, NOW, Chats, Visit, listed, shown
from tui.screen_driver import (
    WIDE,
    ask_and_wait,
    chat,
    make_app,
    questions,
    until_drawn,
    until_ready,
    wait_until,
)
from tui.test_help import open_help

pytestmark = pytest.mark.usefixtures("utc")


@pytest.fixture
def chats() -> Chats:
    return Chats()


async def test_conversations_stand_under_their_days_with_their_ages(chats: Chats) -> None:
    keys = chats.add_a_few()
    chats.store.pin(keys[3])
    visit = Visit(chats, current=keys[1])
    async with visit.app.run_test(size=WIDE) as pilot:
        entries = await visit.begin(pilot)
        assert [" ".join(line.split()) for line in listed(entries)] == [
            "Pinned",
            "Sort a list in Python Sat",
            "Today",
            "How do lighthouses work? now",
            "● Name a colour. 3 h",
            "Yesterday",
            "灯台はいつ建てられましたか yesterday",
            "Earlier",
            "Why is the sky dark at night? 2 May",
        ]
        assert "● Name a colour." in visit.at


async def test_an_empty_list_says_what_will_be_there(chats: Chats) -> None:
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        entries = await visit.begin(pilot)
        assert listed(entries) == [NOTHING_YET]
        await pilot.press("enter", "f8", "f2", "f6")
        await wait_until(pilot, lambda: listed(entries) == [NOTHING_ARCHIVED])
        assert not visit.left


async def test_enter_opens_the_entry_to_which_the_arrows_went(chats: Chats) -> None:
    keys = chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        await pilot.press("down", "down", "up", "enter")
        await wait_until(pilot, lambda: visit.left == [Opened(keys[1])])


async def test_the_conversation_that_is_open_is_gone_back_to(chats: Chats) -> None:
    keys = chats.add_a_few()
    visit = Visit(chats, current=keys[2])
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        await pilot.press("enter")
        await wait_until(pilot, lambda: visit.left == [None])


async def test_a_search_finds_messages_marks_the_words_and_opens_the_message(chats: Chats) -> None:
    keys = chats.add_a_few()
    answer = chats.store.load(keys[1]).path[-1].id
    visit = Visit(chats, current=keys[1])
    async with visit.app.run_test(size=WIDE) as pilot:
        entries = await visit.begin(pilot)
        await visit.find(pilot, "SEA storm")
        assert [line.split() for line in listed(entries)] == [
            ["●", "Name", "a", "colour.", "model", "·", "3", "h"],
            ["Blue,", "as", "the", "sea", "before", "a", "storm."],
        ]
        row = entries.options[0].prompt
        assert isinstance(row, FoundMessage)
        assert marked(row.lines(60)[1]) == ["sea", "storm"]
        await pilot.press("enter")
        await wait_until(pilot, lambda: visit.left == [Opened(keys[1], answer)])


def marked(line: Content) -> list[str]:
    """The words that are marked, by more than a colour."""
    assert "underline" in FOUND
    return [line.plain[span.start : span.end] for span in line.spans if span.style == FOUND]


async def test_a_title_that_has_the_words_is_found_too(chats: Chats) -> None:
    keys = chats.add_a_few()
    chats.store.rename(keys[0], "Beacons")
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        entries = await visit.begin(pilot)
        await visit.find(pilot, "beac")
        assert [line.split() for line in listed(entries)] == [["Beacons", "now"]]
        await pilot.press("enter")
        await wait_until(pilot, lambda: visit.left == [Opened(keys[0])])


async def test_enter_right_after_the_words_opens_what_they_find(chats: Chats) -> None:
    keys = chats.add_a_few()
    answer = chats.store.load(keys[4]).path[-1].id
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        await pilot.press(*"universe", "enter")
        await wait_until(pilot, lambda: visit.left == [Opened(keys[4], answer)])


async def test_a_search_that_finds_nothing_says_so_and_escape_brings_the_list_back(
    chats: Chats,
) -> None:
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        entries = await visit.begin(pilot)
        await visit.find(pilot, "submarine")
        assert listed(entries) == [NOTHING_FOUND]
        await pilot.press("escape")
        await wait_until(pilot, lambda: "Today" in listed(entries))
        assert not visit.left
        await pilot.press("escape")
        await wait_until(pilot, lambda: visit.left == [None])


async def test_letters_go_to_the_search_from_the_list_too(chats: Chats) -> None:
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        entries = await visit.begin(pilot)
        entries.focus()
        await visit.find(pilot, "lens")
        assert visit.search.value == "lens"


async def test_a_disk_that_cannot_be_searched_is_told(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(store: Store, query: str, limit: int) -> None:
        raise StoreProblem("Tried to search.", "The disk is gone.", "Plug it in.")

    monkeypatch.setattr(Store, "search", fail)
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        await pilot.press(*"lens")
        await wait_until(pilot, lambda: "The disk is gone. → Plug it in." in visit.said)


async def test_chats_that_are_not_saved_are_told_at_once() -> None:
    chats = Chats()
    problem = StoreProblem("Tried to save.", "The disk is full.", "Free some space.")
    chats.store = Store.in_memory(problem)
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        assert visit.said.startswith("✗ Chats are not saved. ")


async def test_a_conversation_gets_another_title_and_its_own_back(chats: Chats) -> None:
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        await pilot.press("f2")
        await pilot.press(*"Lamps", "enter")
        await wait_until(pilot, lambda: "Lamps" in visit.at)
        await pilot.press("f2", "backspace", "enter")
        await wait_until(pilot, lambda: "How do lighthouses work?" in visit.at)


async def test_a_question_is_left_without_an_answer(chats: Chats) -> None:
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        await pilot.press("f2")
        await pilot.press(*"Lamps", "escape", "down", "enter")
        await wait_until(pilot, lambda: bool(visit.left))
    assert "Lamps" not in [each.title for each in chats.store.conversations()]


async def test_pinning_takes_a_conversation_to_the_top_and_back(chats: Chats) -> None:
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        entries = await visit.begin(pilot)
        await pilot.press("down", "f4")
        await wait_until(pilot, lambda: listed(entries)[0] == "Pinned")
        assert "Name a colour." in listed(entries)[1]
        assert "Name a colour." in visit.at
        assert visit.said == "pinned: Name a colour."
        await pilot.press("f4")
        await wait_until(pilot, lambda: listed(entries)[0] == "Today")


async def test_what_is_archived_leaves_the_list_but_not_the_search(chats: Chats) -> None:
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        entries = await visit.begin(pilot)
        await pilot.press("f5")
        await wait_until(pilot, lambda: "How do lighthouses work?" not in str(listed(entries)))
        assert "Name a colour." in visit.at
        await visit.find(pilot, "lens")
        assert "archived · model · now" in listed(entries)[0]
        await pilot.press("escape", "f6")
        await wait_until(pilot, lambda: entries.border_title == "archived chats")
        assert "How do lighthouses work?" in visit.at
        await pilot.press("f5", "f6")
        await wait_until(pilot, lambda: "How do lighthouses work?" in str(listed(entries)))


async def test_what_was_deleted_comes_back(chats: Chats) -> None:
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        entries = await visit.begin(pilot)
        before = listed(entries)
        await pilot.press("down", "f8")
        await wait_until(pilot, lambda: "Name a colour." not in str(listed(entries)))
        assert visit.said == "deleted: Name a colour. (Ctrl+Z brings it back)"
        assert "灯台" in visit.at
        await pilot.press("ctrl+z")
        await wait_until(pilot, lambda: listed(entries) == before)
        assert "Name a colour." in visit.at


async def test_what_was_deleted_on_another_day_comes_back_too(chats: Chats) -> None:
    keys = chats.add_a_few()
    chats.clock.now = NOW - 2 * DAY
    chats.store.delete(keys[0])
    chats.clock.now = NOW
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        await pilot.press("ctrl+z")
        await wait_until(pilot, lambda: "How do lighthouses work?" in visit.at)
        await pilot.press("ctrl+z")
        await pilot.pause()
        assert "How do lighthouses work?" in visit.at


@pytest.mark.parametrize(
    ("keys", "left"), [(["f8"], Opened(None)), (["f8", "ctrl+z"], None)], ids=["gone", "undone"]
)
async def test_when_the_open_conversation_is_deleted_a_new_one_is_asked_for(
    chats: Chats, keys: list[str], left: Opened | None
) -> None:
    chats.add_a_few()
    visit = Visit(chats, current=chats.store.conversations()[0].id)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        await pilot.press(*keys, "f3")
        await wait_until(pilot, lambda: visit.left == [left])


async def test_a_conversation_is_exported_to_be_read_or_to_come_back(
    chats: Chats, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        entries = await visit.begin(pilot)
        await pilot.press("f7")
        await pilot.pause()
        await pilot.press("enter")
        markdown = tmp_path / "How-do-lighthouses-work.md"
        await wait_until(pilot, lambda: visit.said == f"exported to {markdown}")
        assert "A lens turns before a lamp." in markdown.read_text()
        await pilot.press("f7")
        await pilot.pause()
        await pilot.press("right", "enter")
        file = tmp_path / "How-do-lighthouses-work.json"
        await wait_until(pilot, lambda: visit.said == f"exported to {file}")
        assert json.loads(file.read_text())["messages"][1]["text"] == "A lens turns before a lamp."
        await pilot.press("f8", "f9")
        await pilot.press(*f"'{file.name}'", "enter")
        await wait_until(pilot, lambda: visit.said == "imported: How do lighthouses work?")
        assert "How do lighthouses work?" in visit.at
        assert len(entries.options) > 5


async def test_a_folder_that_takes_no_file_and_a_file_that_is_no_conversation_are_told(
    chats: Chats, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        gone.rmdir()
        await pilot.press("f7")
        await pilot.pause()
        await pilot.press("enter")
        await wait_until(pilot, lambda: visit.said.startswith("✗ Nothing was exported. "))
        monkeypatch.chdir(tmp_path)
        Path("other.json").write_text("{}")
        await pilot.press("f9")
        await pilot.press(*"other.json", "enter")
        await wait_until(pilot, lambda: visit.said.startswith("✗ Nothing to import. "))


async def test_a_click_goes_to_an_entry_and_the_next_one_opens_it(chats: Chats) -> None:
    keys = chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        entries = await visit.begin(pilot)
        await pilot.click(entries, offset=(10, 3))
        await wait_until(pilot, lambda: "Name a colour." in visit.at)
        assert not visit.left
        await pilot.click(entries, offset=(10, 3))
        await wait_until(pilot, lambda: visit.left == [Opened(keys[1])])


async def test_the_footer_acts_on_the_entry_by_mouse(chats: Chats) -> None:
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        key = next(each for each in visit.screen.query("FooterKey") if "Pin" in str(each.render()))
        await pilot.click(key)
        await wait_until(pilot, lambda: visit.said == "pinned: How do lighthouses work?")


async def test_f1_explains_the_list_and_its_keys(chats: Chats) -> None:
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        text = await open_help(pilot)
        assert "Type to search all titles and messages" in text
        for does in ("Keep it at the top", "as Markdown or JSON", "Back"):
            assert does in text
        assert "Forget the conversation" not in text
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, HelpScreen))
        assert pilot.app.screen is visit.screen


async def test_of_a_long_list_only_what_is_in_view_is_drawn(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(300):
        chats.clock.now = NOW - 300 + number
        chats.store.new(title=f"Chat {number}")
    drawn: list[str] = []
    whole = Content.truncate

    def truncate(text: Content, *args: int, **options: bool) -> Content:
        drawn.append(text.plain)
        return whole(text, *args, **options)

    monkeypatch.setattr(Content, "truncate", truncate)
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        entries = await visit.begin(pilot)
        await wait_until(pilot, lambda: "Chat 299" in drawn)
        assert len(entries.options) == 301
        assert len(set(drawn)) < 60
        await pilot.press(*["pagedown"] * 12)
        await wait_until(pilot, lambda: "Chat 0" in drawn)
        assert shown(entries.options[-1].prompt).split()[:2] == ["Chat", "0"]


async def test_f3_opens_another_conversation_in_the_chat_and_goes_on_with_it(chats: Chats) -> None:
    chats.add_a_few()
    chats.clock.now += 60
    async with make_app("echo", store=lambda: chats.store).run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "First")
        await pilot.press("f3")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ConversationsScreen))
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: "A lens turns before a lamp." in chat(pilot))
        assert "First" not in chat(pilot)
        await ask_and_wait(pilot, "And the lamp?")
        assert len(chats.store.conversations()) == 6
        opened = chats.store.load(chats.store.last_used() or 0)
        assert [each.text for each in opened.path][::2] == [
            "How do lighthouses work?",
            "And the lamp?",
        ]


async def test_a_message_that_was_found_is_in_view_and_typing_goes_on(chats: Chats) -> None:
    chats.add("Why is the sky dark at night?", "The universe has an age.", ago=DAY)
    key = chats.store.conversations()[0].id
    answer = parent = chats.store.load(key).path[-1].id
    for number in range(30):
        parent = chats.store.ask(key, f"And then {number}?", parent)
    async with make_app("echo", store=lambda: chats.store).run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await pilot.press("f3")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ConversationsScreen))
        await pilot.press(*"universe", "enter")
        await wait_until(pilot, lambda: bool(pilot.app.query(Answer)))
        found = pilot.app.query_one(Answer)
        assert found.message == answer
        view = pilot.app.query_one(ChatView)
        await wait_until(pilot, lambda: view.region.contains_region(found.region))
        assert view.scroll_y < view.max_scroll_y - 1
        assert isinstance(pilot.app.focused, Prompt)


async def test_a_chat_that_was_deleted_makes_room_for_a_new_one(chats: Chats) -> None:
    async with make_app("echo", store=lambda: chats.store).run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "First")
        await pilot.press("f3")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ConversationsScreen))
        await pilot.press("f8", "escape")
        await wait_until(pilot, lambda: questions(pilot) == 0)
        await ask_and_wait(pilot, "Second")
        assert [each.title for each in chats.store.conversations()] == ["Second"]


async def test_specchat_continues_with_the_conversation_that_was_used_last(chats: Chats) -> None:
    keys = chats.add_a_few()
    chats.store.pin(keys[3])
    app = make_app("echo", store=lambda: chats.store, resume=True)
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await until_drawn(pilot)
        assert app.conversation.key == keys[0]
        assert "A lens turns before a lamp." in chat(pilot)


async def test_with_nothing_to_continue_a_new_chat_begins(chats: Chats) -> None:
    app = make_app("echo", store=lambda: chats.store, resume=True)
    async with app.run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "First")
        assert [each.title for each in chats.store.conversations()] == ["First"]


@pytest.mark.parametrize(("options", "resumes"), [(["--continue"], True), ([], False)])
def test_an_option_of_the_command_continues(
    options: list[str], resumes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def run(*_: object, resume: bool, **__: object) -> int:
        asked.append(resume)
        return 0

    monkeypatch.setattr("specchat.tui.start.run", run)
    monkeypatch.setattr("specchat.cli._choice", lambda *_, **__: None)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with pytest.raises(SystemExit) as ended:
        cli.main(options, standalone_mode=False)
    assert (ended.value.code, asked) == (0, [resumes])


async def test_the_path_of_a_file_to_import_is_completed(
    chats: Chats, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("notes/sea.json", "notes/sea.md", "notes/deep/sand.json", "seal.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    monkeypatch.chdir(tmp_path)
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        field, popup = visit.screen.query_one(PathField), visit.screen.query_one(Completions)
        await pilot.press("f9", *"not")
        await wait_until(pilot, lambda: paths(popup) == ["notes/", "notes/sea.json", DEEP, SAND])
        await pilot.press("down", "down", "up", "tab")
        assert field.value == "notes/sea.json"
        await wait_until(pilot, lambda: not popup.is_open)
        field.value = "notes/d"
        await wait_until(pilot, lambda: paths(popup) == [DEEP])
        await pilot.press("escape")
        assert not popup.is_open
        assert visit.asking
        await pilot.press("e")
        await wait_until(pilot, lambda: paths(popup) == [DEEP])
        await pilot.press("enter")
        await wait_until(pilot, lambda: paths(popup) == [SAND])
        assert await pilot.click(popup, offset=(4, 1))
        await wait_until(pilot, lambda: field.value == SAND)
        assert not visit.left
        assert await pilot.click("AskLine > Button")
        await wait_until(pilot, lambda: visit.said.startswith("✗ Nothing to import. "))


DEEP, SAND = "notes/deep/", "notes/deep/sand.json"


def paths(popup: Completions) -> list[str]:
    """What is offered."""
    return [str(option.prompt).split("  ")[0] for option in popup.options if popup.is_open]


async def test_a_title_is_written_and_taken_by_the_mouse(chats: Chats) -> None:
    chats.add_a_few()
    visit = Visit(chats)
    async with visit.app.run_test(size=WIDE) as pilot:
        await visit.begin(pilot)
        await pilot.press("f2", *"Beacons")
        assert await pilot.click("AskLine > Button")
        await wait_until(pilot, lambda: "Beacons" in visit.at)
