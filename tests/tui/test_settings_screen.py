"""The screen of settings: what is set there is kept in the file and holds when it says."""

import json
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input, OptionList, Select, Static, Tabs, TextArea

from specchat.settings import Preset
from specchat.settings_file import read_settings
from specchat.speculation.settings import SamplingSettings
from specchat.tui.screens.help import HelpScreen
from specchat.tui.screens.press_key import PressKeyScreen
from specchat.tui.screens.settings import SettingsScreen
from specchat.tui.setting_fields import fields_of, tables
from specchat.tui.widgets.setting_row import Choice
from specchat.tui.widgets.speculation_panel import SpeculationLine
from tui.screen_driver import (
    WIDE,
    ask_and_wait,
    chat,
    prompt,
    questions,
    screen,
    until_ready,
    wait_until,
)
from tui.setting_driver import (
    app_with_settings,
    file,
    listed,
    open_settings,
    row,
    said,
    type_into,
)

COMMENTED = "# mine\n[sampling]\ntemperature = 0.5  # cooler\n"
PRESET = '[presets.code]\nsystem = "Write code."\n[presets.code.sampling]\ntemperature = 0\n'


async def asked(pilot: Pilot[None]) -> tuple[dict[str, Any], dict[str, Any], int | None]:
    """What the engine is asked for with the next question: sampling, speculation, length."""
    await ask_and_wait(pilot, "How?")
    line = [each for each in chat(pilot).splitlines() if each.startswith("`[")][-1].strip("`")
    sampling, speculation, max_tokens = json.loads(line)
    return sampling, speculation, max_tokens


async def back(pilot: Pilot[None]) -> None:
    """Leave the settings."""
    await pilot.press("f4")
    await wait_until(pilot, lambda: not isinstance(pilot.app.screen, SettingsScreen))


async def test_every_setting_is_listed_with_its_words_and_when_it_is_felt() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await open_settings(pilot)
        for table in tables():
            pilot.app.screen.query_one(Tabs).active = table
            await until_shown(pilot, table)
            for field in fields_of(table):
                if field.name != "preset":
                    assert field.explanation in said(pilot, field.name)
                    assert field.effect in said(pilot, field.name)


async def until_shown(pilot: Pilot[None], group: str) -> None:
    """Wait for a group."""
    await wait_until(pilot, lambda: settings_screen(pilot).shown == group)


def settings_screen(pilot: Pilot[None]) -> SettingsScreen:
    """The screen in front."""
    assert isinstance(pilot.app.screen, SettingsScreen)
    return pilot.app.screen


async def test_what_is_typed_is_kept_with_the_comments_and_holds_for_the_next_answer() -> None:
    async with app_with_settings(COMMENTED).run_test(size=WIDE) as pilot:
        assert (await asked(pilot))[0]["temperature"] == 0.5
        await open_settings(pilot, "sampling")
        await type_into(pilot, "temperature", "0.3")
        assert file() == COMMENTED
        await pilot.press("enter")
        assert file() == COMMENTED.replace("0.5", "0.3")
        await back(pilot)
        assert (await asked(pilot))[0]["temperature"] == 0.3


async def test_going_elsewhere_and_leaving_keep_what_was_typed() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await open_settings(pilot, "sampling")
        await type_into(pilot, "top_k", "7")
        await pilot.press("down")
        await pilot.pause()
        assert read_settings().sampling.top_k == 7
        await type_into(pilot, "min_p", "0.2")
        await back(pilot)
        assert read_settings().sampling.min_p == 0.2


async def test_a_mistake_is_said_while_it_is_typed_and_is_never_kept() -> None:
    async with app_with_settings(COMMENTED).run_test(size=WIDE) as pilot:
        await open_settings(pilot, "sampling")
        await type_into(pilot, "temperature", "1000")
        assert "✗ temperature to 1000.0: it has to be from 0 to 100." in said(pilot, "temperature")
        await pilot.press("enter")
        assert "✗" in said(pilot, "temperature")
        await type_into(pilot, "temperature", "hot")
        assert "expected a number" in said(pilot, "temperature")
        await back(pilot)
        assert file() == COMMENTED


async def test_a_corrected_mistake_is_said_no_longer() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await open_settings(pilot, "sampling")
        await type_into(pilot, "top_p", "3")
        assert "✗" in said(pilot, "top_p")
        await pilot.press("backspace", *"0.5")
        await pilot.pause()
        assert "✗" not in said(pilot, "top_p")


async def test_an_emptied_field_has_its_default_again() -> None:
    async with app_with_settings(COMMENTED).run_test(size=WIDE) as pilot:
        await open_settings(pilot, "sampling")
        await type_into(pilot, "temperature", "")
        await pilot.press("enter")
        assert "temperature" not in file()
        field = row(pilot, "temperature").query_one(Input)
        assert (field.value, field.placeholder) == ("", "0.8 (default)")


async def test_a_choice_is_made_by_keyboard_and_holds_at_once() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await open_settings(pilot, "screen")
        row(pilot, "panel").query_one(Choice).focus()
        await pilot.press("enter", "down", "down", "enter")
        await wait_until(pilot, lambda: read_settings().screen.panel == "line")
        await back(pilot)
        assert not pilot.app.query_one("#panel").display
        assert pilot.app.query_one(SpeculationLine).display


async def test_a_choice_is_made_by_mouse() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await open_settings(pilot, "chat")
        assert await pilot.click("#screen")
        await wait_until(pilot, lambda: settings_screen(pilot).shown == "screen")
        choice = row(pilot, "enter").query_one(Choice)
        await pilot.click(choice)
        await wait_until(pilot, lambda: choice.expanded)
        assert await pilot.click(choice.query_one("SelectOverlay"), offset=(3, 1))
        await wait_until(pilot, lambda: read_settings().screen.enter == "newline")


async def test_the_system_prompt_may_have_several_lines() -> None:
    async with app_with_settings(scenario="recall").run_test(size=WIDE) as pilot:
        await open_settings(pilot, "chat")
        row(pilot, "system").query_one(TextArea).focus()
        await pilot.press(*"Be brief", "enter", *"Rhyme", "f4")
        assert read_settings().chat.system == "Be brief\nRhyme"
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, SettingsScreen))
        await ask_and_wait(pilot, "Hi")
        assert '["system", "Be brief\\nRhyme"]' in chat(pilot)


async def test_what_wins_over_a_setting_in_this_chat_is_said_below_it() -> None:
    app = app_with_settings(f"[chat]\npreset = 'code'\n{PRESET}", temperature=0.25)
    async with app.run_test(size=WIDE) as pilot:
        await open_settings(pilot, "sampling")
        assert "In this chat: 0.25, by the command line." in said(pilot, "temperature")
        assert "In this chat" not in said(pilot, "top_k")
        pilot.app.screen.query_one(Tabs).active = "chat"
        await wait_until(pilot, lambda: settings_screen(pilot).shown == "chat")
        assert "In this chat: Write code., by the preset code." in said(pilot, "system")


async def test_keys_come_to_an_action_and_go_by_being_pressed() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "Hello")
        await open_settings(pilot, "keys")
        await choose_action(pilot, "chat.new")
        await pilot.press("f9")
        await wait_until(pilot, lambda: read_settings().keys == {"chat.new": "ctrl+n,f9"})
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: read_settings().keys == {"chat.new": "f9"})
        await pilot.press("f9")
        await wait_until(pilot, lambda: "One key has to stay" in pressing(pilot))
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, PressKeyScreen))
        [line] = [each for each in listed(pilot) if "chat.new " in each]
        assert line.startswith("*f9 ")
        await back(pilot)
        await pilot.press("f9")
        await wait_until(pilot, lambda: questions(pilot) == 0)


def pressing(pilot: Pilot[None]) -> str:
    """What the screen that waits for keys says."""
    lines = pilot.app.screen.query("#press-key > Static").results(Static)
    return "\n".join(str(line.content) for line in lines if line.display)


async def test_the_mouse_takes_keys_off() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await open_settings(pilot, "keys")
        await choose_action(pilot, "prompt.new_line")
        await wait_until(pilot, lambda: len(pilot.app.screen.query(".key")) == 3)
        assert await pilot.click(pilot.app.screen.query(".key").first())
        await wait_until(
            pilot, lambda: read_settings().keys == {"prompt.new_line": "shift+enter,alt+enter"}
        )
        assert await pilot.click("#default")
        await wait_until(pilot, lambda: read_settings().keys == {})
        assert await pilot.click("#done")
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, PressKeyScreen))


async def test_a_command_without_a_key_gets_one_and_loses_it_again() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await open_settings(pilot, "keys")
        await choose_action(pilot, "conversation.length")
        assert "no key" in {
            str(each.content) for each in pilot.app.screen.query(".keys Static").results(Static)
        }
        await pilot.press("ctrl+l", "escape")
        await wait_until(pilot, lambda: read_settings().keys == {"conversation.length": "ctrl+l"})
        await back(pilot)
        await pilot.press("ctrl+l")
        await wait_until(pilot, lambda: prompt(pilot).text == "/length ")
        prompt(pilot).clear()
        await open_settings(pilot, "keys")
        await choose_action(pilot, "conversation.length")
        await pilot.press("ctrl+l", "escape")
        await wait_until(pilot, lambda: read_settings().keys == {})


async def test_a_key_is_left_or_gets_its_default_again() -> None:
    async with app_with_settings("[keys]\nchat.new = 'f9'\n").run_test(size=WIDE) as pilot:
        await open_settings(pilot, "keys")
        await choose_action(pilot, "chat.new")
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, PressKeyScreen))
        assert read_settings().keys == {"chat.new": "f9"}
        await choose_action(pilot, "chat.new")
        await pilot.press("backspace")
        await wait_until(pilot, lambda: read_settings().keys == {})


async def test_a_key_that_leaves_specchat_can_be_given_to_another_action() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await open_settings(pilot, "keys")
        await choose_action(pilot, "chat.new")
        await pilot.press("ctrl+q", "ctrl+c", "ctrl+c", "ctrl+n")
        await wait_until(pilot, lambda: read_settings().keys == {"chat.new": "ctrl+q"})
        assert pilot.app.return_code is None


async def test_a_key_that_does_something_else_too_is_said() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await open_settings(pilot, "keys")
        await choose_action(pilot, "chat.new")
        await pilot.press("f2")
        await wait_until(pilot, lambda: "chat.new" in file())
        await wait_until(pilot, lambda: "“Choose another model and draft” too" in pressing(pilot))


async def choose_action(pilot: Pilot[None], id: str) -> None:
    """Ask for another key for an action."""
    options = pilot.app.screen.query_one(OptionList)
    options.focus()
    options.highlighted = next(i for i, line in enumerate(listed(pilot)) if f" {id} " in line)
    await pilot.press("enter")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, PressKeyScreen))


async def test_the_present_settings_are_saved_chosen_and_deleted_as_a_preset() -> None:
    async with app_with_settings(COMMENTED, max_tokens=9).run_test(size=WIDE) as pilot:
        await open_settings(pilot, "presets")
        name = pilot.app.screen.query_one("PresetList > .head Input", Input)
        name.focus()
        await pilot.press(*"mine", "enter")
        await wait_until(pilot, lambda: "mine" in read_settings().presets)
        kept = read_settings().presets["mine"]
        assert kept.sampling == read_settings().sampling
        assert file().startswith(COMMENTED)

        choice = row(pilot, "preset").query_one(Choice)
        choice.focus()
        await pilot.press("enter", "down", "enter")
        await wait_until(pilot, lambda: read_settings().chat.preset == "mine")

        delete = pilot.app.screen.query_one(".delete", Button)
        delete.press()
        await wait_until(pilot, lambda: str(delete.label) == "Really?")
        assert "mine" in read_settings().presets
        delete.press()
        await wait_until(pilot, lambda: read_settings().presets == {})
        assert read_settings().chat.preset is None
        assert choice.value is Select.NULL


async def test_a_preset_needs_a_name_and_one_that_is_there_is_replaced_on_the_second_saving() -> (
    None
):
    async with app_with_settings(PRESET).run_test(size=WIDE) as pilot:
        await open_settings(pilot, "presets")
        name = pilot.app.screen.query_one("PresetList > .head Input", Input)
        name.focus()
        await pilot.press("enter")
        await wait_until(pilot, lambda: "It needs a name" in problem(pilot))
        await pilot.press(*"code", "enter")
        await wait_until(pilot, lambda: "There is a preset code" in problem(pilot))
        assert file() == PRESET
        await pilot.press("x", "backspace", "enter")
        await wait_until(pilot, lambda: "There is a preset code" in problem(pilot))
        assert file() == PRESET
        await pilot.press("enter")
        await wait_until(pilot, lambda: problem(pilot) == "✓ code is replaced.")
        assert read_settings().presets["code"] == Preset(sampling=SamplingSettings())


def problem(pilot: Pilot[None]) -> str:
    """What is said below the name of a preset."""
    return str(pilot.app.screen.query_one("PresetList > .problem", Static).content)


async def test_the_active_preset_holds_for_the_next_answer() -> None:
    async with app_with_settings(PRESET).run_test(size=WIDE) as pilot:
        await open_settings(pilot, "presets")
        row(pilot, "preset").query_one(Choice).focus()
        await pilot.press("enter", "down", "enter")
        await wait_until(pilot, lambda: read_settings().chat.preset == "code")
        await back(pilot)
        assert (await asked(pilot))[0]["temperature"] == 0


async def test_settings_of_loading_are_asked_for_at_the_next_load() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await open_settings(pilot, "loading")
        await type_into(pilot, "context", "4096")
        await pilot.press("enter")
        await back(pilot)
        assert screen(pilot)._loader.choice.load.plan.n_ctx == 4096


async def test_a_file_that_cannot_be_written_is_said_below_the_setting() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await open_settings(pilot, "sampling")
        from specchat.settings import settings_path

        settings_path().write_text("[sampling]\ntemprature = 1\n")
        await type_into(pilot, "top_k", "5")
        await pilot.press("enter")
        assert "line 2: There is no setting temprature" in said(pilot, "top_k")
        assert file() == "[sampling]\ntemprature = 1\n"


async def test_help_over_the_settings_tells_about_them() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await open_settings(pilot)
        await pilot.press("f1")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        from tui.test_help import shown

        assert "what it is now, what it means, and when a change is felt" in shown(pilot)


@pytest.mark.parametrize("group", [*tables(), "keys", "presets"])
async def test_everything_can_be_reached_on_the_smallest_screen(group: str) -> None:
    async with app_with_settings(PRESET).run_test(size=(60, 16)) as pilot:
        shown = await open_settings(pilot, group)
        fields = [each for each in shown.query("#group *") if each.focusable]
        assert fields
        for _ in fields:
            await pilot.press("tab")
            await pilot.pause()
            focused = shown.focused
            assert focused is not None
            assert shown.region.contains_region(focused.region)


async def test_the_groups_are_reached_by_keys() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        shown = await open_settings(pilot)
        await pilot.press("down")
        assert isinstance(shown.focused, TextArea)
        await pilot.press("f9")
        await wait_until(pilot, lambda: shown.shown == "sampling")
        await pilot.press("left")
        await wait_until(pilot, lambda: shown.shown == "chat")
        await until_closed(pilot)


async def until_closed(pilot: Pilot[None]) -> None:
    """Leave by Esc."""
    await pilot.press("escape")
    await wait_until(pilot, lambda: not isinstance(pilot.app.screen, SettingsScreen))
    await until_ready(pilot)
