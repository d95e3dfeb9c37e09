"""Does what was asked for by a command in the prompt, or in the list of all commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any

from textual.app import SystemCommand

from specchat.errors import SpecchatError
from specchat.tui.slash import Given
from specchat.tui.slash_table import BY_NAME, COMMANDS
from specchat.tui.widgets.prompt import Prompt

Obey = Callable[[str], Awaitable[None] | None]
"""Does what a command stands for, given its argument."""


class CommandRunner:
    """What the person sees of it is a sentence above the prompt, or what the command opens.

    Args:
        prompt: gets the command back when it cannot be obeyed.
        obey: what each command does, by the id of its action.
    """

    def __init__(self, prompt: Prompt, obey: Mapping[str, Obey]) -> None:
        self._prompt = prompt
        self._obey = obey

    async def run(self, given: Given, text: str) -> None:
        """Obey.

        Args:
            text: the command as it was written.
        """
        try:
            result = self._obey[given.command.action](given.argument)
            if result is not None:
                await result
        except SpecchatError as error:
            self._prompt.give_back(text)
            self._prompt.say(f"{error.message} {error.next_step}")

    async def begin(self, name: str) -> None:
        """Obey a command by its name; one that needs an argument is to be gone on with."""
        command = BY_NAME[name]
        if command.argument and not command.optional:
            self._prompt.begin_command(f"/{name} ")
        else:
            await self.run(Given(command), f"/{name}")

    def listed(self, known: Mapping[str, Any]) -> Iterator[tuple[str, SystemCommand]]:
        """Commands for the list of all, by the id of their action, but those that are known there:
        they say why they cannot be obeyed now."""
        for command in COMMANDS:
            if command.action in known:
                continue
            run = partial(self.begin, command.name)
            yield command.action, SystemCommand(command.title, command.does, run)
