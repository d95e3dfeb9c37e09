"""What can be done with messages that were said, and that nothing of them is lost."""

import json
from pathlib import Path

from textual.pilot import Pilot
from textual.widget import Widget

from specchat.chat.database import StoreProblem
from specchat.chat.records import Message
from specchat.chat.store import Store, default_path
from specchat.tui.app import SpecchatApp
from specchat.tui.conversation import Conversation
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.messages import Answer, Question, Said
from specchat.tui.widgets.thought import Thought
from tui.screen_driver import (
    WIDE,
    ask,
    ask_and_wait,
    cards,
    chat,
    hint,
    make_app,
    notes,
    prompt,
    tails,
    until_drawn,
    until_ready,
    wait_until,
)
from tui.scripted_engine import ANSWER, THINKING, THOUGHT


def said(pilot: Pilot[None]) -> list[Said]:
    """The messages on screen."""
    return pilot.app.query_one(ChatView).said


def speakers(pilot: Pilot[None]) -> list[str]:
    """Who said them, and which try each is."""
    return [str(each.query_one(".speaker").render()) for each in said(pilot)]


def focused(pilot: Pilot[None]) -> Widget | None:
    """What the keys go to."""
    return pilot.app.focused


def kept() -> list[Message]:
    """What is on the disk of the conversation that was used last, all tries and wordings."""
    store = Store.open(default_path())
    key = store.last_used()
    messages = [] if key is None else list(store.load(key).messages.values())
    store.close()
    return messages


def last_said(app: SpecchatApp) -> str:
    """The text of the last message of the line on screen."""
    return app.conversation.path[-1].text


async def press_on(pilot: Pilot[None], kind: type[Said], *keys: str) -> None:
    """Press keys with the focus on the last message of a kind."""
    [*_, last] = [each for each in said(pilot) if isinstance(each, kind)]
    last.focus()
    await pilot.pause()
    await pilot.press(*keys)


async def until_answered(pilot: Pilot[None], n_messages: int) -> None:
    """Wait until so many messages of the conversation are kept and none is being written."""
    app = pilot.app
    assert isinstance(app, SpecchatApp)
    await wait_until(pilot, lambda: app.state == "ready")
    await until_drawn(pilot)
    assert len(kept()) == n_messages


async def test_an_answer_is_kept_with_all_that_is_known_of_it() -> None:
    async with make_app("happy", system="Be brief.").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How?")
        question, answer = kept()
        assert (question.role, question.text, question.state) == ("user", "How?", "complete")
        assert (answer.role, answer.text, answer.state) == ("assistant", ANSWER, "complete")
        assert answer.parent == question.id
        record = answer.answer
        assert record is not None
        assert record.target == "Target-7B-Q4_K_M.gguf"
        assert record.draft == "Draft-0.5B-Q8_0.gguf"
        assert (record.drafter, record.rule, record.draft_length) == ("chain", "token", 3)
        assert (record.seed, record.figures.accepted > 0) == (1, True)
    store = Store.open(default_path())
    [summary] = store.conversations()
    assert summary.title
    assert store.load(summary.id).setup.system == "Be brief."


async def test_a_question_is_on_the_disk_before_its_answer_ends() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await ask(pilot, "Two lines, please.")
        await wait_until(pilot, lambda: bool(tails(pilot)))
        await wait_until(pilot, lambda: kept()[-1].text.startswith("The first line."))
        assert [(each.role, each.state) for each in kept()] == [
            ("user", "complete"),
            ("assistant", "writing"),
        ]
        await pilot.press("escape")
        await until_answered(pilot, 2)
        assert kept()[-1].state == "stopped"


async def test_quitting_in_mid_answer_keeps_what_came() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await ask(pilot, "first")
        await wait_until(pilot, lambda: bool(tails(pilot)))
        await pilot.press("ctrl+q")
    [_, answer] = kept()
    assert answer.state == "interrupted"
    assert answer.text.startswith("The first line.")


async def test_a_question_that_is_given_back_leaves_nothing_behind() -> None:
    async with make_app("prefill").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "A long one")
        await wait_until(pilot, lambda: "reading" in notes(pilot)[0])
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.state == "ready")
        assert app.conversation.key is None
        assert kept() == []


async def test_another_wording_of_a_question_stands_beside_the_first() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask_and_wait(pilot, "one")
        prompt(pilot).insert("unsent")
        await press_on(pilot, Question, "e")
        assert prompt(pilot).text == "one"
        await pilot.press(" ", "m", "o", "r", "e", "enter")
        await until_answered(pilot, 4)
        assert speakers(pilot) == ["you\n< 2/2 >", "model"]
        assert last_said(app) == "one more"
        assert prompt(pilot).text == "unsent"
        await press_on(pilot, Question, "left")
        await wait_until(pilot, lambda: speakers(pilot)[0] == "you\n< 1/2 >")
        assert [each.text for each in app.conversation.path] == ["one", "one"]
        await press_on(pilot, Question, "left")
        assert speakers(pilot)[0] == "you\n< 1/2 >"


async def test_editing_is_given_up_with_escape() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        prompt(pilot).insert("unsent")
        await press_on(pilot, Question, "e")
        await pilot.press("escape")
        assert prompt(pilot).text == "unsent"
        await pilot.press("enter")
        await until_answered(pilot, 4)
        assert speakers(pilot) == ["you", "model", "you", "model"]


async def test_a_question_is_answered_again_beside_the_first_answer() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        await press_on(pilot, Answer, "r")
        await until_answered(pilot, 3)
        assert speakers(pilot) == ["you", "model\n< 2/2 >"]
        await press_on(pilot, Question, "r")
        await until_answered(pilot, 4)
        assert speakers(pilot) == ["you", "model\n< 3/3 >"]


async def test_an_answer_is_worded_otherwise_and_the_engine_reads_that() -> None:
    async with make_app("recall").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask_and_wait(pilot, "one")
        await press_on(pilot, Answer, "e")
        prompt(pilot).load_text("my own words")
        await pilot.press("enter")
        await wait_until(pilot, lambda: last_said(app) == "my own words")
        assert speakers(pilot) == ["you", "model\n< 2/2 >"]
        await ask_and_wait(pilot, "two")
        turns = json.loads(last_said(app).strip("`"))
        assert turns == [["user", "one"], ["assistant", "my own words"], ["user", "two"]]


async def test_an_answer_with_thinking_is_worded_otherwise_and_goes_on_from_there() -> None:
    async with make_app("think").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask_and_wait(pilot, "one")
        await press_on(pilot, Answer, "e")
        assert prompt(pilot).text == ANSWER.strip("\n")
        prompt(pilot).load_text("my own words")
        await pilot.press("enter")
        edited = f"{THOUGHT}\n</think>\n\nmy own words"
        await wait_until(pilot, lambda: last_said(app) == edited)
        await wait_until(pilot, lambda: speakers(pilot) == ["you", "model\n< 2/2 >"])
        assert len(app.query(Thought)) == 1
        assert "</think>" not in chat(pilot)
        [_, reply] = app.conversation.messages
        assert (reply.role, reply.content) == ("assistant", "my own words")
        await press_on(pilot, Answer, "g")
        await wait_until(pilot, lambda: app.state == "ready" and last_said(app) != edited)
        assert last_said(app) == f"{edited}`{json.dumps(edited)}`"
        await until_answered(pilot, 3)
        assert len(app.query(Thought)) == 1
        assert "my own words`" in chat(pilot)
        assert [each.text for each in kept()] == ["one", THINKING, last_said(app)]


async def test_an_answer_that_was_gone_on_from_keeps_what_came_after_it() -> None:
    async with make_app("recall").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        for question in ("one", "two"):
            await ask_and_wait(pilot, question)
        first, later = app.conversation.path[1], app.conversation.path[2:]
        said(pilot)[1].focus()
        await pilot.press("g")
        await until_answered(pilot, 5)
        assert speakers(pilot) == ["you", "model\n< 2/2 >"]
        assert last_said(app) == 2 * first.text
        await press_on(pilot, Answer, "left")
        await wait_until(pilot, lambda: len(said(pilot)) == 4)
        assert app.conversation.path[1:] == [first, *later]


async def test_going_on_that_came_to_nothing_leaves_the_line_as_it_was() -> None:
    store = Store.in_memory()
    conversation = Conversation(lambda: store)
    for question in ("one", "two"):
        conversation.ask(question)
        conversation.finish("an answer", "complete")
    before = conversation.path
    conversation.go_on(before[1].id)
    assert conversation.path[1].text == "an answer"
    conversation.withdraw()
    assert conversation.path == before
    assert len(store.load(store.conversations()[0].id).messages) == 4


async def test_a_stopped_answer_goes_on_where_it_was() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "one")
        await wait_until(pilot, lambda: tails(pilot) == ["The second line"])
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.state == "ready")
        await press_on(pilot, Answer, "g")
        await wait_until(pilot, lambda: "The second lineThe first line." in chat(pilot))
        await wait_until(pilot, lambda: tails(pilot) == ["The second line"])
        await pilot.press("escape")
        await until_answered(pilot, 2)
        text = "The first line.\n\nThe second line"
        assert last_said(app) == text + text
        answer = kept()[-1]
        assert answer.answer is not None
        figures = answer.answer.figures
        assert figures.emitted == sum(part.emitted for part in answer.answer.parts.values())
        tokens = app.conversation.store.tokens(answer.id)
        assert tokens is not None
        assert (figures.emitted, sum(tokens.sizes)) == (len(tokens.ids), len(answer.text))
        rounds = app.conversation.store.rounds(answer)
        assert rounds is not None
        assert len(rounds.rounds) == figures.rounds
        assert "".join(each.text for each in rounds.rounds) == answer.text


async def test_an_answer_that_did_not_go_on_is_as_it_was() -> None:
    async with make_app("go-on").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask_and_wait(pilot, "one")
        await press_on(pilot, Answer, "g")
        await wait_until(pilot, lambda: notes(pilot) == ["reading 512 of 2048 new tokens"])
        await pilot.press("escape")
        await until_answered(pilot, 2)
        assert last_said(app) == ANSWER
        assert prompt(pilot).text == ""
        assert kept()[-1].state == "complete"


async def test_a_new_conversation_branches_off() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask_and_wait(pilot, "one")
        await ask_and_wait(pilot, "two")
        before = app.conversation.key
        said(pilot)[1].focus()
        await pilot.press("b")
        await wait_until(pilot, lambda: app.conversation.key != before)
        assert [each.text for each in app.conversation.path] == ["one", "one"]
        assert "two" not in chat(pilot)
        assert len(app.conversation.store.conversations()) == 2


async def test_a_message_is_copied() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How?")
        await press_on(pilot, Answer, "c")
        assert pilot.app.clipboard == ANSWER
        assert hint(pilot) == "copied"


async def test_the_arrows_walk_through_messages_and_back_to_the_prompt() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        await ask_and_wait(pilot, "two")
        await pilot.press("ctrl+up")
        assert focused(pilot) is said(pilot)[3]
        await pilot.press("up", "up")
        assert focused(pilot) is said(pilot)[1]
        await pilot.press("down", "down", "down")
        assert focused(pilot) is prompt(pilot)


async def test_messages_wait_for_the_answer_that_is_written() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "one")
        await wait_until(pilot, lambda: bool(tails(pilot)))
        for key in "erb":
            await press_on(pilot, Question, key)
            assert "Esc" in hint(pilot)
        assert len(app.conversation.path) == 2


async def test_a_conversation_that_cannot_be_saved_goes_on_and_says_so() -> None:
    problem = StoreProblem("Tried to save.", "The disk is full.", "Make room.")
    app = make_app("echo", store=lambda: Store.in_memory(problem))
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await wait_until(pilot, lambda: len(cards(pilot)) == 1)
        assert "The disk is full." in cards(pilot)[0]
        await ask_and_wait(pilot, "one")
        assert last_said(app) == "one"
        assert len(cards(pilot)) == 1


async def test_a_file_that_is_no_store_is_left_alone(specchat_home: Path) -> None:
    default_path().write_bytes(b"something else entirely, and longer than a header of SQLite")
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await wait_until(pilot, lambda: len(cards(pilot)) == 1)
        await ask_and_wait(pilot, "one")
    assert default_path().read_bytes().startswith(b"something else")


def test_a_conversation_that_was_never_asked_anything_is_not_kept() -> None:
    store = Store.in_memory()
    conversation = Conversation(lambda: store)
    conversation.ask("one")
    assert conversation.withdraw() == "one"
    assert store.conversations() == []
    assert conversation.key is None
