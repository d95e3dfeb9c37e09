"""Everything that can be set, from the structs of `settings.py`, written to the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Footer, Static, Tab, Tabs

from specchat.tui.answer_settings import AnswerSettings
from specchat.tui.preferences import Preferences
from specchat.tui.setting_fields import SettingField, about, fields_of, tables
from specchat.tui.widgets.key_list import KeyList
from specchat.tui.widgets.preset_list import PresetList
from specchat.tui.widgets.setting_row import SettingRow

ACTIVE_PRESET = ("chat", "preset")
KEYS, PRESETS = "keys", "presets"


class SettingsScreen(ModalScreen[None]):
    """A tab for each table of the file; what is set in one holds at once, or when it says.

    Args:
        preferences: where settings are read and written.
        answers: what holds for the next answer.
    """

    HELP = (
        "Each setting: what it is now, what it means, and when a change is felt. What is chosen "
        "from a list is kept at once; what is typed, on Enter or when you go elsewhere, and a "
        "mistake is said meanwhile. An emptied field has its default again. All is kept in "
        "settings.toml in the config folder, where your comments stay as they are. A preset wins "
        "over these settings, what a conversation sets for itself over the preset, and an option "
        "of the command line over all of them: where one does, it is said below the setting."
    )
    CSS_PATH = "settings.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f4", "close", "Close", id="settings.close"),
        Binding("down", "app.focus_next", "Next", id="settings.next", show=False),
        Binding("up", "app.focus_previous", "Previous", id="settings.previous", show=False),
        Binding("f9,ctrl+pagedown", "group(1)", "Next group", id="settings.next_group"),
        Binding("f8,ctrl+pageup", "group(-1)", "Group before", id="settings.previous_group"),
        Binding("f1", "app.help", "Help", id="settings.help"),
    ]

    def __init__(self, preferences: Preferences, answers: Callable[[], AnswerSettings]) -> None:
        super().__init__()
        self._preferences = preferences
        self._answers = answers
        self._tabs = Tabs(*(Tab(name, id=name) for name in (*tables(), KEYS, PRESETS)))
        self._group = Container(id="group")
        self.shown = ""
        """The name of the group that is shown."""

    def compose(self) -> ComposeResult:
        yield self._tabs
        yield self._group
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """The arrow keys go through the groups first."""
        self._group.border_subtitle = "kept in settings.toml"
        self._tabs.focus()

    @on(Tabs.TabActivated)
    async def show_group(self, event: Tabs.TabActivated) -> None:
        """Show what is in it."""
        name = event.tab.id or ""
        self._commit()
        await self._group.remove_children()
        await self._group.mount(self._made(name))
        self.shown = name

    def on_screen_suspend(self) -> None:
        """Help or the list of commands comes in front."""
        self._commit()

    def on_screen_resume(self) -> None:
        """A command may have changed something meanwhile."""
        for row in self.query(SettingRow):
            if not row.problem:
                row.show()

    def action_group(self, step: int) -> None:
        """Go to the next group, or to the one before."""
        self._tabs.focus()
        if step > 0:
            self._tabs.action_next_tab()
        else:
            self._tabs.action_previous_tab()

    def action_close(self) -> None:
        """Keep what was typed last, if it can be, and leave."""
        self._commit()
        self.dismiss(None)

    def _commit(self) -> None:
        """Keep what was typed last, if it can be."""
        for row in self.query(SettingRow):
            row.commit()

    def _made(self, name: str) -> Widget:
        if name == KEYS:
            return KeyList(self._preferences)
        if name == PRESETS:
            [active] = (each for each in fields_of("chat") if each.place == ACTIVE_PRESET)
            return PresetList(active, self._preferences, self._answers)
        rows = [
            SettingRow(self._with_names(each), self._preferences, self._instead)
            for each in fields_of(name)
            if each.place != ACTIVE_PRESET
        ]
        return VerticalScroll(
            Static(about(name), markup=False, classes="about"), *rows, can_focus=False
        )

    def _with_names(self, field: SettingField) -> SettingField:
        """Names of themes are known here only."""
        if field.place == ("screen", "theme"):
            themes = tuple(sorted(self.app.available_themes))
            return replace(field, kind="choice", choices=themes)
        return field

    def _instead(self, table: str, name: str) -> tuple[object, str] | None:
        return self._answers().instead(table, name)
