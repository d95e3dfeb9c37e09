"""How the tests use the screen with settings: write the file, start, go to a group, read it."""

from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static, Tabs

from specchat.choosing.choice import Asked, choose
from specchat.settings import settings_path
from specchat.settings_file import read_settings
from specchat.tui.app import SpecchatApp
from specchat.tui.screens.settings import SettingsScreen
from specchat.tui.widgets.setting_row import SettingRow
from tui.screen_driver import PAIR, until_ready, wait_until, world_of


def app_with_settings(text: str = "", scenario: str = "asked", **given: Any) -> SpecchatApp:
    """The screen as `specchat` starts it with this file and these options."""
    settings_path().write_text(text)
    settings = read_settings()
    return SpecchatApp(
        choose(Asked(target=PAIR.target, draft=PAIR.draft)),
        settings,
        given,
        world=world_of(scenario),
    )


def file() -> str:
    """The settings file as it is."""
    return settings_path().read_text()


async def open_settings(pilot: Pilot[None], group: str = "chat") -> SettingsScreen:
    """Press F4 and go to a group."""
    await until_ready(pilot)
    await pilot.press("f4")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
    screen = pilot.app.screen
    assert isinstance(screen, SettingsScreen)
    screen.query_one(Tabs).active = group
    await wait_until(pilot, lambda: screen.shown == group)
    return screen


def row(pilot: Pilot[None], name: str) -> SettingRow:
    """The setting of this name in the group that is shown."""
    [found] = (each for each in pilot.app.screen.query(SettingRow) if each.field.name == name)
    return found


def said(pilot: Pilot[None], name: str) -> str:
    """Everything that stands below a setting."""
    lines = row(pilot, name).query(Static).results(Static)
    return "\n".join(str(line.content) for line in lines if line.display)


async def type_into(pilot: Pilot[None], name: str, text: str) -> None:
    """Write into a setting's field, in place of what is there."""
    field = row(pilot, name).query_one(Input)
    field.focus()
    field.value = ""
    await pilot.press(*text)
    await pilot.pause()


def listed(pilot: Pilot[None]) -> list[str]:
    """The lines of the list of keys."""
    options = pilot.app.screen.query_one(OptionList).options
    return [str(option.prompt) for option in options]
