"""One answer in full: how it came about, its alarms, and every figure with what it means."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Footer, Static

from specchat.chat.records import Message
from specchat.tui.details import NOT_KEPT, Detail, figure_details, origin_details
from specchat.tui.wording import visible


class DetailsScreen(ModalScreen[None]):
    """Shows an answer of the conversation.

    Args:
        kept: the answer.
        prefill_s: its prompt seconds, where they were kept.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,i,q", "dismiss", "Close", id="details.close", key_display="esc"),
        Binding("f1", "app.help", "Help", id="details.help"),
    ]

    def __init__(self, kept: Message, prefill_s: float | None = None) -> None:
        super().__init__()
        self._kept = kept
        self._prefill_s = prefill_s

    def compose(self) -> ComposeResult:
        record = self._kept.answer
        with VerticalScroll(id="details") as scroll:
            scroll.border_title = "details"
            yield Static("How it came about", classes="heading")
            yield from _rows(origin_details(self._kept))
            if record is None:
                yield Static(NOT_KEPT)
            else:
                for alarm in record.alarms:
                    yield Static(f"! {visible(alarm.title)}", markup=False, classes="heading")
                    yield Static(visible(alarm.message), markup=False)
                    yield Static(f"→ {visible(alarm.help)}", markup=False)
                yield Static("Figures", classes="heading")
                yield from _rows(figure_details(record, self._prefill_s))
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """The arrow keys scroll at once."""
        self.query_one("#details").focus()


def _rows(details: Iterable[Detail]) -> Iterator[Widget]:
    for name, value, meaning in details:
        kind = "of-figure" if meaning else "value"
        yield Horizontal(
            Static(name, markup=False, classes="name"),
            Static(visible(value), markup=False, classes=kind),
            *([Static(meaning, markup=False, classes="meaning")] if meaning else []),
            classes="row",
        )
