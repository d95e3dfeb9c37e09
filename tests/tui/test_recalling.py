"""Up and Down: what was sent before."""

from tui.screen_driver import WIDE, ask, ask_and_wait, make_app, prompt, until_ready, wait_until
from tui.test_attaching import paste
from tui.test_commands import listed, said
from tui.test_pasting import LONG, WORD


async def test_up_and_down_go_through_what_was_sent() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        await ask_and_wait(pilot, "two\nlines")
        prompt(pilot).insert("not sent yet")
        await pilot.press("up")
        assert prompt(pilot).text == "two\nlines"
        await pilot.press("up")
        assert prompt(pilot).text == "one"
        await pilot.press("up")
        assert prompt(pilot).text == "one"
        await pilot.press("down")
        assert prompt(pilot).text == "two\nlines"
        await pilot.press("down")
        assert prompt(pilot).text == "not sent yet"
        assert prompt(pilot).cursor_location == (0, len("not sent yet"))


async def test_within_a_text_the_keys_move_the_cursor() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        prompt(pilot).insert("first\nsecond")
        await pilot.press("up")
        assert prompt(pilot).text == "first\nsecond"
        assert prompt(pilot).cursor_location == (0, 5)
        await pilot.press("up")
        assert prompt(pilot).text == "one"
        await pilot.press("down")
        assert prompt(pilot).text == "first\nsecond"


async def test_questions_of_earlier_chats_are_there_too() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "from yesterday")
        await ask_and_wait(pilot, "from today")
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await pilot.press("up")
        assert prompt(pilot).text == "from today"
        await pilot.press("up")
        assert prompt(pilot).text == "from yesterday"


async def test_commands_come_back_and_open_no_list() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        await ask(pilot, "/draft ngram")
        await wait_until(pilot, lambda: bool(said(pilot)))
        await pilot.press("up")
        assert prompt(pilot).text == "/draft ngram"
        assert listed(pilot) == []
        await pilot.press("up")
        assert prompt(pilot).text == "one"


async def test_a_folded_text_comes_back_folded() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await paste(pilot, LONG)
        await pilot.press("enter")
        await ask_and_wait(pilot, "next")
        await pilot.press("up", "up")
        assert prompt(pilot).text == WORD
