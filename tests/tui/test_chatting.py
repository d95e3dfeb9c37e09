"""Asking and being answered."""

import json

import psutil
from textual import events
from textual.widgets import Markdown

from specchat.tui.widgets.chat_view import ChatView
from tui.screen_driver import (
    WIDE,
    ask,
    ask_and_wait,
    chat,
    hint,
    make_app,
    notes,
    panel,
    prompt,
    questions,
    tails,
    until_drawn,
    until_ready,
    wait_until,
)
from tui.scripted_engine import ANSWER

FIGURES = "#panel, SpeculationLine"


async def test_an_answer_arrives_whole_and_keeps_its_figures() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How does it work?")
        pieces = [piece.source for piece in pilot.app.query(Markdown)]
        assert "".join(pieces) == ANSWER
        assert "How does it work?" in chat(pilot)
        assert notes(pilot) == [
            "81% accepted · 3.0 a round · 38.0 tok/s · 2.11x plain · 0.42 s to first"
        ]
        assert prompt(pilot).text == ""


async def test_the_panel_shows_the_last_figures() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        assert "Once the model answers" in panel(pilot)
        assert "drafter: n-gram and draft model" in panel(pilot)
        await ask_and_wait(pilot, "How?")
        shown = panel(pilot)
        assert "38.0 tok/s  2.11x plain\n" in shown
        assert "3.0 tokens a round" in shown
        assert "81% accepted" in shown
        assert "at 1" in shown
        assert "at 3" in shown
        assert "at 4" not in shown
        assert "drafting 3: text is predictable" in shown.replace("\n", " ")
        assert "plain 18.0 tok/s 24 s ago\n" in shown
        assert "n-gram 34%  model 66%" in shown


async def test_of_a_target_that_keeps_a_state_the_panel_tells_how_it_steps_back() -> None:
    for scenario, told in (("checkpoints", True), ("happy", False)):
        async with make_app(scenario).run_test(size=WIDE) as pilot:
            await ask_and_wait(pilot, "How?")
            lines = "steps back by checkpoints\n1% of time, 51 replayed\nprompt 96 of 0.1k reused"
            assert (lines in panel(pilot)) == told
            assert ("reused" in panel(pilot)) == told


async def test_plain_decoding_is_called_so() -> None:
    async with make_app("plain").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How?")
        assert "nothing was drafted" in panel(pilot)
        assert "%" not in panel(pilot)
        assert notes(pilot)[0].startswith("nothing drafted · ")


async def test_text_shows_before_the_answer_ends_and_stop_keeps_it() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "Two lines, please.")
        await wait_until(pilot, lambda: tails(pilot) == ["The second line"])
        assert app.state == "answering"
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.state == "ready")
        await until_drawn(pilot)
        assert "The first line.\nThe second line" in chat(pilot)
        assert notes(pilot)[0].startswith("stopped · 80% accepted")
        assert app.conversation.messages[-1].content == "The first line.\n\nThe second line"


async def test_stop_before_any_text_gives_the_question_back() -> None:
    async with make_app("prefill").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "A long one")
        await wait_until(pilot, lambda: notes(pilot) == ["reading 512 of 2048 new tokens"])
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.state == "ready")
        assert prompt(pilot).text == "A long one"
        assert app.conversation.messages == ()
        assert questions(pilot) == 0


async def test_the_engine_gets_the_whole_conversation() -> None:
    async with make_app("recall", system="Be brief.").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask_and_wait(pilot, "one")
        await ask_and_wait(pilot, "two")
        turns = json.loads(app.conversation.messages[-1].content.strip("`"))
        assert [role for role, _ in turns] == ["system", "user", "assistant", "user"]
        assert turns[0] == ["system", "Be brief."]
        assert turns[3] == ["user", "two"]


async def test_sending_while_an_answer_is_written_keeps_the_text() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "first")
        await wait_until(pilot, lambda: bool(tails(pilot)))
        await ask(pilot, "second")
        assert prompt(pilot).text == "second"
        assert "Esc" in hint(pilot)
        assert questions(pilot) == 1
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.state == "ready")
        assert prompt(pilot).text == "second"
        await pilot.press("enter")
        await wait_until(pilot, lambda: "exactly what the target" in chat(pilot))


async def test_an_empty_prompt_is_not_sent() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await ask(pilot, "  \n ")
        assert questions(pilot) == 0


async def test_new_chat_forgets_everything() -> None:
    async with make_app("recall").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask_and_wait(pilot, "one")
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: chat(pilot) == "")
        assert "Once the model answers" in panel(pilot)
        await ask_and_wait(pilot, "two")
        turns = json.loads(app.conversation.messages[-1].content.strip("`"))
        assert turns == [["user", "two"]]


async def test_new_chat_stops_an_answer_and_ignores_its_late_events() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "first")
        await wait_until(pilot, lambda: bool(tails(pilot)))
        await pilot.press("ctrl+n")
        assert app.state == "ready"
        await ask(pilot, "again")
        await wait_until(pilot, lambda: tails(pilot) == ["The second line"])
        assert app.conversation.open is not None
        assert [message.content for message in app.conversation.messages] == ["again"]
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.state == "ready")
        assert questions(pilot) == 1


async def test_text_is_never_taken_for_markup() -> None:
    text = "[bold]not bold[/bold] [/] [red [link=x] \\[ {x} $x"
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, text)
        assert chat(pilot).count(text) == 2


async def test_control_characters_are_shown_not_obeyed() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "a\x1b[2Jb\x07c\x9bd")
        assert chat(pilot).count("a␛[2Jb␇c\ufffdd") == 2


async def test_pasted_lines_and_chinese_stay_as_they_are() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        prompt(pilot).post_message(events.Paste("第一行,你好\r\nzweite Zeile\r三"))
        await wait_until(pilot, lambda: prompt(pilot).text == "第一行,你好\nzweite Zeile\n三")
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(app.conversation.messages) == 2)
        assert app.conversation.messages[0].content == "第一行,你好\nzweite Zeile\n三"
        assert app.conversation.messages[1].content == "第一行,你好\nzweite Zeile\n三"


async def test_ctrl_j_starts_a_line_and_the_prompt_grows_to_six() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await pilot.press("a", "ctrl+j", "b")
        assert prompt(pilot).text == "a\nb"
        await pilot.press("shift+enter", "c")
        assert prompt(pilot).text == "a\nb\nc"
        assert prompt(pilot).content_size.height == 3
        await pilot.press(*["ctrl+j"] * 7)
        assert prompt(pilot).content_size.height == 6


async def test_keys_that_come_all_at_once_keep_their_order() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        for key in ["a", "b", "ctrl+j", "c", "enter", "d", "enter", "e"]:
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await wait_until(pilot, lambda: bool(tails(pilot)))
        assert [message.content for message in app.conversation.messages] == ["ab\nc"]
        assert prompt(pilot).text == "de"


async def test_typing_reaches_the_prompt_from_anywhere() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        pilot.app.query_one(ChatView).focus()
        await pilot.press("h", "i")
        assert prompt(pilot).text == "hi"
        pilot.app.query_one(ChatView).focus()
        await pilot.pause()
        pilot.app.post_message(events.Paste(" there"))
        await wait_until(pilot, lambda: prompt(pilot).text == "hi there")


async def test_reading_further_up_is_not_disturbed() -> None:
    async with make_app("happy").run_test(size=(80, 24)) as pilot:
        await ask_and_wait(pilot, "one")
        view = pilot.app.query_one(ChatView)
        assert view.scroll_y == view.max_scroll_y > 0
        await pilot.press("pageup")
        await wait_until(pilot, lambda: view.scroll_y < view.max_scroll_y)
        await pilot.wait_for_scheduled_animations()
        before = view.scroll_y
        view.add(Markdown("more\n\n" * 30))
        await wait_until(pilot, lambda: view.max_scroll_y > 60)
        assert view.scroll_y == before


async def test_the_panel_folds_to_a_line_under_100_columns() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        line = pilot.app.query_one("SpeculationLine")

        def shown() -> list[str]:
            found = pilot.app.query(FIGURES)
            return [w.id or type(w).__name__ for w in found if w.display]

        assert shown() == ["panel"]
        await pilot.resize_terminal(99, 30)
        await wait_until(pilot, lambda: shown() == ["SpeculationLine"])
        await pilot.resize_terminal(60, 16)
        assert line.region.bottom <= 16
        assert prompt(pilot).region.bottom <= 16
        await pilot.resize_terminal(100, 30)
        await wait_until(pilot, lambda: shown() == ["panel"])


async def test_quitting_in_mid_answer_ends_the_engine() -> None:
    app = make_app("hold")
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await ask(pilot, "first")
        await wait_until(pilot, lambda: bool(tails(pilot)))
        pid = app.engine.pid
        await pilot.press("ctrl+q")
    assert app.return_code == 0
    assert pid is not None
    assert not psutil.pid_exists(pid)


async def test_quitting_while_loading_ends_the_engine() -> None:
    app = make_app("loading")
    async with app.run_test(size=WIDE) as pilot:
        await wait_until(pilot, lambda: app.engine.pid is not None)
        pid = app.engine.pid
        await pilot.press("ctrl+q")
    assert app.return_code == 0
    assert pid is not None
    assert not psutil.pid_exists(pid)
