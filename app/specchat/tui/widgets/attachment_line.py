"""The files that go along with the next message, above the prompt."""

from collections.abc import Iterable
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from specchat.tui.attachments import Attachment, tokens_text
from specchat.tui.wording import SEPARATOR, visible

CROSS = "\N{MULTIPLICATION SIGN}"
CROSS_COLUMNS = 2


class AttachedFile(Static, can_focus=True):
    """One file: its name, how much it is, and a cross to take it off."""

    HELP = "A file that goes along with the next message, as it was when it was attached."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "delete,backspace",
            "remove",
            "Take off",
            id="attachment.remove",
            tooltip="Do not send this file along",
        ),
    ]

    class Removed(Message):
        """The person takes the file off."""

        def __init__(self, file: "AttachedFile") -> None:
            super().__init__()
            self.file = file

    def __init__(self, attachment: Attachment) -> None:
        self.attachment = attachment
        text = f" {visible(attachment.name)}{SEPARATOR}{attachment.measure}"
        super().__init__(Content.assemble((CROSS, "bold"), text))

    def action_remove(self) -> None:
        """Take it off."""
        self.post_message(self.Removed(self))

    def on_click(self, event: events.Click) -> None:
        """The cross takes it off."""
        if event.x < CROSS_COLUMNS:
            self.action_remove()


class AttachmentLine(VerticalScroll, can_focus=False):
    """One row a file, and what all of them come to."""

    class Changed(Message):
        """A file was taken off."""

    def __init__(self) -> None:
        super().__init__()
        self.attachments: tuple[Attachment, ...] = ()
        self.display = False

    def add(self, attachment: Attachment) -> None:
        """One more file; one that is there already is read anew."""
        kept = [old for old in self.attachments if old.path != attachment.path]
        self.show([*kept, attachment])

    def show(self, attachments: Iterable[Attachment]) -> None:
        """Exactly these files."""
        self.attachments = tuple(attachments)
        self.display = bool(self.attachments)
        for row in self.query(Static):
            row.remove()
        rows: list[Static] = [AttachedFile(each) for each in self.attachments]
        if len(rows) > 1:
            count = sum(each.about_tokens for each in self.attachments)
            rows.append(Static(f"  {len(rows)} files{SEPARATOR}{tokens_text(count)} together"))
        self.mount_all(rows)
        self.scroll_end(animate=False)

    @on(AttachedFile.Removed)
    def take_off(self, event: AttachedFile.Removed) -> None:
        """Do not send this file along."""
        event.stop()
        gone = event.file.attachment
        self.show(each for each in self.attachments if each is not gone)
        self.post_message(self.Changed())
