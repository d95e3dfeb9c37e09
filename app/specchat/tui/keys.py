"""The keys of the chat. Each has an id, by which a person's settings can give it another."""

from functools import partial

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from specchat.tui.actions import UNSET
from specchat.tui.slash_table import COMMANDS

WITH_KEYS = [
    Binding("escape", "stop", "Stop", id="chat.stop", tooltip="Stop the answer, keep what came"),
    Binding("f1", "help", "Help", id="app.help", tooltip="Keys, and what the figures mean"),
    Binding("f2", "pairs", "Pairs", id="app.pairs", tooltip="Choose another model and draft"),
    Binding("f3", "conversations", "Chats", id="app.conversations", tooltip="All conversations"),
    Binding("f4", "settings", "Settings", id="app.settings", tooltip="Sampling, keys, colours"),
    Binding(
        "f5",
        "compare",
        "Compare",
        id="app.compare",
        show=False,
        tooltip="Answer a question twice, plain and with drafts: the chosen one, or the last",
    ),
    Binding(
        "f6",
        "timeline",
        "Timeline",
        id="app.timeline",
        show=False,
        tooltip="The last answer round by round",
    ),
    Binding(
        "f7",
        "origins",
        "Origins",
        id="chat.origins",
        show=False,
        tooltip="Mark where each token of the last answer came from, or no longer",
    ),
    Binding("ctrl+r", "restart", "Restart", id="engine.restart", tooltip="Start the engine again"),
    Binding(
        "ctrl+l",
        "restart_with_less",
        "With less",
        id="engine.restart_with_less",
        tooltip="Start the engine again with less memory: no draft, then a shorter context, "
        "then fewer layers on the GPU",
    ),
    Binding("ctrl+q", "quit", "Quit", id="app.quit", priority=True, tooltip="Leave specchat"),
    Binding(
        "ctrl+n",
        "new_chat",
        "New chat",
        id="chat.new",
        tooltip="Begin a new conversation; this one is kept",
    ),
    Binding(
        "ctrl+p",
        "command_palette",
        "Commands",
        id="app.commands",
        priority=True,
        tooltip="All commands by name",
    ),
    Binding(
        "ctrl+up",
        "messages",
        "Messages",
        id="chat.messages",
        show=False,
        tooltip="Go to the last message: edit it, answer again, copy, go on",
    ),
    Binding("pageup", "scroll_chat(-1)", "Scroll up", id="chat.page_up", show=False),
    Binding("pagedown", "scroll_chat(1)", "Scroll down", id="chat.page_down", show=False),
    Binding(
        "f8",
        "copy_answer",
        "Copy answer",
        id="chat.copy",
        show=False,
        tooltip="Copy the last answer, without its thinking",
    ),
    Binding(
        "f9",
        "copy_answer('code')",
        "Copy code",
        id="chat.copy_code",
        show=False,
        tooltip="Copy the last code block of the last answer",
    ),
    Binding(
        "ctrl+c",
        "interrupt",
        "Stop or quit",
        id="app.interrupt",
        show=False,
        priority=True,
        system=True,
        tooltip="Copy what is selected, else stop the answer; twice in a row: leave specchat",
    ),
]

KEYED = frozenset(binding.id for binding in WITH_KEYS)

BINDINGS: list[BindingType] = [
    *WITH_KEYS,
    *(
        Binding(
            f"{UNSET}{command.action}",
            f"command('{command.name}')",
            command.title,
            id=command.action,
            show=False,
            tooltip=command.does,
        )
        for command in COMMANDS
        if command.action not in KEYED
    ),
]


def commands(app: App[None], screen: Screen[object]) -> dict[str, SystemCommand]:
    """Everything that a key of ours does now, for the command palette, by its id."""
    named: dict[str, SystemCommand] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.id and binding.description and active.enabled:
            run = partial(app.run_action, binding.action, active.node)
            named[binding.id] = SystemCommand(binding.description, binding.tooltip, run)
    named.pop("app.commands", None)
    named.pop("app.interrupt", None)
    return named
