"""What a person set for the screen: it is put into effect, and changes are written to the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from textual.app import App
from textual.theme import BUILTIN_THEMES, Theme
from textual.types import AnimationLevel

from specchat.errors import SpecchatError
from specchat.settings import ScreenSettings, Settings
from specchat.tui.actions import keymap_of, screen_mistakes
from specchat.tui.widgets.prompt import Prompt

OVER_SSH = ("SSH_CONNECTION", "SSH_TTY")
PANEL_CLASSES = ("-panel-open", "-panel-line", "-panel-hidden")
LIGHT_BACKGROUNDS = ("7", "15")
"""White, as the last part of `COLORFGBG`."""


class Preferences:
    """The settings as they are now.

    Args:
        app: the screen that they are about.
        settings: those of the file.
        changed: called after each change.
    """

    def __init__(
        self, app: App[None], settings: Settings, changed: Callable[[Settings], None]
    ) -> None:
        self.settings = settings
        self._app = app
        self._changed = changed
        self._first_theme = theme_for(os.environ) or app.theme
        self._first_animations = app.animation_level
        self._theme = settings.screen.theme or self._first_theme
        # Before the screen is drawn for the first time; from now on the theme says which colours.
        app.set_reactive(App.ansi_color, None)
        app.theme = self._theme

    def begin(self, prompt: Prompt) -> None:
        """The screen is there: let it look and behave as is set."""
        self._prompt, self._chat = prompt, prompt.screen
        self._put_into_effect()
        self._app.theme_changed_signal.subscribe(self._app, self._remember_theme)

    def problem(self, place: tuple[str, ...], value: object) -> str:
        """Why this value does not go there; empty where it does. Nothing is written."""
        from specchat.settings_file import try_setting

        try:
            try_setting(place, value, check=screen_mistakes)
        except SpecchatError as error:
            return error.happened
        return ""

    def save(self, place: tuple[str, ...], value: object) -> str:
        """Write it to the file and put it into effect.

        Returns:
            Why that did not work; empty where it did.
        """
        from specchat.settings_file import write_setting

        try:
            self.settings = write_setting(place, value, check=screen_mistakes)
        except SpecchatError as error:
            return error.happened
        self._put_into_effect()
        self._changed(self.settings)
        return ""

    def _put_into_effect(self) -> None:
        app, screen = self._app, self.settings.screen
        self._theme = screen.theme or self._first_theme
        app.theme = self._theme
        for name in PANEL_CLASSES:
            self._chat.set_class(name == f"-panel-{screen.panel}", name)
        app.animation_level = animation_level(screen, os.environ, self._first_animations)
        self._prompt.cursor_blink = app.animation_level != "none"
        keymap = keymap_of(self.settings)
        app.set_keymap(keymap)
        self._prompt.use_keys(keymap)

    def _remember_theme(self, theme: Theme) -> None:
        """The person chose other colours from the list of commands."""
        if theme.name == self._theme:
            return
        self._theme = theme.name
        problem = self.save(("screen", "theme"), theme.name)
        if problem:
            self._app.notify(problem, title="The theme could not be kept", severity="warning")


def animation_level(
    screen: ScreenSettings, environment: Mapping[str, str], usual: AnimationLevel
) -> AnimationLevel:
    """How much may move; over SSH nothing: every picture goes through the network."""
    if screen.animations == "auto":
        return "none" if any(environment.get(name) for name in OVER_SSH) else usual
    return "full" if screen.animations == "on" else "none"


def theme_for(environment: Mapping[str, str]) -> str | None:
    """The theme for a terminal that says that its background is light; None: as it is."""
    if "TEXTUAL_THEME" in environment:
        return None
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return "textual-light" if background in LIGHT_BACKGROUNDS else None


def has_ansi_theme(settings: Settings) -> bool:
    """Whether the theme leaves all colours to the terminal.

    The application has to know that from the start: with NO_COLOR it then leaves colours out, in
    place of making them grey.
    """
    theme = BUILTIN_THEMES.get(settings.screen.theme or "")
    return theme is not None and theme.ansi
