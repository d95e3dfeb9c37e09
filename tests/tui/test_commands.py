"""Commands in the prompt: found while they are typed, obeyed, refused in words."""

import json
import shlex
from functools import partial
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Static

from specchat.chat.records import Setup
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from specchat.tui.app import SpecchatApp
from specchat.tui.screens.compare import CompareScreen
from specchat.tui.screens.help import HelpScreen
from specchat.tui.screens.pairs import PairsScreen
from specchat.tui.screens.timeline import TimelineScreen
from specchat.tui.slash_table import COMMANDS
from specchat.tui.widgets.answer_body import OriginView
from tui.offers import LATER, app_with
from tui.screen_driver import (
    PAIR,
    WIDE,
    ask,
    ask_and_wait,
    cards,
    chat,
    hint,
    make_app,
    panel,
    prompt,
    questions,
    screen,
    tails,
    until_ready,
    wait_until,
)


def listed(pilot: Pilot[None]) -> list[str]:
    """The labels of what is offered; none while nothing is."""
    popup = prompt(pilot).popup
    assert popup.display == popup.is_open
    return [str(option.prompt).split("  ")[0] for option in popup.options if popup.is_open]


def highlighted(pilot: Pilot[None]) -> str:
    """The label of what Tab would take."""
    return prompt(pilot).popup.chosen.label


def said(pilot: Pilot[None]) -> str:
    """The sentence above the prompt."""
    line = prompt(pilot).quiet
    return str(line.content) if line.display else ""


async def write(pilot: Pilot[None], text: str) -> None:
    """Type it, letter by letter."""
    await pilot.press(*({" ": "space", "/": "slash", "@": "at"}.get(key, key) for key in text))


def asked(app: SpecchatApp) -> object:
    """How guesses were to be made for the last answer."""
    _, speculation, _ = json.loads(app.conversation.path[-1].text.strip("`"))
    return speculation


async def test_commands_are_offered_while_they_are_typed() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await write(pilot, "/")
        assert len(listed(pilot)) == len(COMMANDS)
        await write(pilot, "ru")
        assert listed(pilot) == ["/rule [NAME]"]
        await pilot.press("tab")
        assert prompt(pilot).text == "/rule "
        assert listed(pilot) == ["auto", "greedy", "token", "block", "coupled"]
        await pilot.press("down", "down")
        assert highlighted(pilot) == "token"
        await pilot.press("up", "up", "up")
        assert highlighted(pilot) == "coupled"
        await pilot.press("escape")
        assert listed(pilot) == []
        assert prompt(pilot).text == "/rule "


async def test_enter_takes_what_is_highlighted_and_runs_it() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await write(pilot, "/dr")
        await pilot.press("enter")
        assert prompt(pilot).text == "/draft "
        await write(pilot, "ng")
        await pilot.press("enter")
        await wait_until(pilot, lambda: bool(said(pilot)))
        assert said(pilot) == "Who guesses: text that was seen before."
        assert prompt(pilot).text == ""
        assert app.conversation.setup.speculation == SpeculationSettings(drafter="ngram")
        assert "drafter: n-gram" in panel(pilot)
        assert "draft model" not in panel(pilot)
        await write(pilot, "a")
        assert said(pilot) == ""


async def test_what_is_whole_runs_as_it_is_whatever_else_begins_like_it() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await write(pilot, "/length 1")
        assert highlighted(pilot) == "16"
        await pilot.press("enter")
        await wait_until(pilot, lambda: bool(said(pilot)))
        assert app.conversation.setup.speculation == SpeculationSettings(draft_length=1)


async def test_keys_that_come_all_at_once_run_a_command() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        for key in ["slash", "l", "e", "tab", "8", "enter"]:
            character = {"slash": "/"}.get(key, key if len(key) == 1 else None)
            app.post_message(events.Key(key, character))
        await wait_until(pilot, lambda: bool(said(pilot)))
        assert app.conversation.setup.speculation == SpeculationSettings(draft_length=8)


async def test_a_change_holds_for_the_next_answer_and_for_this_conversation_only() -> None:
    async with make_app("asked").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "/length 3")
        await ask(pilot, "/rule token")
        await ask(pilot, "/system Be brief.")
        await ask(pilot, "/temperature 0.25")
        await wait_until(pilot, lambda: app.conversation.setup.system == "Be brief.")
        await ask_and_wait(pilot, "What holds?")
        assert asked(app) == {"drafter": "auto", "draft_length": 3, "rule": "token"}
        assert app.conversation.setup.system == "Be brief."
        assert app.conversation.setup.sampling == SamplingSettings(temperature=0.25)
        assert '"temperature": 0.25' in app.conversation.path[-1].text
        key = app.conversation.key
        assert key is not None
        assert app.conversation.store.load(key).setup == app.conversation.setup
        await ask(pilot, "/clear")
        await wait_until(pilot, lambda: app.conversation.key is None)
        await ask_and_wait(pilot, "And now?")
        assert asked(app) == {"drafter": "auto", "draft_length": "auto", "rule": "auto"}


async def test_a_command_alone_tells_what_holds_and_the_first_line_has_what_is_not_usual() -> None:
    async with make_app("asked").run_test(size=(80, 24)) as pilot:
        app = await until_ready(pilot)
        setup = app.query_one("#setup", Static)
        assert not setup.display
        await ask(pilot, "/length")
        await wait_until(pilot, lambda: bool(said(pilot)))
        assert said(pilot) == "The draft length follows what pays. As in the settings."
        await ask(pilot, "/rule token")
        await ask(pilot, "/system Be [brief].")
        await wait_until(pilot, lambda: str(setup.content) == "system prompt · rule token")
        await ask(pilot, "/system")
        await wait_until(pilot, lambda: said(pilot) == "Set by this conversation: Be [brief].")
        assert app.conversation.setup.system == "Be [brief]."
        assert setup.region.width >= len("system prompt · rule token")
        await ask(pilot, "/clear")
        await wait_until(pilot, lambda: not setup.display)


async def test_what_is_wrong_is_said_and_nothing_is_lost() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "/length 99")
        assert said(pilot).startswith("Tried to set the draft length to 99. It has to be auto")
        assert prompt(pilot).text == "/length 99"
        prompt(pilot).clear()
        await ask(pilot, "/lenght 4")
        assert "Did you mean /length?" in said(pilot)
        prompt(pilot).clear()
        await ask(pilot, "/rule greedy")
        await wait_until(pilot, lambda: "greedily" in said(pilot))
        assert prompt(pilot).text == "/rule greedy"
        assert app.conversation.setup.speculation is None
        assert questions(pilot) == 0


async def test_a_message_that_begins_with_a_slash_is_written_with_two() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "//etc/hosts, what is that?")
        assert listed(pilot) == []
        assert chat(pilot).count("/etc/hosts, what is that?") == 2
        assert "//etc" not in chat(pilot)


async def test_commands_are_obeyed_while_an_answer_is_written() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "Two lines, please.")
        await wait_until(pilot, lambda: bool(tails(pilot)))
        await ask(pilot, "/length 0")
        await wait_until(pilot, lambda: said(pilot) == "Plain decoding: nothing is guessed.")
        assert app.state == "answering"
        assert app.conversation.setup.speculation == SpeculationSettings(draft_length=0)


async def test_the_mouse_takes_what_it_clicks() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await write(pilot, "/draft ")
        popup = prompt(pilot).popup
        assert popup.region.bottom == prompt(pilot).region.y
        assert await pilot.click(popup, offset=(4, 4))
        await wait_until(pilot, lambda: bool(said(pilot)))
        assert app.conversation.setup.speculation == SpeculationSettings(drafter="none")
        assert prompt(pilot).has_focus


async def test_the_list_closes_when_the_cursor_leaves() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await write(pilot, "/dr")
        await pilot.press("left")
        await wait_until(pilot, lambda: listed(pilot) == [])
        await pilot.press("right")
        await write(pilot, "a")
        assert listed(pilot) == ["/draft [NAME]"]
        await pilot.press("backspace", "backspace", "backspace", "backspace")
        assert listed(pilot) == []


async def test_bench_tells_and_copies_the_command() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "/bench")
        await wait_until(pilot, lambda: bool(cards(pilot)))
        assert app.clipboard.startswith("specchat bench ")
        assert PAIR.target in shlex.split(app.clipboard)
        assert app.clipboard in cards(pilot)[0]


async def test_help_and_pairs_open_their_screens() -> None:
    async with app_with(LATER).run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await ask(pilot, "/help")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await pilot.press("escape")
        await ask(pilot, "/pair")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, PairsScreen))


def is_before(app: SpecchatApp, kind: type[object]) -> bool:
    """Whether such a screen is in front of the chat."""
    return isinstance(app.screen, kind)


async def test_the_views_of_an_answer_are_opened_by_commands_too() -> None:
    async with make_app("twice").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "/compare")
        await wait_until(
            pilot, lambda: said(pilot) == "Nothing can be compared: there is no question yet."
        )
        await ask_and_wait(pilot, "How?")
        await ask(pilot, "/origins")
        await wait_until(pilot, lambda: bool(app.query(OriginView)))
        for name, screen_type in (("timeline", TimelineScreen), ("compare", CompareScreen)):
            await ask(pilot, f"/{name}")
            await wait_until(pilot, partial(is_before, app, screen_type))
            while len(app.screen_stack) > 1:
                await pilot.press("escape")
                await pilot.pause()


async def test_a_preset_that_is_gone_is_said_when_its_conversation_is_opened() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        key = app.conversation.store.new(Setup(preset="poems"))
        await app.conversations.open(key)
        assert said(pilot) == "There is no preset poems any more; the settings hold here."


async def test_a_pair_is_named_as_in_the_catalog() -> None:
    async with app_with(LATER).run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await ask(pilot, "/pair qwen-2.5-7b")
        assert "Did you mean qwen2.5-7b?" in said(pilot)


async def test_the_list_of_all_commands_has_them_too() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        titles = [each.title for each in app.get_system_commands(app.screen)]
        for command in COMMANDS:
            assert titles.count(command.title) == 1
        commands = {each.title: each.callback for each in app.get_system_commands(app.screen)}
        await commands["Draft length"]()
        assert prompt(pilot).text == "/length "
        assert "auto" in listed(pilot)


async def test_f1_lists_them() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await pilot.press("f1")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        text = "\n".join(
            str(line.content) for line in pilot.app.screen.query("#help Static").results(Static)
        )
        for command in COMMANDS:
            assert command.shown in text
            assert command.does in text


async def test_a_refused_message_does_not_stop_commands() -> None:
    async with make_app("loading").run_test(size=WIDE) as pilot:
        await ask(pilot, "Hello")
        assert "still loading" in hint(pilot)
        prompt(pilot).clear()
        await ask(pilot, "/draft none")
        await wait_until(pilot, lambda: bool(said(pilot)))
        assert screen(pilot).conversation.setup.speculation is not None


async def test_a_conversation_is_exported_into_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await ask(pilot, "/export")
        await wait_until(pilot, lambda: said(pilot) == "There is nothing to export yet.")
        await ask_and_wait(pilot, "Keep this.")
        await ask(pilot, "/export")
        await wait_until(pilot, lambda: said(pilot).startswith("Exported to "))
        (markdown,) = tmp_path.glob("*.md")
        assert markdown.name in said(pilot)
        assert "Keep this." in markdown.read_text()
        await ask(pilot, "/export json")
        await wait_until(pilot, lambda: ".json" in said(pilot))
        (exported,) = tmp_path.glob("*.json")
        assert json.loads(exported.read_text())
