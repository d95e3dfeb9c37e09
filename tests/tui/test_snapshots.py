"""Pictures of the screen, at the sizes that matter.

After a change that is meant: `pytest tests/tui/test_snapshots.py --snapshot-update`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from specchat.choosing.choice import Asked, choose
from specchat.engine.protocol import Failed
from specchat.hub.progress import Progress
from specchat.pairing.machine import Conditions
from specchat.tui.app import SpecchatApp
from specchat.tui.downloads import Downloading
from specchat.tui.screens.timeline import TimelineScreen
from specchat.tui.widgets.answer_body import OriginView
from specchat.tui.widgets.download_line import DownloadLine
from specchat.tui.widgets.loading_bar import LoadingBar
from specchat.tui.widgets.thought import ThoughtLine
from tui.offers import FIRST, LATER, app_with
from tui.screen_driver import (
    PAIR,
    ask,
    ask_and_wait,
    make_app,
    panel,
    prompt,
    screen,
    tails,
    until_drawn,
    until_ready,
    wait_until,
    world_of,
)
from tui.test_memory import big_pair
from tui.test_pairs_screen import until_listed

Compare = Callable[..., bool]
Prepare = Callable[[Pilot[None]], Awaitable[None]]

SMALLEST = (60, 16)
SMALL = (80, 24)
LOW = (120, 24)
WIDE = (120, 40)
PROGRESS = Progress(
    file="qwen2.5-7b-instruct-q4_k_m.gguf",
    number=1,
    files=2,
    stage="downloading",
    done_bytes=2_300_000_000,
    size_bytes=4_700_000_000,
    total_done_bytes=2_300_000_000,
    total_bytes=5_400_000_000,
    bytes_per_second=48_000_000.0,
)
CRASH = Failed(
    kind="engine_crashed",
    title="The engine stopped",
    message="The engine was at work. Its process was ended by SIGABRT.",
    help="Start it again; if it happens again, use a smaller context or no draft. "
    "The log is /home/me/.local/state/specchat/log/engine-1.log.",
    exit_code=1,
    log=("ggml_cuda_error: out of memory",),
)
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


async def crashed(pilot: Pilot[None]) -> None:
    """The engine has died in mid-answer; the log that it names has always the same name."""
    await until_ready(pilot)
    await ask(pilot, "How does it work?")
    await wait_until(pilot, lambda: tails(pilot) == ["The second line"])
    screen(pilot).hear(CRASH)
    await until_drawn(pilot)


async def set_up(pilot: Pilot[None]) -> None:
    """An answer in a conversation that has a few things of its own."""
    await answered(pilot)
    await wait_until(pilot, lambda: "on battery" in panel(pilot))
    await ask(pilot, "/system Be brief.")
    await ask(pilot, "/length 4")
    await ask(pilot, "/rule")
    await wait_until(pilot, lambda: "4" in str(pilot.app.query_one("#setup", Static).content))


async def loading(pilot: Pilot[None]) -> None:
    """Loading has got so far and stays there."""
    bar = pilot.app.query_one(LoadingBar)
    await wait_until(pilot, lambda: "62%" in str(bar.content))


async def helped(pilot: Pilot[None]) -> None:
    """Help is asked for after a slow answer."""
    await answered(pilot)
    await pilot.press("f1")


async def marked(pilot: Pilot[None]) -> None:
    """The tokens of an answer are marked by origin."""
    await answered(pilot)
    await pilot.press("f7")
    await wait_until(pilot, lambda: len(pilot.app.query(OriginView)) == 1)


async def unfolded(pilot: Pilot[None]) -> None:
    """The thinking of an answer is shown."""
    await answered(pilot)
    pilot.app.query_one(ThoughtLine).action_fold()
    await wait_until(pilot, lambda: len(pilot.app.query("Thought MarkdownBlock")) == 2)


async def at_a_round(pilot: Pilot[None]) -> None:
    """The timeline is open, the cursor at the fourth round."""
    await answered(pilot)
    await pilot.press("f6")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, TimelineScreen))
    await pilot.press("home", "right", "right", "right")


async def choosing(pilot: Pilot[None]) -> None:
    """The list of pairs is complete."""
    await until_listed(pilot, "Qwen2.5 7B")


async def picking(pilot: Pilot[None]) -> None:
    """The list is opened later, and the disk has been looked at."""
    await until_ready(pilot)
    await pilot.press("f2")
    await until_listed(pilot, "151643")


async def downloading(pilot: Pilot[None]) -> None:
    """A download is half way."""
    await choosing(pilot)
    pilot.app.post_message(Downloading("qwen2.5-7b", PROGRESS))
    await wait_until(pilot, lambda: pilot.app.screen.query_one(DownloadLine).display)


def looks_the_same(
    snap_compare: Compare,
    scenario: str | SpecchatApp,
    prepare: Prepare,
    size: tuple[int, int],
) -> bool:
    """Whether the screen looks as it did, once it has been prepared."""
    app = make_app(scenario) if isinstance(scenario, str) else scenario

    async def run_before(pilot: Pilot[None]) -> None:
        prompt(pilot).cursor_blink = False
        await prepare(pilot)
        await pilot.wait_for_scheduled_animations()

    return snap_compare(app, terminal_size=size, run_before=run_before)


@SIZES
def test_empty_chat(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "happy", ready, size)


@SIZES
def test_finished_answer(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "happy", answered, size)


def test_target_that_keeps_a_state(snap_compare: Compare) -> None:
    assert looks_the_same(snap_compare, "checkpoints", answered, WIDE)


@SIZES
def test_error_card(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "load-failure", broken, size)


@SIZES
def test_loading(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "loading", loading, size)


def test_smallest_screen(snap_compare: Compare) -> None:
    assert looks_the_same(snap_compare, "notice", answered, SMALLEST)


@SIZES
def test_alarm(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "alarm", answered, size)


@SIZES
def test_crash(snap_compare: Compare, size: tuple[int, int]) -> None:
    app = make_app("hold")
    assert looks_the_same(snap_compare, app, crashed, size)


@SIZES
def test_help(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "alarm", helped, size)


@pytest.mark.parametrize("size", [SMALL, LOW, WIDE], ids=["80x24", "120x24", "120x40"])
def test_memory(snap_compare: Compare, size: tuple[int, int], tmp_path: Path) -> None:
    app = app_with(big_pair(tmp_path, n_layers=20 if size == LOW else 140))
    assert looks_the_same(snap_compare, app, answered, size)


@pytest.mark.parametrize("size", [SMALL, LOW], ids=["80x24", "120x24"])
def test_unusual_conversation_on_a_warm_machine(
    snap_compare: Compare, size: tuple[int, int]
) -> None:
    warm = Conditions(temperature_c=74.2, on_battery=True)
    world = replace(world_of("happy"), read_conditions=lambda: warm)
    app = SpecchatApp(choose(Asked(target=PAIR.target, draft=PAIR.draft)), world=world)
    assert looks_the_same(snap_compare, app, set_up, size)


@pytest.mark.parametrize("size", [SMALLEST, SMALL, WIDE], ids=["60x16", "80x24", "120x40"])
def test_first_run(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, app_with(FIRST), choosing, size)


@SIZES
def test_download(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, app_with(FIRST), downloading, size)


@pytest.mark.parametrize("size", [SMALLEST, SMALL, WIDE], ids=["60x16", "80x24", "120x40"])
def test_pairs(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, app_with(LATER, disk=True), picking, size)


@SIZES
def test_origins(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "happy", marked, size)


def test_origins_without_colours(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert looks_the_same(snap_compare, "happy", marked, SMALL)


@SIZES
def test_folded_thinking(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "think", answered, size)


def test_unfolded_thinking(snap_compare: Compare) -> None:
    assert looks_the_same(snap_compare, "think", unfolded, WIDE)


@pytest.mark.parametrize("size", [SMALLEST, SMALL, WIDE], ids=["60x16", "80x24", "120x40"])
def test_timeline(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert looks_the_same(snap_compare, "happy", at_a_round, size)
