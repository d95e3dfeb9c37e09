"""Help where the person is, and all commands by name."""

from pathlib import Path

from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.tui.actions import bindings_of_ours
from specchat.tui.definitions import FIGURES
from specchat.tui.keys import BINDINGS
from specchat.tui.screens.help import HelpScreen
from specchat.tui.screens.pairs import PairsScreen
from specchat.tui.widgets.messages import AlarmLine
from tui.offers import LATER, app_with
from tui.screen_driver import WIDE, ask_and_wait, make_app, questions, until_ready, wait_until

NUMBERS = Path(__file__).parents[2] / "docs" / "numbers.md"


def shown(pilot: Pilot[None]) -> str:
    """The help, from its first line to its last."""
    assert isinstance(pilot.app.screen, HelpScreen)
    lines = pilot.app.screen.query("#help Static").results(Static)
    return "\n".join(str(line.content) for line in lines)


async def open_help(pilot: Pilot[None]) -> str:
    """Press F1; what it shows."""
    await pilot.press("f1")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    return shown(pilot)


def test_the_help_defines_figures_in_the_words_of_the_documentation() -> None:
    rows = [line for line in NUMBERS.read_text().splitlines() if line.startswith("| ")][2:]
    documented = [tuple(cell.strip() for cell in row.strip("|").split("|")) for row in rows]
    assert documented == list(FIGURES)


async def test_f1_tells_the_keys_of_the_chat_and_what_every_figure_means() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        text = await open_help(pilot)
        for does in ("Send", "New line", "Choose another model and draft", "Leave specchat"):
            assert does in text
        for figure in FIGURES:
            assert figure.name in text
            assert figure.meaning in text
        assert text.index("Send") < text.index("Leave specchat")


async def test_the_help_scrolls_and_is_left_by_the_key_that_opened_it() -> None:
    async with make_app("happy").run_test(size=(60, 16)) as pilot:
        await until_ready(pilot)
        await open_help(pilot)
        await pilot.press("end")
        scrolled = pilot.app.screen.query_one("#help")
        await wait_until(pilot, lambda: scrolled.scroll_y > 10)
        await pilot.press("f1")
        await wait_until(pilot, lambda: len(pilot.app.screen_stack) == 1)


async def test_help_after_a_slow_answer_begins_with_what_to_do_about_it() -> None:
    async with make_app("alarm").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How does it work?")
        text = await open_help(pilot)
        assert text.startswith("! Other programs are busy")
        assert "They used 1.5 of 4 cores" in text
        assert "→ End them, or leave them a core with --threads." in text
        await pilot.press("escape")
        await pilot.press("ctrl+n")
        assert "Other programs" not in await open_help(pilot)


async def test_the_line_of_an_alarm_opens_it_by_key_and_by_mouse() -> None:
    async with make_app("alarm").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How does it work?")
        line = pilot.app.query_one(AlarmLine)
        assert str(line.content) == "! Other programs are busy (F1: what to do)"
        line.focus()
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        assert "They used 1.5 of 4 cores" in shown(pilot)
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        assert await pilot.click(AlarmLine)
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))


async def test_help_over_the_pairs_explains_their_entries() -> None:
    async with app_with(LATER).run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await pilot.press("f2")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, PairsScreen))
        text = await open_help(pilot)
        assert "Each entry: the model that answers" in text
        assert "Back" in text
        assert "Forget the conversation" not in text
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, PairsScreen)


def test_every_key_has_an_id_and_all_but_a_reminder_have_a_name() -> None:
    ids = [binding.id for binding in BINDINGS if not isinstance(binding, tuple)]
    assert all(ids)
    assert len(set(ids)) == len(BINDINGS)


async def test_the_palette_has_the_commands_that_apply_now_and_runs_them() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How does it work?")
        app = pilot.app
        names = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Send", "New line", "Help", "Pairs", "New chat", "Quit", "Theme"} <= names
        assert not {"Stop", "Restart", "With less"} & names
        await pilot.press("ctrl+p")
        await wait_until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"new chat")
        await pilot.pause(0.5)
        await pilot.press("enter")
        await wait_until(pilot, lambda: not isinstance(app.screen, CommandPalette))
        await wait_until(pilot, lambda: questions(pilot) == 0)


MOVES = {
    *("conversations.up", "conversations.down", "conversations.page_up", "conversations.page_down"),
    *("pairs.up", "pairs.down", "pairs.page_up", "pairs.page_down"),
    *("settings.next", "settings.previous"),
}
"""A click, or the wheel, goes there at once."""


def test_what_a_screen_does_is_in_its_last_line_for_the_mouse_but_for_moves() -> None:
    hidden = {
        binding.id
        for owner, binding in bindings_of_ours()
        if issubclass(owner, ModalScreen) and not binding.show
    }
    assert hidden == MOVES
