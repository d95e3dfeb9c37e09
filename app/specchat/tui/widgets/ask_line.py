"""One line that asks something about the list above it."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from specchat.tui.widgets.completions import Completions
from specchat.tui.widgets.path_field import PathField


class AskLine(Horizontal):
    """Asks for a text, or for one of a few words; hidden while there is nothing to ask."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "app.focus_previous", "Word before", id="ask.previous", show=False),
        Binding("right", "app.focus_next", "Next word", id="ask.next", show=False),
    ]

    class Answered(Message):
        """The person has answered; the line is hidden again."""

        def __init__(self, about: str, text: str) -> None:
            super().__init__()
            self.about = about
            self.text = text

    def __init__(self) -> None:
        super().__init__()
        self._about = ""
        self._question = Static("", markup=False, classes="question")
        self._text = Input(compact=True)
        self._path = PathField(".json")
        self._done = Button("OK", compact=True, name="")
        self._choices = Horizontal(classes="choices")
        self.display = False

    def compose(self) -> ComposeResult:
        yield self._question
        yield self._text
        yield self._path
        yield self._done
        yield self._choices

    def ask_for_text(self, about: str, question: str, text: str = "", example: str = "") -> None:
        """Ask for a text.

        Args:
            about: comes back with the answer.
            text: an answer to begin with, selected so that writing replaces it.
        """
        self._begin(about, question, self._text)
        self._text.value = text
        self._text.placeholder = example
        self._text.focus()

    def ask_for_path(self, about: str, question: str, example: str) -> None:
        """Ask for the path of a file, which is completed.

        Args:
            about: comes back with the answer.
        """
        self._begin(about, question, self._path)
        self._path.value = ""
        self._path.placeholder = example
        self._path.focus()

    @property
    def popup(self) -> Completions:
        """The paths that may be meant; it lies above this line."""
        return self._path.popup

    def take_path(self) -> None:
        """A path of the list was clicked."""
        self._path.action_take()
        self._path.focus()

    def ask_which(self, about: str, question: str, *choices: str) -> None:
        """Ask for one of these words; the first is the one to take with Enter."""
        self._begin(about, question, self._choices)
        self._choices.remove_children()
        buttons = [Button(Content(choice), compact=True, name=choice) for choice in choices]
        self._choices.mount(*buttons)
        self.call_after_refresh(buttons[0].focus)

    def close(self) -> None:
        """Ask nothing any more."""
        self.display = False
        self.popup.hide()

    @on(Input.Submitted)
    def take_text(self, event: Input.Submitted) -> None:
        """A text was written."""
        event.stop()
        self._answer(event.value)

    @on(Button.Pressed)
    def take_choice(self, event: Button.Pressed) -> None:
        """A word was chosen, or what is written is meant."""
        event.stop()
        field = self._path if self._path.display else self._text
        self._answer(field.value if event.button is self._done else event.button.name or "")

    def on_input_changed(self, event: Input.Changed) -> None:
        """What is written here is no search."""
        event.stop()

    def _begin(self, about: str, question: str, place: Widget) -> None:
        self._about = about
        self._question.update(question)
        for each in (self._text, self._path, self._choices):
            each.display = place is each
        self._done.display = place is not self._choices
        self.display = True

    def _answer(self, text: str) -> None:
        self.close()
        self.post_message(self.Answered(self._about, text))
