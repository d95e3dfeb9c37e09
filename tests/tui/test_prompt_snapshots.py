"""Pictures of what surrounds the prompt.

After a change that is meant: `pytest tests/tui/test_prompt_snapshots.py --snapshot-update`.
"""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tui.screen_driver import ask_and_wait, until_ready, wait_until
from tui.test_attaching import attach, paste
from tui.test_commands import listed, said, write
from tui.test_snapshots import SMALLEST, Compare, looks_the_same

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])


async def choosing_a_command(pilot: Pilot[None]) -> None:
    """The list of commands lies over the end of an answer."""
    await ask_and_wait(pilot, "How does speculative decoding work?")
    await write(pilot, "/")
    await pilot.press("down")


async def choosing_a_value(pilot: Pilot[None]) -> None:
    """The list of what an argument can be."""
    await until_ready(pilot)
    await write(pilot, "/rule ")


async def refused(pilot: Pilot[None]) -> None:
    """A command is wrong."""
    await until_ready(pilot)
    await write(pilot, "/length 99")
    await pilot.press("enter")
    await wait_until(pilot, lambda: bool(said(pilot)))


async def with_files(pilot: Pilot[None]) -> None:
    """Two files are attached, and a long text is folded."""
    await until_ready(pilot)
    await write(pilot, "Compare ")
    await attach(pilot, "one", "one.py")
    await attach(pilot, "two", "two.py")
    await paste(pilot, "line\n" * 400)
    await write(pilot, " @")
    await wait_until(pilot, lambda: bool(listed(pilot)))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that specchat is started in."""
    folder = tmp_path / "project"
    (folder / "docs").mkdir(parents=True)
    (folder / "one.py").write_text("x = 1\n" * 300)
    (folder / "two.py").write_text("x = 2\n" * 4000)
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("size", [SMALLEST, (80, 24), (120, 40)], ids=["60x16", "80x24", "120x40"])
def test_commands(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "happy", choosing_a_command, size)


@SIZES
def test_values(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "happy", choosing_a_value, size)


@SIZES
def test_refused_command(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "happy", refused, size)


@SIZES
@pytest.mark.usefixtures("project")
def test_attached_files(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "happy", with_files, size)
