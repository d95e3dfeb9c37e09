"""Does what was asked for by a command in the prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from specchat.engine.protocol import Notice
from specchat.errors import SpecchatError
from specchat.tui.bench_command import bench_command
from specchat.tui.keys import BINDINGS, actions_of
from specchat.tui.setup_changes import CHANGES, Present, change
from specchat.tui.slash import Given
from specchat.tui.widgets.card import Card

if TYPE_CHECKING:
    from specchat.tui.app import SpecchatApp
    from specchat.tui.widgets.prompt import Prompt


class CommandRunner:
    """What the person sees of it is a sentence above the prompt, or what the command opens.

    Args:
        app: where the actions are.
        prompt: gets the command back when it cannot be obeyed.
        present: what holds for the conversation.
    """

    def __init__(self, app: SpecchatApp, prompt: Prompt, present: Callable[[], Present]) -> None:
        self._app = app
        self._prompt = prompt
        self._present = present
        self._actions = actions_of(BINDINGS)

    async def run(self, given: Given, text: str) -> None:
        """Obey.

        Args:
            text: the command as it was written.
        """
        try:
            await self._obey(given)
        except SpecchatError as error:
            self._prompt.give_back(text)
            self._prompt.say(f"{error.message} {error.next_step}")

    async def _obey(self, given: Given) -> None:
        action, argument = given.command.action, given.argument
        if action in CHANGES:
            conversation = self._app.conversation
            setup, said = change(conversation.setup, given, self._present())
            conversation.set_up(setup)
            self._prompt.say(said)
        elif action == "app.pairs" and argument:
            await self._app.action_use_pair(argument)
        elif action == "app.bench":
            self.tell_bench_command()
        elif action == "chat.export":
            await self._app.action_export(argument or "md")
        elif action == "chat.copy" and argument:
            self._app.action_copy_code()
        else:
            await self._app.run_action(self._actions[action])

    def tell_bench_command(self) -> None:
        """The command that measures what is loaded, on a card and in the clipboard."""
        command = bench_command(self._app.load)
        self._app.copy_to_clipboard(command)
        self._app.tell(
            Card.of_notice(
                Notice(
                    "bench",
                    "To measure this pair",
                    command,
                    "It is in the clipboard. Leave specchat first: what is loaded here would "
                    "disturb it.",
                )
            )
        )
