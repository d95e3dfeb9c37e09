"""The speculation panel: what it says, and what of it is in view."""

from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from textual.pilot import Pilot

from specchat.choosing.choice import Asked, choose
from specchat.pairing.machine import Conditions
from specchat.tui import app as app_module
from specchat.tui.app import SpecchatApp
from specchat.tui.machine_watch import watch_machine
from specchat.tui.widgets.speculation_panel import PanelRoom, SpeculationLine, SpeculationPanel
from specchat.tui.world import conditions_here
from tui.offers import app_with
from tui.screen_driver import (
    PAIR,
    WIDE,
    ask,
    ask_and_wait,
    panel,
    tails,
    until_ready,
    wait_until,
    world_of,
)
from tui.test_memory import big_pair
from unit.test_host import Battery, Reading

LOW = (120, 24)
NARROW = (80, 24)
SMALLEST_WIDTH = 60


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


def line(pilot: Pilot[None]) -> str:
    """The panel as one line."""
    return str(pilot.app.query_one(SpeculationLine).content)


async def test_the_one_line_says_what_it_is_worth_and_takes_while_an_answer_comes(
    tmp_path: Path,
) -> None:
    async with app_with(big_pair(tmp_path, n_layers=20), "hold").run_test(size=NARROW) as pilot:
        await until_ready(pilot)
        assert line(pilot) == "speculation: figures come with the answer · 1.3 of 8.0 GiB"
        await ask(pilot, "How?")
        await wait_until(pilot, lambda: bool(tails(pilot)) and "accepted" in line(pilot))
        said = line(pilot).split(" · ")
        assert said[0].endswith(" tok/s")
        assert said[1].endswith("x plain")
        assert said[2].endswith("% accepted")
        assert said[3] == "1.3 of 8.0 GiB"
        assert said[4].startswith("drafting 3")
        assert len(" · ".join(said[:4])) < SMALLEST_WIDTH


async def test_the_one_line_of_a_wide_terminal_has_the_plain_rate_and_its_age(
    tmp_path: Path,
) -> None:
    async with app_with(big_pair(tmp_path, n_layers=20)).run_test(size=NARROW) as pilot:
        await ask_and_wait(pilot, "How?")
        assert "plain 18.0" not in line(pilot)
        await pilot.resize_terminal(99, 24)
        await wait_until(pilot, lambda: "plain 18.0 tok/s 24 s ago · 81% accepted" in line(pilot))
        assert "3.0 a round" in line(pilot)


async def test_the_plain_rate_grows_older_while_nothing_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(app_module, "AGEING_S", 0.02)
    now = 0.0
    world = replace(world_of("happy"), clock=lambda: now)
    app = SpecchatApp(choose(Asked(target=PAIR.target, draft=PAIR.draft)), world=world)
    async with app.run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How?")
        assert "plain 18.0 tok/s 24 s ago" in panel(pilot)
        now = 600.0
        await wait_until(pilot, lambda: "plain 18.0 tok/s 10 min ago" in panel(pilot))


async def test_the_panel_tells_how_warm_the_machine_is_and_that_it_lives_on_its_battery(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chips = {"coretemp": [Reading(73.6)]}
    monkeypatch.setattr(psutil, "sensors_temperatures", lambda: chips, raising=False)
    monkeypatch.setattr(
        psutil, "sensors_battery", lambda: Battery(80.0, 7200, power_plugged=False), raising=False
    )
    world = replace(world_of("happy"), read_conditions=conditions_here)
    app = SpecchatApp(choose(Asked(target=PAIR.target, draft=PAIR.draft)), world=world)
    async with app.run_test(size=WIDE) as pilot:
        await wait_until(pilot, lambda: "74 °C · on battery" in panel(pilot))
        await ask_and_wait(pilot, "How?")
        assert "\n74 °C · on battery\n" in panel(pilot)


async def test_a_machine_is_watched_for_as_long_as_it_tells_anything() -> None:
    mains, battery = Conditions(on_battery=False), Conditions(on_battery=True)
    readings = [mains, mains, battery, Conditions(), mains]
    told: list[Conditions] = []
    await watch_machine(lambda: readings.pop(0), told.append, pause_s=0)
    assert told == [mains, battery]
    assert readings == [mains]


async def test_a_machine_on_mains_that_has_no_sensors_is_not_spoken_of() -> None:
    world = replace(world_of("happy"), read_conditions=lambda: Conditions(on_battery=False))
    app = SpecchatApp(choose(Asked(target=PAIR.target, draft=PAIR.draft)), world=world)
    async with app.run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How?")
        assert "n-gram 34%  model 66%\n\n" in panel(pilot)
