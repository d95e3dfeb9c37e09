"""Pictures of the settings, at the sizes that matter."""

from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, TextArea

from specchat.tui.app import SpecchatApp
from specchat.tui.screens.press_key import PressKeyScreen
from tui.screen_driver import prompt, wait_until
from tui.setting_driver import app_with_settings, open_settings, type_into
from tui.test_snapshots import SIZES, SMALL, SMALLEST, WIDE, Compare

Prepare = Callable[[Pilot[None]], Awaitable[None]]
FILE = """\
[sampling]
temperature = 0.5

[presets.code]
system = "Write code, no explanations."
[presets.code.sampling]
temperature = 0

[presets."slow and careful".speculation]
draft_length = 2
"""


def looks_the_same(
    snap_compare: Compare, prepare: Prepare, size: tuple[int, int], app: SpecchatApp | None = None
) -> bool:
    """Whether the settings look as they did."""

    async def run_before(pilot: Pilot[None]) -> None:
        prompt(pilot).cursor_blink = False
        await prepare(pilot)
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = False
        for area in pilot.app.screen.query(TextArea):
            area.cursor_blink = False
        await pilot.wait_for_scheduled_animations()

    return snap_compare(app or app_with_settings(FILE), terminal_size=size, run_before=run_before)


async def sampling(pilot: Pilot[None]) -> None:
    """A mistake is being typed."""
    await open_settings(pilot, "sampling")
    await type_into(pilot, "top_p", "3")


async def looks(pilot: Pilot[None]) -> None:
    """Choices and a list of themes."""
    await open_settings(pilot, "screen")


async def presets(pilot: Pilot[None]) -> None:
    """Two presets, none of them active."""
    await open_settings(pilot, "presets")


async def pressing(pilot: Pilot[None]) -> None:
    """Another key is asked for."""
    await open_settings(pilot, "keys")
    options = pilot.app.screen.query_one(OptionList)
    options.focus()
    await pilot.press("enter")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, PressKeyScreen))


@pytest.mark.parametrize("size", [SMALLEST, SMALL, WIDE], ids=["60x16", "80x24", "120x40"])
def test_sampling(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, sampling, size)


@SIZES
def test_looks(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, looks, size)


@SIZES
def test_presets(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, presets, size)


def test_ansi_looks(snap_compare: Compare) -> None:
    app = app_with_settings("[screen]\ntheme = 'ansi-dark'\n")
    assert looks_the_same(snap_compare, looks, SMALL, app)


def test_press_a_key(snap_compare: Compare) -> None:
    assert looks_the_same(snap_compare, pressing, SMALL)
