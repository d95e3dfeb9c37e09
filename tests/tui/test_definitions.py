"""Every figure on screen tells what it means under the mouse."""

from pathlib import Path

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Tooltip

from specchat.tui.definitions import definition, figure
from specchat.tui.screens.timeline import TimelineScreen
from specchat.tui.widgets.memory_bars import MemoryBars
from specchat.tui.widgets.speculation_panel import SpeculationLine, SpeculationPanel
from tui.offers import app_with
from tui.screen_driver import WIDE, ask_and_wait, make_app, wait_until
from tui.test_memory import big_pair


def places(pilot: Pilot[None], widget: Widget) -> dict[str, Offset]:
    """The figures that can be seen in a widget, and a cell of each."""
    screen = pilot.app.screen
    found: dict[str, Offset] = {}
    for y in range(widget.region.y, widget.region.bottom):
        for x in range(widget.region.x, widget.region.right):
            name = screen.get_style_at(x, y).meta.get("figure")
            if name is not None:
                found.setdefault(name, Offset(x, y) - widget.region.offset)
    return found


async def means(pilot: Pilot[None], widget: Widget) -> dict[str, str]:
    """The same, and what the mouse brings there."""
    shown = {}
    for name, place in places(pilot, widget).items():
        await pilot.hover(widget, offset=place)
        shown[name] = str(widget.tooltip)
    return shown


def everything(names: set[str]) -> dict[str, str]:
    """These figures with their definitions."""
    return {name: str(definition(name)) for name in names}


async def test_the_panel_the_answer_and_the_first_line_define_their_figures(
    tmp_path: Path,
) -> None:
    async with app_with(big_pair(tmp_path, n_layers=20), "think").run_test(
        size=WIDE, tooltips=True
    ) as pilot:
        await ask_and_wait(pilot, "How?")
        app = pilot.app
        panel = app.query_one(SpeculationPanel)
        assert await means(pilot, panel) == everything(
            {
                "tok/s",
                "speed-up",
                "plain tok/s",
                "tokens per round",
                "acceptance",
                "acceptance at position i",
                "reason",
                "draft share",
                "share by drafter",
                "acceptance in thinking, words, code",
            }
        )
        await pilot.hover(panel, offset=Offset(0, panel.size.height - 1))
        tooltip = app.screen.get_child_by_type(Tooltip)
        await wait_until(pilot, lambda: tooltip.display)
        assert "acceptance in thinking" in str(tooltip.content)
        answer = ("acceptance", "tokens per round", "tok/s", "speed-up", "time to first token")
        assert await means(pilot, app.query_one(".note")) == everything(set(answer))
        assert app.query_one("#context").tooltip == definition("context")
        assert app.query_one("#backend").tooltip == definition("memory")
        assert str(app.query_one(MemoryBars).tooltip).startswith("memory: bytes that the plan")


async def test_the_one_line_defines_its_figures(tmp_path: Path) -> None:
    async with app_with(big_pair(tmp_path, n_layers=20)).run_test(size=(99, 24)) as pilot:
        await ask_and_wait(pilot, "How?")
        shown = ("tok/s", "speed-up", "plain tok/s", "acceptance", "tokens per round", "memory")
        assert await means(pilot, pilot.app.query_one(SpeculationLine)) == everything(set(shown))


async def test_the_timeline_defines_its_figures() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How?")
        await pilot.press("f6")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, TimelineScreen))
        times = "prompt, draft, target, our own"
        for place, names in (
            ("#summary", {"emitted", "rounds", "accepted", times}),
            (
                "#bar-legend",
                {"prompt seconds", "draft seconds", "verify seconds", "overhead seconds"},
            ),
            ("#chart-legend", {"accepted", "refused", "origin of a token"}),
            ("#words", {"drafted", "accepted", "origin of a token", "reason", times}),
        ):
            assert await means(pilot, pilot.app.screen.query_one(place)) == everything(names)


async def test_text_that_is_no_figure_brings_nothing() -> None:
    async with make_app("plain").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How?")
        panel = pilot.app.query_one(SpeculationPanel)
        assert "drafted" in await means(pilot, panel)
        await pilot.hover(panel, offset=places(pilot, panel)["drafted"] - Offset(0, 1))
        assert panel.tooltip is None


def test_a_figure_that_is_not_defined_is_not_shown() -> None:
    with pytest.raises(AssertionError, match="luck is not defined"):
        figure("luck", "90%")
