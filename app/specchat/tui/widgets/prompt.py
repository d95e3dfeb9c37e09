"""The place to write."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from specchat.errors import SpecchatError
from specchat.tui import slash
from specchat.tui.actions import actions_by_key
from specchat.tui.attachments import message_of, pasted_paths, read_attachment
from specchat.tui.path_finder import PathFinder, mention, suggestions
from specchat.tui.recall import Recall, RecentQuestions, Written, no_questions
from specchat.tui.slash_table import Names
from specchat.tui.suggestions import Suggestion
from specchat.tui.widgets.attachment_line import AttachmentLine
from specchat.tui.widgets.completions import Completions
from specchat.tui.widgets.folding_text import FoldingText
from specchat.tui.widgets.quiet_line import QuietLine
from specchat.tui.wording import line_ends

OTHERS_KEYS = ("pageup", "pagedown", "f6", "f7", "up", "down")
"""They scroll the chat (the prompt is never longer than a page), or do something of ours."""


class Prompt(FoldingText, inherit_bindings=False):
    """Grows with the text up to six lines; Enter sends, Ctrl+J starts a new line.

    Its other parts are shown by `Writing`: the list of completions, the attached files, and a line
    for what there is to say.

    Args:
        names: what commands can name.
        recent: what was asked in earlier chats.
    """

    HELP = (
        "A line that begins with / is a command; // begins a message with a slash. @ and a part of "
        "a path attaches a text file, and so does dropping one here. Tab or Enter takes what the "
        "list has highlighted, Esc closes it. Long pasted texts are folded to one word; deleting "
        "the word removes them."
    )

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", id="prompt.send", show=False),
        Binding("ctrl+j,shift+enter,alt+enter", "new_line", "New line", id="prompt.new_line"),
        Binding(
            "up",
            "older",
            "Older",
            id="prompt.older",
            show=False,
            tooltip="On the first line: what was sent before",
        ),
        Binding(
            "down",
            "newer",
            "Newer",
            id="prompt.newer",
            show=False,
            tooltip="On the last line: what was sent after that, then what you were writing",
        ),
        *(
            binding
            for binding in TextArea.BINDINGS
            if isinstance(binding, Binding) and binding.key not in OTHERS_KEYS
        ),
    ]

    class Submitted(Message):
        """The person has sent this text; the prompt no longer holds it."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Commanded(Message):
        """The person has given a command; the prompt no longer holds it."""

        def __init__(self, given: slash.Given, text: str) -> None:
            super().__init__()
            self.given = given
            self.text = text
            """As it was written."""

    def __init__(self, names: Names | None = None, recent: RecentQuestions = no_questions) -> None:
        super().__init__(placeholder="Ask something")
        self.refusal = ""
        """Why nothing can be sent now; empty when it can. The application lifts it."""
        self.popup = Completions()
        self.attached = AttachmentLine()
        self.quiet = QuietLine()
        self.names: Names = names or {}
        self._recall = Recall(recent)
        self._paths = PathFinder()
        self._offered_at = (0, 0)
        """Where the cursor was when the list was opened."""
        self.use_keys({})

    def use_keys(self, keymap: Mapping[str, str]) -> None:
        """Obey these keys, by the ids of the bindings; for the rest those that are there."""
        self._keys = actions_by_key(type(self).BINDINGS, keymap)
        self._list_keys = actions_by_key(Completions.BINDINGS, keymap)

    @property
    def written(self) -> Written:
        """What is held, as it is shown."""
        return Written(self.text, self.attached.attachments)

    # Keys

    def on_key(self, event: events.Key) -> None:
        """Obey the keys that send, break lines and choose.

        They are handled here, in turn with the letters: a binding runs when the application gets
        to it, which may be before or after the letters around it.
        """
        if not (self.popup.is_open and self._obey_in_list(event.key)):
            match self._keys.get(event.key, event.key):
                case "submit":
                    self.action_submit()
                case "new_line":
                    self.action_new_line()
                case "older":
                    self.action_older()
                case "newer":
                    self.action_newer()
                case "up":
                    self.action_cursor_up()
                case "down":
                    self.action_cursor_down()
                case _:
                    return
        event.stop()
        event.prevent_default()

    def _obey_in_list(self, key: str) -> bool:
        """What a key does while the list is open; False: the same as always."""
        match self._list_keys.get(key):
            case "move(-1)":
                self.popup.move(-1)
            case "move(1)":
                self.popup.move(1)
            case "take":
                self.take(self.popup.chosen)
            case "close":
                self.popup.hide()
            case "run" if self.popup.moved or not slash.is_whole(self.text, self.names):
                self.take_and_run()
            case _:
                return False
        return True

    # Sending

    def action_submit(self) -> None:
        """Send the text, if there is any and it can be sent; obey it if it is a command."""
        text = self.text.strip()
        attachments = self.attached.attachments
        if slash.is_command(text):
            self._give(text)
        elif not text and not attachments:
            return
        elif self.refusal:
            self.hint(self.refusal)
        else:
            message = message_of(self.unfolded(slash.literal(text)), attachments)
            self._recall.sent(message, Written(text, attachments))
            self._empty()
            self.attached.show(())
            self.refusal = "one moment"
            self.post_message(self.Submitted(message))

    def _give(self, text: str) -> None:
        whole = self.unfolded(text)
        try:
            given = slash.parse(whole, self.names)
        except SpecchatError as error:
            self.say(f"{error.message} {error.next_step}")
            return
        self._recall.sent(whole, Written(text))
        self._empty()
        self.post_message(self.Commanded(given, whole))

    def _empty(self) -> None:
        self.clear()
        self.popup.hide()

    # Writing

    def action_new_line(self) -> None:
        """Start a new line at the cursor."""
        self.type_in("\n")

    def begin_command(self, text: str) -> None:
        """Put the beginning of a command before what is written, to be gone on with."""
        self.focus()
        if not self.text.strip():
            self._empty()
            self.type_in(text)
        else:
            self.say(f"{text.strip()} is a command: write it into an empty prompt.")

    def give_back(self, message: str) -> None:
        """Put a message back as it was written, before what has been written meanwhile."""
        if not message:
            return
        written, rest = self._recall.as_written(message), self.text
        attachments = dict.fromkeys((*written.attachments, *self.attached.attachments))
        text = f"{written.text}\n{rest}" if rest.strip() else written.text
        self.put(Written(text, tuple(attachments)))

    def put(self, written: Written) -> Written:
        """Hold this in place of what is held; that is the result."""
        before = self.written
        self.hold(written.text)
        self.popup.hide()
        if written.attachments != before.attachments:
            self.attached.show(written.attachments)
        return before

    def put_message(self, message: str) -> Written:
        """Hold a message that was said, to be worded otherwise; what was held is the result."""
        return self.put(Written(slash.escaped(message)))

    def on_paste(self, event: events.Paste) -> None:
        """Take pasted line ends of any kind for newlines, and fold what is long away."""
        event.stop()
        event.prevent_default()
        text = line_ends(event.text)
        paths = pasted_paths(text)
        if paths:
            text = " ".join(text.split("\n")).strip()
        self.type_in(self.folded(text))
        self.focus()
        if paths:
            self._offer_to_attach(paths, text)

    # What was sent before

    def action_older(self) -> None:
        """Show what was sent before this; further down, go up a line."""
        first = self.navigator.is_first_wrapped_line(self.cursor_location)
        if not (first and self._go_to(self._recall.older(self.written), at_end=False)):
            self.action_cursor_up()

    def action_newer(self) -> None:
        """Show what was sent after this; further up, go down a line."""
        last = self.navigator.is_last_wrapped_line(self.cursor_location)
        if not (last and self._go_to(self._recall.newer(self.written), at_end=True)):
            self.action_cursor_down()

    def _go_to(self, written: Written | None, *, at_end: bool) -> bool:
        if written is None:
            return False
        self.put(written)
        if not at_end:
            self.move_cursor((0, len(self.document.get_line(0))))
        return True

    # What may be meant

    def update_suggestion(self) -> None:
        """The text has changed: look for what may be meant by it, in turn with the letters."""
        self.hint("")
        self.say("")
        row, column = self.cursor_location
        typed = self.document.get_line(row)[:column]
        if row == 0 and slash.is_command(typed):
            self._complete_command(typed)
        elif (part := mention(typed)) is not None:
            self._complete_path(part)
        else:
            self.popup.hide()

    def on_text_area_selection_changed(self) -> None:
        """The cursor has left what was being completed."""
        if self.selection != Selection.cursor(self._offered_at):
            self.popup.hide()

    def on_blur(self) -> None:
        """Another place has the keys now."""
        self.popup.hide()

    def _offer(self, offered: Sequence[Suggestion]) -> None:
        self._offered_at = self.cursor_location
        self.popup.show(offered)

    def _complete_command(self, typed: str) -> None:
        try:
            self._offer(slash.complete(typed, self.names))
        except SpecchatError as error:  # such as a catalog of the person's that does not read
            self.popup.hide()
            self.say(f"{error.message} {error.next_step}")

    def _complete_path(self, part: str) -> None:
        if not part:
            self._paths.forget()
        if self._paths.knows(part):
            self._show_paths(part)
        else:
            self.run_worker(self._look_for_paths(part), group="paths", exclusive=True)

    async def _look_for_paths(self, part: str) -> None:
        await asyncio.to_thread(self._paths.look, part)
        row, column = self.cursor_location
        now = mention(self.document.get_line(row)[:column])
        if now is not None and self._paths.knows(now):
            self._show_paths(now)

    def _show_paths(self, part: str) -> None:
        row, column = self.cursor_location
        typed = self.document.get_line(row)[:column]
        self._offer(suggestions(typed, self._paths.matches(part)))

    def take(self, suggestion: Suggestion) -> None:
        """Put it in place of what was typed, and attach what goes with it."""
        row, column = self.cursor_location
        self.popup.hide()
        self.replace(
            suggestion.text,
            (row, suggestion.start),
            (row, column),
            maintain_selection_offset=False,
        )
        self._attach_files(suggestion.paths)

    def take_and_run(self) -> None:
        """Take what is highlighted; a command that is whole with it is obeyed."""
        self.take(self.popup.chosen)
        self.focus()
        if slash.is_command(self.text) and slash.is_whole(self.text, self.names):
            self.action_submit()

    # Files

    def _attach_files(self, paths: Sequence[str]) -> None:
        for path in paths:
            try:
                self.attached.add(read_attachment(path))
            except SpecchatError as error:
                self.say(f"{error.message} {error.next_step}")

    def _offer_to_attach(self, paths: Sequence[str], pasted: str) -> None:
        """Paths that were pasted, or dropped by the mouse, may be meant as files."""
        try:
            files = [read_attachment(path) for path in paths]
        except SpecchatError as error:
            self.say(f"{error.message} The path stays as text.")
            return
        start = max(0, self.cursor_location[1] - len(pasted))
        names = ", ".join(file.name for file in files)
        measure = files[0].measure if len(files) == 1 else f"{len(files)} files"
        self._offer(
            [
                Suggestion(f"attach {names}", measure, "", start, tuple(paths)),
                Suggestion("keep the path as text", "", pasted, start),
            ]
        )

    # What there is to say

    def hint(self, text: str) -> None:
        """A few words on the border, until the text is changed."""
        self.border_subtitle = Content(text)

    def say(self, text: str) -> None:
        """A sentence above the prompt, until the text is changed."""
        self.quiet.say(text)
