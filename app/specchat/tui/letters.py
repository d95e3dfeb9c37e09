"""Whether a letter does something with the message that has the focus, or is text to write."""

from textual import events
from textual.app import App
from textual.binding import Binding
from textual.keys import key_to_character
from textual.widget import Widget

from specchat.tui.widgets.messages import Said
from specchat.tui.widgets.prompt import Prompt

CHOOSING = frozenset(
    {
        "messages",
        "wish('above')",
        "wish('below')",
        "wish('previous')",
        "wish('next')",
        "app.focus_next",
        "app.focus_previous",
    }
)
"""Actions by which the keyboard goes to a message."""
MOUSE_MARK = "▸"
"""In place of a letter that would be text; the mouse can still press it."""


class Letters:
    """A person who clicks a message reads it, or copies from it, and then writes on; one who goes
    to it by key wants something done with it.

    Args:
        app: the chat.
        prompt: where letters are text.
    """

    def __init__(self, app: App[None], prompt: Prompt) -> None:
        self._app = app
        self._prompt = prompt
        self._by_mouse = False
        """The mouse was the last to go to something."""

    def clicked(self) -> None:
        """A button of the mouse goes down."""
        if not self._by_mouse:
            self._by_mouse = True
            self._app.refresh_bindings()

    def choose(self) -> bool:
        """Make letters keys of the message that was clicked; whether there is one."""
        chosen = self._by_mouse and self._in_message
        self._by_mouse = False
        self._app.refresh_bindings()
        return chosen

    def pressed(self, event: events.Key) -> None:
        """A key comes. The focus is in the prompt before a letter that is text gets there, so that
        no letter overtakes another."""
        app, screen = self._app, self._app.screen
        if len(app.screen_stack) > 1 or screen.focused is self._prompt:
            return
        active = screen.active_bindings.get(event.key)
        if event.is_printable and (active is None or self.are_text(active.binding)):
            screen.set_focus(self._prompt)
        elif active is not None and active.binding.action in CHOOSING:
            self._by_mouse &= active.binding.action == "messages"

    def are_text(self, binding: Binding) -> bool:
        """Whether the key of this binding is text now."""
        return self._by_mouse and key_to_character(binding.key) is not None and self._in_message

    @property
    def _in_message(self) -> bool:
        focused = self._app.screen.focused
        return focused is not None and any(
            isinstance(each, Said) for each in focused.ancestors_with_self
        )


class LetterApp(App[None], inherit_bindings=False):
    """Passes letters on to where they belong."""

    letters: Letters

    async def on_event(self, event: events.Event) -> None:
        """Typing goes to the prompt, wherever the focus is in the chat, but for keys that do
        something there."""
        if isinstance(event, events.MouseDown):
            self.letters.clicked()
        elif isinstance(event, events.Key) and not event.is_forwarded:
            self.letters.pressed(event)
        await super().on_event(event)

    def simulate_key(self, key: str) -> None:
        """A key of the last line was clicked: do what it is for, even where its letter is text."""
        active = self.screen.active_bindings.get(key)
        if active is None:
            super().simulate_key(key)
        else:
            self.call_later(self.run_action, active.binding.action, active.node)

    def get_key_display(self, binding: Binding) -> str:
        """A letter that is text now is none of the keys."""
        return MOUSE_MARK if self.letters.are_text(binding) else super().get_key_display(binding)


def message_of(widget: Widget | None) -> int | None:
    """The message that a widget is part of; None for what is no part of one."""
    if widget is None:
        return None
    found = (each for each in widget.ancestors_with_self if isinstance(each, Said))
    return next((each.message for each in found), None)
