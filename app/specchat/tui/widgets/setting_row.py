"""One setting on the screen: what it is, what it means, and what is wrong with what was typed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input, Select, Static, Switch, TextArea

from specchat.tui.preferences import Preferences
from specchat.tui.setting_fields import SettingField
from specchat.tui.wording import visible

Instead = Callable[[str, str], tuple[Any, str] | None]
"""What holds in place of a setting of the file, and who says so."""


class Choice(Select[str], inherit_bindings=False):
    """A list that opens; the arrow keys go to the settings around it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "show_overlay", "Open the list", id="settings.open", show=False),
    ]


class SettingRow(Vertical):
    """What is chosen holds at once; what is typed is checked meanwhile and holds on Enter, or when
    the person goes elsewhere.

    Args:
        field: the setting.
        preferences: where it is read and written.
        instead: knows what holds in its place in this chat.
    """

    def __init__(self, field: SettingField, preferences: Preferences, instead: Instead) -> None:
        super().__init__()
        self.field = field
        self._preferences = preferences
        self._instead = instead
        self._control = self._make_control()
        self._other = Static("", markup=False, classes="other")
        self._problem = Static("", markup=False, classes="problem")
        self.problem = ""
        """What is wrong with what stands there."""

    def compose(self) -> ComposeResult:
        with Horizontal(classes="head"):
            yield Static(self.field.name, markup=False, classes="name")
            yield self._control
        about = " ".join(filter(None, (self.field.explanation, self.field.effect)))
        yield Static(about, markup=False, classes="about")
        yield self._other
        yield self._problem

    def on_mount(self) -> None:
        """What is to be said below it."""
        self._tell("")
        self._show_other()

    # What the person does

    @on(Select.Changed)
    def choose(self, event: Select.Changed) -> None:
        """One of the list."""
        event.stop()
        self.commit()

    @on(Switch.Changed)
    def switch(self, event: Switch.Changed) -> None:
        """On or off."""
        event.stop()
        self.commit()

    @on(Input.Changed)
    @on(TextArea.Changed)
    def check(self, event: Input.Changed | TextArea.Changed) -> None:
        """Say what is wrong while it is typed."""
        event.stop()
        typed = self._typed()
        self._tell("" if typed == self._present() else self._preferences.problem(*self._as(typed)))

    @on(Input.Submitted)
    def submit(self, event: Input.Submitted) -> None:
        """It is complete."""
        event.stop()
        self.commit()

    def on_descendant_focus(self) -> None:
        """All of it is to be seen, what it means too."""
        self.scroll_visible(animate=False)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """So it is when the person goes elsewhere."""
        if self.is_mounted and event.widget is self._control:
            self.commit()

    def commit(self) -> None:
        """Write what has changed; what cannot be stays there, with the reason."""
        typed = self._typed()
        if typed == self._present():
            return
        problem = self._preferences.save(*self._as(typed))
        self._tell(problem)
        if not problem:
            self.show()

    # What is shown

    def show(self) -> None:
        """The setting as it is now."""
        present = self._present()
        with self.prevent(Select.Changed, Switch.Changed, Input.Changed, TextArea.Changed):
            match self._control:
                case Select():
                    self._control.value = Select.NULL if present is None else present
                case Switch() | Input():
                    self._control.value = present
                case TextArea():
                    self._control.text = present
        self._tell("")
        self._show_other()

    def offer(self, choices: tuple[str, ...]) -> None:
        """There are other names to choose from."""
        self.field = replace(self.field, choices=choices)
        if isinstance(self._control, Select):
            with self.prevent(Select.Changed):
                self._control.set_options(_options(self.field))
            self.show()

    def _make_control(self) -> Widget:
        field, present = self.field, self._present()
        empty = f"{field.written(field.default) or 'none'} (default)"
        match field.kind:
            case "choice":
                return Choice(
                    _options(field),
                    allow_blank=field.default is None,
                    prompt=empty,
                    value=Select.NULL if present is None else present,
                    compact=True,
                )
            case "switch":
                return Switch(present)
            case "line":
                return Input(present, placeholder=empty, compact=True, select_on_focus=False)
            case "text" | "lines":
                return TextArea(
                    present,
                    placeholder=empty,
                    compact=True,
                    highlight_cursor_line=False,
                    show_line_numbers=False,
                )

    def _present(self) -> Any:
        """What the settings have, as the control shows it."""
        value = self.field.value_in(self._preferences.settings)
        if self.field.kind in ("choice", "switch"):
            return value
        return "" if value == self.field.default else self.field.written(value)

    def _typed(self) -> Any:
        """What the control shows."""
        match self._control:
            case Select():
                return self._control.selection
            case Switch() | Input():
                return self._control.value
            case TextArea():
                return self._control.text

    def _as(self, typed: Any) -> tuple[tuple[str, str], Any]:
        """The place in the file, and what belongs there."""
        return self.field.place, self.field.read(typed) if isinstance(typed, str) else typed

    def _tell(self, problem: str) -> None:
        self.problem = problem
        self._problem.display = bool(problem)
        self._problem.update(f"✗ {visible(problem)}")
        if problem:
            self.call_after_refresh(self.scroll_visible, animate=False)

    def _show_other(self) -> None:
        other = self._instead(*self.field.place)
        self._other.display = other is not None
        if other is not None:
            value, by = other
            shown = visible(self.field.written(value)) or "none"
            self._other.update(f"In this chat: {shown}, by {by}.")


def _options(field: SettingField) -> list[tuple[str, str]]:
    return [
        (f"{each} (default)" if each == field.default else each, each) for each in field.choices
    ]
