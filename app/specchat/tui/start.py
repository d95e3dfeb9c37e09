"""The chat from its first to its last moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from specchat.settings import Choices, Settings
from specchat.tui.actions import require_known_names
from specchat.tui.app import SpecchatApp

if TYPE_CHECKING:
    from specchat.choosing.choice import Choice


def run(
    choice: Choice,
    settings: Settings,
    choices: Choices,
    given: Mapping[str, Any],
    *,
    resume: bool = False,
) -> int:
    """Show the chat until the person quits; the exit code of the process.

    Raises:
        SettingsProblem: the settings name a theme or an action that does not exist.
    """
    require_known_names(settings)
    app = SpecchatApp(
        choice,
        choices.sampling,
        choices.speculation,
        system=choices.system,
        max_tokens=choices.max_tokens,
        settings=settings,
        given=given,
        resume=resume,
    )
    app.run()
    return app.return_code or 0
