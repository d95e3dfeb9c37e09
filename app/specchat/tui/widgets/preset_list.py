"""Presets: the one in use, saving what holds now under a name, and deleting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Input, Static

from specchat.settings import Preset, Settings
from specchat.tui.answer_settings import AnswerSettings
from specchat.tui.preferences import Preferences
from specchat.tui.setting_fields import SettingField
from specchat.tui.widgets.setting_row import SettingRow
from specchat.tui.wording import SEPARATOR, visible

REALLY = "Really?"


class PresetRow(Horizontal):
    """One preset, and a button that deletes it.

    Args:
        name: of the preset.
        says: what it sets.
    """

    def __init__(self, name: str, says: str) -> None:
        super().__init__()
        self.preset = name
        self._says = says

    def compose(self) -> ComposeResult:
        yield Static(visible(self.preset), markup=False, classes="name")
        yield Static(visible(self._says), markup=False, classes="meaning")
        yield Button("Delete", compact=True, classes="delete")


class PresetList(VerticalScroll, can_focus=False):
    """The presets of the settings.

    Args:
        active: the field of the one that is used where none is chosen.
        preferences: where presets are read and written.
        answers: what holds for the next answer.
    """

    HELP = (
        "A preset is a system prompt, sampling and speculation under a name. The active one is "
        "used in every conversation that has none of its own."
    )

    def __init__(
        self,
        active: SettingField,
        preferences: Preferences,
        answers: Callable[[], AnswerSettings],
    ) -> None:
        super().__init__()
        self._preferences = preferences
        self._answers = answers
        active = replace(active, kind="choice", choices=self._names)
        self._active = SettingRow(active, preferences, lambda *_: None)
        self._new_name = Input(placeholder="a name", compact=True)
        self._said = Static("", markup=False, classes="problem")
        self._asked_about = ""
        """The preset that is replaced once it is saved a second time."""
        self._rows = Vertical(id="preset-rows")

    def compose(self) -> ComposeResult:
        yield self._active
        with Horizontal(classes="head"):
            yield Static("save as", classes="name")
            yield self._new_name
            yield Button("Save", compact=True, id="save")
        about = "The system prompt, sampling and speculation of the present chat, under this name."
        yield Static(about, markup=False, classes="about")
        yield self._said
        yield self._rows

    async def on_mount(self) -> None:
        """List what there is."""
        self._say("")
        await self._fill()

    @on(Input.Submitted)
    @on(Button.Pressed, "#save")
    async def save(self, event: Input.Submitted | Button.Pressed) -> None:
        """Keep what holds for the next answer."""
        event.stop()
        name = self._new_name.value.strip()
        if not name:
            self._say("✗ It needs a name.")
            return
        replaces = name in self._preferences.settings.presets
        if replaces and name != self._asked_about:
            self._asked_about = name
            self._say(f"! There is a preset {visible(name)}. Save it again to replace it.")
            return
        self._asked_about = ""
        problem = self._preferences.save(("presets", name), as_preset(self._answers()))
        if not problem:
            self._new_name.clear()
            await self._fill()
            self._active.offer(self._names)
        done = f"✓ {visible(name)} is {'replaced' if replaces else 'kept'}."
        self._say(f"✗ {visible(problem)}" if problem else done)

    @on(Input.Changed)
    def take_other_name(self, event: Input.Changed) -> None:
        """What was asked about another name is not answered by this one."""
        event.stop()
        if event.value.strip() != self._asked_about:
            self._asked_about = ""

    @on(Button.Pressed, ".delete")
    async def delete(self, event: Button.Pressed) -> None:
        """Delete it, once it has been asked for twice."""
        event.stop()
        row = event.button.parent
        if str(event.button.label) != REALLY or not isinstance(row, PresetRow):
            event.button.label = REALLY
            return
        problem = ""
        if self._preferences.settings.chat.preset == row.preset:
            problem = self._preferences.save(("chat", "preset"), None)
        problem = problem or self._preferences.save(("presets", row.preset), None)
        if not problem:
            await self._fill()
            self._active.offer(self._names)
        self._say(f"✗ {visible(problem)}" if problem else f"✓ {visible(row.preset)} is gone.")

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(self._preferences.settings.presets)

    async def _fill(self) -> None:
        settings = self._preferences.settings
        await self._rows.remove_children()
        await self._rows.mount_all(
            PresetRow(name, summary(preset, settings)) for name, preset in settings.presets.items()
        )

    def _say(self, text: str) -> None:
        self._said.display = bool(text)
        self._said.update(text)


def as_preset(answers: AnswerSettings) -> dict[str, Any]:
    """What holds for the next answer, as a table of the file."""
    tables: dict[str, Any] = {"system": answers.system} if answers.system else {}
    for table in ("sampling", "speculation"):
        values = msgspec.structs.asdict(getattr(answers, table)).items()
        tables[table] = {name: value for name, value in values if value not in (None, {})}
    return tables


def summary(preset: Preset, settings: Settings) -> str:
    """What a preset has otherwise than the settings, in a line."""
    parts = [
        f"{name.replace('_', ' ')} {value}"
        for table in ("sampling", "speculation")
        for name, value in msgspec.structs.asdict(getattr(preset, table)).items()
        if value != getattr(getattr(settings, table), name)
    ]
    if preset.system and preset.system != settings.chat.system:
        parts.append(f"“{' '.join(preset.system.split())}”")
    return SEPARATOR.join(parts) or "as without it"
