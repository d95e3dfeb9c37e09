"""A card in the chat: what was tried, what happened, what to do next."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Button, Collapsible, Static

from specchat.engine.protocol import Failed, Notice
from specchat.tui.wording import visible


class Card(Vertical):
    """Something the person should know, with a button when there is something to press.

    Args:
        mark: one character that tells an error from a notice without its colour.
        action: the label of the button.
        log: lines of a log, folded away.
    """

    class Pressed(Message):
        """The card's button was pressed."""

    def __init__(
        self,
        title: str,
        message: str,
        help: str,
        *,
        mark: str,
        action: str = "",
        log: tuple[str, ...] = (),
        classes: str = "",
    ) -> None:
        super().__init__(classes=classes)
        self._lines = (f"{mark} {title}", message, help)
        self._action = action
        self._log_lines = log

    @classmethod
    def of_failure(cls, failed: Failed, action: str = "") -> "Card":
        """The card of something that did not work."""
        return cls(
            failed.title,
            failed.message,
            failed.help,
            mark="✗",
            action=action,
            log=failed.log,
            classes="failure",
        )

    @classmethod
    def of_notice(cls, notice: Notice) -> "Card":
        """The quiet card of something that stops nothing."""
        return cls(notice.title, notice.message, notice.help, mark="i", classes="notice")

    @property
    def is_open(self) -> bool:
        """Whether it waits for its button."""
        return bool(self._action)

    def compose(self) -> ComposeResult:
        title, message, next_step = map(visible, self._lines)
        yield Static(title, markup=False, classes="title")
        yield Static(message, markup=False)
        yield Static(f"→ {next_step}", markup=False, classes="help")
        if self._log_lines:
            with Collapsible(title="last lines of the log"):
                yield Static(visible("\n".join(self._log_lines)), markup=False, classes="log")
        if self._action:
            yield Button(self._action, variant="primary", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Say that the button was pressed."""
        event.stop()
        self.post_message(self.Pressed())

    def settle(self) -> None:
        """There is nothing to press any more."""
        self._action = ""
        self.query(Button).remove()
