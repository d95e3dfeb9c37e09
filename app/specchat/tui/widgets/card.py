"""A card in the chat: what was tried, what happened, what to do next."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Button, Collapsible, Static

from specchat.engine.protocol import Failed, Notice
from specchat.tui.wording import visible


class Card(Vertical):
    """Something the person should know, with buttons when there is something to press.

    Args:
        mark: one character that tells an error from a notice without its colour.
        actions: of each button its label, and the action of the application that it runs.
        log: lines of a log, folded away.
    """

    def __init__(
        self,
        title: str,
        message: str,
        help: str,
        *,
        mark: str,
        actions: Sequence[tuple[str, str]] = (),
        log: tuple[str, ...] = (),
        classes: str = "",
    ) -> None:
        super().__init__(classes=classes)
        self._lines = (f"{mark} {title}", message, help)
        self._actions = tuple(actions)
        self._log_lines = log

    @classmethod
    def of_failure(cls, failed: Failed, *actions: tuple[str, str]) -> "Card":
        """The card of something that did not work."""
        return cls(
            failed.title,
            failed.message,
            failed.help,
            mark="✗",
            actions=actions,
            log=failed.log,
            classes="failure",
        )

    @classmethod
    def of_notices(cls, notices: Iterable[Notice]) -> Iterator["Card"]:
        """Quiet cards; what has one title comes on one card."""
        for title, group in groupby(notices, key=lambda notice: notice.title):
            alike = list(group)
            message = "\n".join(notice.message for notice in alike)
            advice = " ".join(notice.help for notice in alike if notice.help)
            yield cls.of_notice(Notice(alike[0].kind, title, message, advice))

    @classmethod
    def of_notice(cls, notice: Notice, *actions: tuple[str, str]) -> "Card":
        """The quiet card of something that stops nothing."""
        return cls(
            notice.title,
            notice.message,
            notice.help,
            mark="i",
            actions=actions,
            classes="notice",
        )

    @property
    def is_open(self) -> bool:
        """Whether it waits for one of its buttons."""
        return bool(self._actions)

    def compose(self) -> ComposeResult:
        title, message, next_step = map(visible, self._lines)
        yield Static(title, markup=False, classes="title")
        yield Static(message, markup=False)
        if next_step:
            yield Static(f"→ {next_step}", markup=False, classes="help")
        if self._log_lines:
            with Collapsible(title="last lines of the log"):
                yield Static(visible("\n".join(self._log_lines)), markup=False, classes="log")
        if self._actions:
            with Vertical(classes="buttons"):
                for label, action in self._actions:
                    yield Button(label, variant="primary", compact=True, action=f"app.{action}")

    def settle(self) -> None:
        """There is nothing to press any more."""
        self._actions = ()
        self.query(".buttons").remove()
