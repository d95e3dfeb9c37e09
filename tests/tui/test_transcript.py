"""Of a long conversation a part is on the screen, and all of it can be read."""

import json

from textual.pilot import Pilot

from specchat.chat.store import Store, default_path
from specchat.tui.app import SpecchatApp
from specchat.tui.transcript import MOST, PAGE
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.messages import Beyond, Said
from specchat.tui.widgets.thought import Thought
from tui.screen_driver import ask, make_app, prompt, until_drawn, until_ready, wait_until


def said(pilot: Pilot[None]) -> list[Said]:
    """The messages on screen."""
    return pilot.app.query_one(ChatView).said


def long_conversation(n_messages: int) -> int:
    """A conversation on the disk; what the store calls it."""
    store = Store.open(default_path())
    key, parent = store.new(), None
    for number in range(0, n_messages, 2):
        parent = store.ask(key, f"question {number}", parent)
        answer = store.begin_answer(key, parent)
        store.finish(answer, "complete", text=f"answer {number + 1}")
        parent = answer
    store.close()
    return key


def beyond(pilot: Pilot[None]) -> list[str]:
    """What the lines say that stand for messages not on screen."""
    return [str(line.render()) for line in pilot.app.query(Beyond)]


def line_of(pilot: Pilot[None], message: int) -> int | None:
    """At which line of the view a message begins."""
    view = pilot.app.query_one(ChatView)
    return next((view.line_of(each) for each in view.said if each.message == message), None)


def texts_in_view(pilot: Pilot[None]) -> list[str]:
    """The messages that can be read now."""
    view, app = pilot.app.query_one(ChatView), pilot.app
    assert isinstance(app, SpecchatApp)
    texts = {each.id: each.text for each in app.conversation.path}
    return [texts[each.message] for each in view.said if view.content_region.overlaps(each.region)]


async def test_a_long_conversation_opens_at_its_end_and_comes_back_on_scrolling() -> None:
    key = long_conversation(100)
    async with make_app("echo").run_test(size=(80, 24)) as pilot:
        app = await until_ready(pilot)
        await app.conversations.open(key)
        view = pilot.app.query_one(ChatView)
        await wait_until(pilot, lambda: "answer 99" in texts_in_view(pilot))
        assert (len(said(pilot)), beyond(pilot)) == (PAGE, ["80 earlier messages, further up"])
        prompt(pilot).focus()
        first = said(pilot)[0].message
        view.scroll_home(animate=False)
        await wait_until(pilot, lambda: beyond(pilot) == ["60 earlier messages, further up"])
        await wait_until(pilot, lambda: line_of(pilot, first) == 2)
        assert len(said(pilot)) == 2 * PAGE


async def test_only_what_is_near_a_hit_is_on_screen_and_the_rest_comes_both_ways() -> None:
    key = long_conversation(600)
    async with make_app("recall").run_test(size=(80, 34)) as pilot:
        app = await until_ready(pilot)
        path = app.conversation.store.load(key).path
        await app.conversations.open(key, path[300].id)
        view = pilot.app.query_one(ChatView)
        await wait_until(pilot, lambda: "question 300" in texts_in_view(pilot))
        assert len(said(pilot)) == PAGE
        assert beyond(pilot) == [
            "290 earlier messages, further up",
            "290 later messages, further down",
        ]
        view.focus()
        app.animation_level = "none"
        for key_name, steps in (("pagedown", 6), ("pageup", 7)):
            seen: list[str] = []
            for _ in range(steps):
                await pilot.press(key_name)
                await pilot.pause()
                seen += (each for each in texts_in_view(pilot) if each not in seen)
                assert len(said(pilot)) <= MOST
            numbers = [int(text.split()[1]) for text in seen]
            assert len(numbers) > MOST
            assert sorted(numbers) == list(range(min(numbers), max(numbers) + 1))
        await pilot.press("home")
        await wait_until(pilot, lambda: "question 0" in texts_in_view(pilot))
        assert beyond(pilot) == ["580 later messages, further down"]
        await pilot.press("end")
        await wait_until(pilot, lambda: "answer 599" in texts_in_view(pilot))
        assert beyond(pilot) == ["580 earlier messages, further up"]
        await pilot.press("home")
        await wait_until(pilot, lambda: "question 0" in texts_in_view(pilot))
        prompt(pilot).focus()
        await ask(pilot, "and now?")
        await wait_until(pilot, lambda: len(app.conversation.path) == 602)
        await wait_until(pilot, lambda: app.state == "ready")
        await until_drawn(pilot)
        assert len(said(pilot)) == PAGE
        assert len(json.loads(app.conversation.path[-1].text.strip("`"))) == 601


async def test_an_answer_that_comes_in_is_as_it_is_when_it_comes_back_to_the_screen() -> None:
    async with make_app("thinking").run_test(size=(80, 24)) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "Why?")
        await wait_until(pilot, lambda: bool(app.query(Thought)))
        view = app.query_one(ChatView)
        [question, _] = app.conversation.path
        before = view.said
        view.post_message(Beyond.Reached("later", far=True))  # as End does from far up
        await wait_until(pilot, lambda: view.said != before and bool(app.query(Thought)))
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.state == "ready")
        assert view.said[0].message == question.id
        assert [str(note.render()).split(" ")[0] for note in app.query(".note")] == ["stopped"]
        assert len(app.query(Thought)) == 1


async def test_messages_that_fill_no_screen_are_joined_by_those_before_them() -> None:
    key = long_conversation(60)
    async with make_app("echo").run_test(size=(80, 100)) as pilot:
        app = await until_ready(pilot)
        await app.conversations.open(key)
        await wait_until(pilot, lambda: len(said(pilot)) > PAGE)
        await wait_until(pilot, lambda: "answer 59" in texts_in_view(pilot))


async def test_a_message_that_was_looked_for_is_in_view_and_typing_goes_on() -> None:
    key = long_conversation(100)
    async with make_app("echo").run_test(size=(80, 24)) as pilot:
        app = await until_ready(pilot)
        wanted = app.conversation.store.load(key).path[10].id
        await app.conversations.open(key, wanted)
        view = pilot.app.query_one(ChatView)
        await wait_until(
            pilot,
            lambda: any(
                e.message == wanted and view.region.overlaps(e.region) for e in said(pilot)
            ),
        )
        await pilot.press("r", "e", "d")
        assert prompt(pilot).text == "red"
