"""A long message shows its beginning and its end."""

from textual.pilot import Pilot

from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.long_text import LongText
from specchat.tui.widgets.messages import Question
from tui.screen_driver import WIDE, make_app, prompt, questions, until_ready, wait_until
from tui.test_attaching import paste
from tui.test_pasting import LONG


def shown(pilot: Pilot[None]) -> str:
    """The question as the chat has it."""
    return str(pilot.app.query_one(LongText).content)


async def test_a_long_message_is_unfolded_and_folded_again() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await paste(pilot, LONG)
        await pilot.press("enter")
        await wait_until(pilot, lambda: questions(pilot) == 1)
        lines = shown(pilot).split("\n")
        assert lines[:6] == [f"line {number}" for number in range(6)]
        assert lines[6:7] == ["… 3,110 lines, 30 kB …"]
        assert lines[7:] == [f"line {number}" for number in range(3116, 3120)]
        pilot.app.query_one(Question).focus()
        await pilot.press("enter")
        assert shown(pilot) == LONG
        pilot.app.query_one(ChatView).scroll_home(animate=False)
        await pilot.pause()
        assert await pilot.click(LongText, offset=(1, 1))
        assert shown(pilot).split("\n") == lines


async def test_five_megabytes_are_never_on_screen() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await paste(pilot, "x" * 5_000_000)
        await pilot.press("enter")
        await wait_until(pilot, lambda: questions(pilot) == 1)
        assert shown(pilot) == f"{'x' * 500}\n… 5.0 MB …\n{'x' * 300}"
        pilot.app.query_one(Question).action_unfold()
        assert shown(pilot) == f"{'x' * 100_000}\n… 4.9 MB …\n{'x' * 300}"
        assert prompt(pilot).text == ""
