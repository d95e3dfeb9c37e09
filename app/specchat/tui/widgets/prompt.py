"""The place to write."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

LINE_KEYS = ("ctrl+j", "shift+enter", "alt+enter")
PAGE_KEYS = ("pageup", "pagedown")


class Prompt(TextArea, inherit_bindings=False):
    """Grows with the text up to six lines; Enter sends, Ctrl+J starts a new line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", id="prompt.send", show=False),
        Binding(",".join(LINE_KEYS), "new_line", "New line", id="prompt.new_line"),
        # The page keys scroll the chat: the prompt is never longer than a page.
        *(b for b in TextArea.BINDINGS if isinstance(b, Binding) and b.key not in PAGE_KEYS),
    ]

    class Submitted(Message):
        """The person has sent this text; the prompt no longer holds it."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(
            compact=True,
            highlight_cursor_line=False,
            placeholder="Ask something",
            show_line_numbers=False,
        )

        self.refusal = ""
        """Why nothing can be sent now; empty when it can. The application lifts it."""

    def on_key(self, event: events.Key) -> None:
        """Obey the keys that send and break lines.

        They are handled here, in turn with the letters: a binding runs when the application gets
        to it, which may be before or after the letters around it.
        """
        if event.key == "enter":
            self.action_submit()
        elif event.key in LINE_KEYS:
            self.action_new_line()
        else:
            return
        event.stop()
        event.prevent_default()

    def action_submit(self) -> None:
        """Send the text, if there is any and it can be sent."""
        text = self.text.strip()
        if text and self.refusal:
            self.hint(self.refusal)
        elif text:
            self.clear()
            self.refusal = "one moment"
            self.post_message(self.Submitted(text))

    def action_new_line(self) -> None:
        """Start a new line at the cursor."""
        self.type_in("\n")

    def type_in(self, text: str) -> None:
        """Put text in place of the selection, the cursor behind it."""
        self.replace(text, *self.selection, maintain_selection_offset=False)

    def hint(self, text: str) -> None:
        """A few words on the border, until the text is changed."""
        self.border_subtitle = Content(text)

    def give_back(self, text: str) -> None:
        """Put a text back, before what has been written meanwhile."""
        if not text:
            return
        rest = self.text
        self.load_text(f"{text}\n{rest}" if rest.strip() else text)
        self.move_cursor(self.document.end)

    def on_text_area_changed(self) -> None:
        """A hint was about the text as it was."""
        self.hint("")

    def on_paste(self, event: events.Paste) -> None:
        """Take pasted line ends of any kind for newlines."""
        event.stop()
        event.prevent_default()
        self.type_in(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        self.focus()
