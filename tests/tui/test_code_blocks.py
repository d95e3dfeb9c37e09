"""Code of any answer is copied block by block, by the mouse and by key."""

from textual.pilot import Pilot

from specchat.tui.widgets.code_block import CopyMark
from specchat.tui.widgets.messages import Answer
from tui.screen_driver import WIDE, ask_and_wait, hint, make_app, wait_until
from tui.test_letters import footer

TWO = "Either\n\n```py\na = 1\n```\n\nor\n\n```sh\nls\n  -l\n```\n"


def marks(pilot: Pilot[None]) -> list[CopyMark]:
    """Where code is copied by a click, of all answers."""
    return list(pilot.app.query(CopyMark))


async def test_a_click_on_the_mark_copies_that_block_of_any_answer() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, TWO)
        await ask_and_wait(pilot, "```\nlast\n```")
        await wait_until(pilot, lambda: len(marks(pilot)) == 3)
        for mark, code in zip(marks(pilot), ("a = 1", "ls\n  -l", "last"), strict=True):
            mark.scroll_visible(animate=False)
            await pilot.pause()
            assert await pilot.click(mark, offset=(mark.size.width - 2, 0))
            await pilot.pause()
            assert pilot.app.clipboard == code
            assert str(mark.content) == "copied"
        assert await pilot.click(marks(pilot)[0], offset=(1, 0))
        await pilot.pause()
        assert pilot.app.clipboard == "last"


async def test_a_key_copies_the_blocks_of_a_chosen_answer_one_after_the_other() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, TWO)
        await wait_until(pilot, lambda: len(marks(pilot)) == 2)
        await ask_and_wait(pilot, "no code")
        await pilot.press("ctrl+up")
        await wait_until(pilot, lambda: "Again" in footer(pilot))
        assert "Copy code" not in footer(pilot)
        await pilot.press("up", "up")
        assert isinstance(pilot.app.focused, Answer)
        await wait_until(pilot, lambda: "Copy code" in footer(pilot))
        for number, code in ((1, "a = 1"), (2, "ls\n  -l"), (1, "a = 1")):
            await pilot.press("k")
            assert pilot.app.clipboard == code
            assert hint(pilot).startswith(f"copied code block {number} of 2")
