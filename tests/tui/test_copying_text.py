"""Copying, and what else Ctrl+C does."""

import psutil
import pytest
from textual.widgets import Markdown

from specchat.tui.screens.conversations import ConversationsScreen
from specchat.tui.screens.help import HelpScreen
from tui.screen_driver import (
    WIDE,
    ask,
    ask_and_wait,
    hint,
    make_app,
    prompt,
    tails,
    until_ready,
    wait_until,
)
from tui.scripted_engine import ANSWER
from tui.test_commands import said

CODE = "def acceptance(accepted: int, tested: int) -> float:\n    return accepted / tested"


async def test_the_last_answer_and_its_code_are_copied_by_key_and_by_command() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How?")
        app = pilot.app
        await pilot.press("f8")
        assert app.clipboard == ANSWER.strip()
        assert hint(pilot) == "copied the answer, 17 lines"
        await pilot.press("f9")
        assert app.clipboard == CODE
        assert hint(pilot) == "copied the code block, 2 lines"
        await ask(pilot, "/copy")
        await wait_until(pilot, lambda: app.clipboard == ANSWER.strip())
        await ask(pilot, "/copy code")
        await wait_until(pilot, lambda: app.clipboard == CODE)


async def test_an_answer_under_way_is_copied_as_far_as_it_is() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await ask(pilot, "Two lines")
        await wait_until(pilot, lambda: tails(pilot) == ["The second line"])
        await pilot.press("f8")
        assert pilot.app.clipboard == "The first line.\n\nThe second line"


async def test_without_an_answer_or_without_code_it_says_so() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await pilot.press("f8")
        assert said(pilot) == "There is no answer to copy yet."
        await ask_and_wait(pilot, "no code")
        await pilot.press("f9")
        assert said(pilot) == "The last answer has no code block."
        assert pilot.app.clipboard == ""


async def test_what_the_mouse_selects_is_copied_once() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "to be selected")
        piece = pilot.app.query(Markdown).last()
        await pilot.mouse_down(piece, offset=(0, 0))
        await pilot.hover(piece, offset=(5, 0))
        await pilot.mouse_up(piece, offset=(5, 0))
        await wait_until(pilot, lambda: bool(pilot.app.screen.get_selected_text()))
        selected = pilot.app.screen.get_selected_text()
        assert selected is not None
        assert "to be selected".startswith(selected.strip())
        await pilot.press("ctrl+c")
        assert pilot.app.clipboard == selected
        assert hint(pilot) == f"copied {len(selected)} characters"
        await pilot.press("ctrl+c")
        assert hint(pilot) == "Ctrl+C again quits"


async def test_ctrl_c_copies_what_is_selected_in_the_prompt() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        prompt(pilot).insert("copied")
        prompt(pilot).select_all()
        await pilot.press("ctrl+c", "ctrl+c")
        assert app.clipboard == "copied"
        assert hint(pilot) == "copied 6 characters"


async def test_ctrl_c_stops_an_answer() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "Two lines")
        await wait_until(pilot, lambda: bool(tails(pilot)))
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: app.state == "ready")
        assert app.conversation.path[-1].state == "stopped"
        assert app.is_running


async def test_ctrl_c_twice_quits_and_ends_the_engine() -> None:
    app = make_app("happy")
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        pid = app.engine.pid
        await pilot.press("ctrl+c")
        assert hint(pilot) == "Ctrl+C again quits"
        await pilot.press("ctrl+c")
    assert app.return_code == 0
    assert pid is not None
    assert not psutil.pid_exists(pid)


async def test_ctrl_c_warns_on_every_screen_copies_there_and_quits_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = make_app("twice")
    async with app.run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How?")
        with monkeypatch.context() as patch:
            patch.setattr("specchat.tui.interrupts.AGAIN_S", -1.0)
            for key in ("f1", "f2", "f3", "f4", "f5", "f6", "ctrl+p"):
                prompt(pilot).hint("")
                await pilot.press(key)
                await wait_until(pilot, lambda: app.screen.is_mounted and len(app.screen_stack) > 1)
                await pilot.press("ctrl+c")
                assert hint(pilot) == "Ctrl+C again quits", key
                while len(app.screen_stack) > 1:
                    await pilot.press("escape")
                    await pilot.pause()
        await pilot.press("f3")
        await wait_until(pilot, lambda: isinstance(app.screen, ConversationsScreen))
        await pilot.press(*"how", "shift+home", "ctrl+c", "ctrl+c")
        assert app.clipboard == "how"
        await pilot.press("end", "ctrl+c", "ctrl+c")
    assert app.return_code == 0


async def test_what_is_selected_on_another_screen_is_copied() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await pilot.press("f1")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        line = pilot.app.screen.query("#help .meaning").first()
        await pilot.mouse_down(line, offset=(0, 0))
        await pilot.hover(line, offset=(5, 0))
        await pilot.mouse_up(line, offset=(5, 0))
        await wait_until(pilot, lambda: bool(pilot.app.screen.get_selected_text()))
        selected = pilot.app.screen.get_selected_text()
        await pilot.press("ctrl+c")
        assert pilot.app.clipboard == selected


async def test_ctrl_c_after_a_while_is_the_first_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app("happy")
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        monkeypatch.setattr("specchat.tui.interrupts.AGAIN_S", -1.0)
        await pilot.press("ctrl+c", "ctrl+c")
        assert hint(pilot) == "Ctrl+C again quits"
        assert app.is_running
