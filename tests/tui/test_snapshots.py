"""Pictures of the screen, at the sizes that matter.

After a change that is meant: `pytest tests/tui/test_snapshots.py --snapshot-update`.
"""

from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from specchat.tui.widgets.loading_bar import LoadingBar
from tui.screen_driver import ask_and_wait, make_app, prompt, screen, until_ready, wait_until

Compare = Callable[..., bool]
Prepare = Callable[[Pilot[None]], Awaitable[None]]

SMALL = (80, 24)
WIDE = (120, 40)
SIZES = pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x40"])


async def ready(pilot: Pilot[None]) -> None:
    """Nothing was asked yet."""
    await until_ready(pilot)


async def answered(pilot: Pilot[None]) -> None:
    """One answer has ended."""
    await ask_and_wait(pilot, "How does speculative decoding work?")


async def broken(pilot: Pilot[None]) -> None:
    """The model could not be loaded."""
    await wait_until(pilot, lambda: screen(pilot).state == "broken")


async def loading(pilot: Pilot[None]) -> None:
    """Loading has got so far and stays there."""
    bar = pilot.app.query_one(LoadingBar)
    await wait_until(pilot, lambda: "62%" in str(bar.content))


def looks_the_same(
    snap_compare: Compare, scenario: str, prepare: Prepare, size: tuple[int, int]
) -> bool:
    """Whether the screen looks as it did, once it has been prepared."""

    async def run_before(pilot: Pilot[None]) -> None:
        prompt(pilot).cursor_blink = False
        await prepare(pilot)
        await pilot.wait_for_scheduled_animations()

    return snap_compare(make_app(scenario), terminal_size=size, run_before=run_before)


@SIZES
def test_empty_chat(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "happy", ready, size)


@SIZES
def test_finished_answer(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "happy", answered, size)


@SIZES
def test_error_card(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "load-failure", broken, size)


@SIZES
def test_loading(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "loading", loading, size)


def test_smallest_screen(snap_compare: Compare) -> None:
    assert looks_the_same(snap_compare, "notice", answered, (60, 16))
