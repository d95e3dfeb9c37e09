"""The speculation panel: what it says, and what of it is in view."""

from pathlib import Path

from textual.pilot import Pilot

from specchat.tui.widgets.speculation_panel import PanelRoom, SpeculationPanel
from tui.offers import app_with
from tui.screen_driver import WIDE, ask_and_wait, panel, wait_until
from tui.test_memory import big_pair

LOW = (120, 24)


def room(pilot: Pilot[None]) -> PanelRoom:
    """Where the panel is."""
    return pilot.app.query_one(PanelRoom)


def has_gaps(pilot: Pilot[None]) -> bool:
    """Whether empty lines set the lines of the panel apart."""
    return "" in panel(pilot).split("\n")


async def test_a_low_terminal_shows_every_line_of_the_panel_above_two_devices(
    tmp_path: Path,
) -> None:
    async with app_with(big_pair(tmp_path, n_layers=20)).run_test(size=LOW) as pilot:
        await ask_and_wait(pilot, "How?")
        shown = panel(pilot)
        for line in ("at 3", "text is predictable", "of the time drafting", "n-gram 34%"):
            assert line in shown
        assert pilot.app.query_one(SpeculationPanel).size.height <= room(pilot).size.height
        assert not has_gaps(pilot)
        await pilot.resize_terminal(120, 40)
        await wait_until(pilot, lambda: has_gaps(pilot))


async def test_where_the_lines_are_too_many_the_kinds_of_text_scroll(tmp_path: Path) -> None:
    async with app_with(big_pair(tmp_path, n_layers=20), "think").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How?")
        inside = room(pilot)
        assert not inside.allow_focus()
        await pilot.resize_terminal(*LOW)
        await wait_until(pilot, inside.allow_focus)
        lines = panel(pilot).splitlines()
        kinds = next(at for at, line in enumerate(lines) if line.startswith("thinking "))
        assert lines[kinds - 1].startswith("n-gram ")
        wrapped = 1  # the reason takes two lines
        assert kinds + wrapped <= inside.size.height < len(lines) + wrapped
        inside.focus()
        await pilot.press("end")
        await wait_until(pilot, lambda: inside.scroll_y == inside.max_scroll_y > 0)
        await pilot.resize_terminal(100, 16)
        await wait_until(pilot, lambda: "and 2 further on" in panel(pilot))
        assert "at 1" in panel(pilot)
        assert "at 2" not in panel(pilot)
