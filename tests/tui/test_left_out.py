"""What the screen says when old turns do not fit into the context any more."""

from textual.pilot import Pilot
from textual.widgets import Static

from tui.screen_driver import WIDE, ask_and_wait, make_app, notes, wait_until

LINE = "the first 6 messages no longer fit in the context and were left out"


def gauge(pilot: Pilot[None]) -> str:
    """How full the context is said to be."""
    return str(pilot.app.query_one("#context", Static).content)


async def test_the_answer_and_the_gauge_say_how_many_messages_were_left_out() -> None:
    async with make_app("left-out").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How does it work?")
        [note] = notes(pilot)
        assert note.splitlines()[0] == LINE
        assert note.splitlines()[1].startswith("81% accepted")
        await wait_until(pilot, lambda: gauge(pilot).endswith(" of 8.2k, 6 left out"))
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: "left out" not in gauge(pilot))


async def test_where_all_of_it_fits_nothing_is_said() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How does it work?")
        assert "left out" not in notes(pilot)[0] + gauge(pilot)
