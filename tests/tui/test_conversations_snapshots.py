"""Pictures of the list of conversations."""

from collections.abc import Callable

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tui.chats import Chats, Visit
from tui.screen_driver import wait_until
from tui.test_snapshots import SIZES, SMALL, SMALLEST, WIDE, Compare

pytestmark = pytest.mark.usefixtures("utc")

ALL_SIZES = pytest.mark.parametrize(
    "size", [SMALLEST, SMALL, WIDE], ids=["60x16", "80x24", "120x40"]
)


def looks_the_same(
    snap_compare: Compare, size: tuple[int, int], keys: list[str], until: Callable[[Visit], bool]
) -> bool:
    """Whether the screen looks as it did, after these keys."""
    chats = Chats()
    first, *_, last = chats.add_a_few()
    chats.store.pin(last)
    chats.store.archive(chats.add("What turns the lamp of an old lighthouse?", "A clockwork."))
    visit = Visit(chats, current=first)

    async def prepare(pilot: Pilot[None]) -> None:
        await visit.begin(pilot)
        await pilot.press(*keys)
        await wait_until(pilot, lambda: until(visit))
        for field in visit.screen.query(Input):
            field.cursor_blink = False
        await pilot.wait_for_scheduled_animations()

    return snap_compare(visit.app, terminal_size=size, run_before=prepare)


@ALL_SIZES
def test_list(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, size, [], lambda visit: "lighthouses" in visit.at)


@ALL_SIZES
def test_found(snap_compare: Compare, size: tuple[int, int]) -> None:
    keys = list("lamp")
    assert looks_the_same(snap_compare, size, keys, lambda visit: "archived" in visit.everything)


@SIZES
def test_deleted(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, size, ["f8"], lambda visit: "deleted" in visit.said)


@SIZES
def test_renaming(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, size, ["f2"], lambda visit: visit.asking)


def test_exporting(snap_compare: Compare) -> None:
    assert looks_the_same(snap_compare, SMALL, ["f7"], lambda visit: visit.asking)
