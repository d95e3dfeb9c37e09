"""The chat from its first to its last moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from specchat.settings import Settings
from specchat.tui.actions import require_known_names
from specchat.tui.app import SpecchatApp

if TYPE_CHECKING:
    from specchat.choosing.choice import Choice


def run(
    choice: Choice,
    settings: Settings,
    given: Mapping[str, Any],
    *,
    resume: bool = False,
) -> int:
    """Show the chat until the person quits; the exit code of the process.

    Raises:
        SettingsProblem: the settings name a theme or an action that does not exist.
    """
    require_known_names(settings)
    app = SpecchatApp(choice, settings, given, resume=resume)
    app.run()
    return app.return_code or 0
