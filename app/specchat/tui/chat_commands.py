"""What the commands of the prompt do with the chat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from specchat.chat.reasoning import Tags
from specchat.engine.protocol import Notice
from specchat.tui.bench_command import bench_command
from specchat.tui.command_runner import Obey
from specchat.tui.copying import answer_text, last_code, told
from specchat.tui.setup_changes import CHANGES, LoadedFor, change, present
from specchat.tui.slash_table import Names, Value
from specchat.tui.widgets.card import Card
from specchat.tui.wording import SEPARATOR, shorten

if TYPE_CHECKING:
    from specchat.engine.protocol import Load
    from specchat.settings import Preset
    from specchat.tui.app import SpecchatApp
    from specchat.tui.conversation import Conversation
    from specchat.tui.conversation_pane import ConversationPane

CODE = "code"


class ChatCommands:
    """One method for each command that is more than a key of the application.

    Args:
        app: has the other actions.
        pane: the conversation on screen.
        load: what is loaded, or about to be.
    """

    def __init__(self, app: SpecchatApp, pane: ConversationPane, load: Callable[[], Load]) -> None:
        self._app = app
        self._pane = pane
        self._load = load

    @property
    def table(self) -> dict[str, Obey]:
        """What each command does, by the id of its action."""
        app = self._app
        return {
            **{action: partial(self.change, action) for action in CHANGES},
            "app.pairs": self.pairs,
            "app.compare": self.compare,
            "app.timeline": lambda _: app.action_timeline(),
            "chat.origins": lambda _: app.action_origins(),
            "engine.reload": lambda _: app.action_reload(),
            "app.bench": self.bench,
            "chat.export": self.export,
            "chat.copy": self.copy,
            "chat.details": lambda _: self._pane.show_details(),
            "chat.new": lambda _: app.action_new_chat(),
            "app.conversations": lambda _: app.action_conversations(),
            "app.settings": lambda _: app.action_settings(),
            "app.help": lambda _: app.action_help(),
            "app.quit": lambda _: app.action_quit(),
        }

    def change(self, action: str, argument: str) -> None:
        """Change what holds for the conversation, from the next answer on; without an argument,
        tell what holds."""
        pane = self._pane
        loaded = LoadedFor(
            longest_draft=self._load().plan.max_draft_length,
            has_draft=pane.loaded is None or pane.loaded.drafter != "ngram",
        )
        if not argument:
            pane.prompt.say(present(pane.answers, action, loaded))
            return
        answers, said = change(pane.answers, action, argument, loaded)
        pane.set_up(answers)
        pane.prompt.say(said)

    async def pairs(self, name: str) -> None:
        """Load this pair, or choose one."""
        if name:
            await self._app.action_use_pair(name)
        else:
            self._app.action_pairs()

    def compare(self, _: str = "") -> None:
        """Answer the last question twice, or say why not."""
        if self._pane.can_compare:
            self._app.action_compare()
        else:
            refusal = self._pane.prompt.refusal or "there is no question yet"
            self._pane.prompt.say(f"Nothing can be compared: {refusal}.")

    def bench(self, _: str = "") -> None:
        """Tell the command that measures what is loaded, and copy it."""
        command = bench_command(self._load())
        self._app.copy_to_clipboard(command)
        advice = "It is copied. Leave specchat first: a model that is loaded here would disturb it."
        self._pane.chat.add(
            Card.of_notice(Notice("bench", "To measure this pair", command, advice))
        )

    async def export(self, kind: str = "") -> None:
        """Write the conversation into a file of the current folder."""
        from specchat.tui.conversation_files import export_conversation

        conversation, prompt = self._pane.conversation, self._pane.prompt
        if conversation.key is None:
            prompt.say("There is nothing to export yet.")
            return
        path = await export_conversation(
            conversation.store, conversation.key, "json" if kind == "json" else "markdown"
        )
        prompt.say(f"Exported to {path}.")

    def copy(self, what: str = "") -> None:
        """Copy the last answer, or its last code block."""
        prompt = self._pane.prompt
        found = last_answer(self._pane.conversation)
        if found is None:
            prompt.say("There is no answer to copy yet.")
            return
        text = last_code(*found) if what == CODE else answer_text(*found)
        if text is None:
            prompt.say("The last answer has no code block.")
            return
        self._app.copy_to_clipboard(text)
        prompt.hint(told("the code block" if what == CODE else "the answer", text))


def last_answer(conversation: Conversation) -> tuple[str, Tags | None] | None:
    """The text of the newest answer on screen that has any, and the tags that its prompt left
    open."""
    for message in reversed(conversation.path):
        if message.role != "assistant":
            continue
        text = conversation.text_of(message)
        opened = conversation.opened_of(message)
        if text.strip():
            return text, opened
    return None


def slash_names(presets: Callable[[], Mapping[str, Preset]]) -> Names:
    """What commands can name; the catalog is read once, when it is first asked for.

    Args:
        presets: those of the settings, by name.
    """
    known: list[Value] = []

    def pairs() -> list[Value]:
        if not known:
            from specchat.pairing.catalog import read_all

            catalog = read_all()
            known.extend(Value(name, catalog.title(pair)) for name, pair in catalog.pairs.items())
        return known

    def preset_values() -> list[Value]:
        return [Value(name, _means(preset)) for name, preset in presets().items()]

    return {"presets": preset_values, "pairs": pairs}


def _means(preset: Preset) -> str:
    parts = [f"temperature {preset.sampling.temperature:g}"]
    if preset.system:
        parts.append(shorten(" ".join(preset.system.split()), 40))
    return SEPARATOR.join(parts)
