"""What a person does with messages that were said: word them otherwise, ask again, go on."""

from collections.abc import Awaitable, Callable

from specchat.chat.reasoning import spoken
from specchat.chat.records import Message
from specchat.tui.conversation import Conversation, OpenAnswer
from specchat.tui.copying import answer_text, code_blocks, told
from specchat.tui.recall import Written
from specchat.tui.transcript import Transcript
from specchat.tui.widgets.messages import Wish
from specchat.tui.widgets.prompt import Prompt

NEEDS_QUIET: frozenset[Wish] = frozenset(
    ("edit", "again", "go_on", "previous", "next", "branch_off")
)
"""What cannot be done while an answer is written."""

EDITS = {
    "user": "another wording; Enter asks it, Esc gives up",
    "assistant": "another answer; Enter keeps it, Esc gives up",
}


class Turns:
    """Does what is wanted with a message.

    Args:
        conversation: what was said.
        transcript: the messages on screen.
        prompt: where a message is edited.
        answer: has the engine write an answer that was opened.
        open_conversation: shows another conversation.
        copy: takes text to the clipboard.
        show_details: shows all that is known of an answer.
    """

    def __init__(
        self,
        conversation: Conversation,
        transcript: Transcript,
        prompt: Prompt,
        *,
        answer: Callable[[OpenAnswer], Awaitable[None]],
        open_conversation: Callable[[int], Awaitable[None]],
        copy: Callable[[str], None],
        show_details: Callable[[int], None],
    ) -> None:
        self._conversation = conversation
        self._transcript = transcript
        self._prompt = prompt
        self._answer = answer
        self._open_conversation = open_conversation
        self._copy = copy
        self._show_details = show_details
        self._edited: Message | None = None
        self._code_copied = (0, 0)
        """The message of which a code block was copied last, and which."""
        self._put_aside = Written("")
        """What the person was writing when the editing began."""

    @property
    def is_editing(self) -> bool:
        """Whether the prompt holds a message that is worded otherwise."""
        return self._edited is not None

    async def do(self, wish: Wish, message: int) -> None:
        """Do it."""
        match wish:
            case "edit":
                self._edit(message)
            case "again":
                self._prompt.focus()
                await self._answer(self._conversation.again(message))
            case "go_on":
                self._prompt.focus()
                await self._answer(self._conversation.go_on(message))
            case "previous" | "next":
                self._show_sibling(message, -1 if wish == "previous" else 1)
            case "branch_off":
                await self._open_conversation(self._conversation.store.branch_off(message))
            case "copy":
                kept = self._conversation.message(message)
                self._copy(spoken(kept.text, kept.opened))
                self._prompt.hint("copied")
            case "copy_code":
                self._copy_code(self._conversation.message(message))
            case "details":
                self._show_details(message)
            case "above":
                self._transcript.focus(message, -1)
            case "below":
                if not self._transcript.focus(message, 1):
                    self._prompt.focus()
            case "leave":
                self._prompt.focus()

    async def send(self, text: str) -> None:
        """Ask what the prompt held, or put it in the place of what was edited."""
        edited = self._edited
        self.end_edit()
        if edited is None:
            await self._answer(self._conversation.ask(text))
        elif edited.role == "user":
            await self._answer(self._conversation.ask(text, instead_of=edited.id))
        else:
            self._transcript.show(self._conversation.reword(edited.id, text))

    def end_edit(self) -> None:
        """The prompt holds again what it held before."""
        if self._edited is not None:
            self._edited = None
            self._prompt.border_title = ""
            self._prompt.put(self._put_aside)

    def _copy_code(self, message: Message) -> None:
        """Copy a code block of it: after one of them the next."""
        blocks = code_blocks(self._conversation.text_of(message), message.opened)
        if not blocks:
            self._prompt.say("This answer has no code block.")
            return
        before, last = self._code_copied
        at = (last + 1) % len(blocks) if before == message.id else 0
        self._code_copied = message.id, at
        self._copy(blocks[at])
        what = f"code block {at + 1} of {len(blocks)}" if len(blocks) > 1 else "the code block"
        self._prompt.hint(told(what, blocks[at]))

    def _edit(self, message: int) -> None:
        first = self._edited is None
        self._edited = edited = self._conversation.message(message)
        words = edited.text if edited.role == "user" else answer_text(edited.text, edited.opened)
        held = self._prompt.put_message(words)
        if first:
            self._put_aside = held
        self._prompt.border_title = EDITS[self._edited.role]
        self._prompt.focus()

    def _show_sibling(self, message: int, step: int) -> None:
        sibling = self._conversation.sibling(message, step)
        if sibling is not None:
            line = self._transcript.line(message)
            self._conversation.show(sibling)
            self._transcript.show(sibling, focus=True, line=line)
