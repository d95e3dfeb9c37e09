"""Letters after a click are text for the prompt; after going to a message by key they are keys."""

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from specchat.tui.widgets.messages import Said, Speaker
from tui.screen_driver import (
    WIDE,
    ask_and_wait,
    make_app,
    prompt,
    screen,
    wait_until,
)
from tui.test_commands import write
from tui.test_messages import focused, said, speakers, until_answered


def footer(pilot: Pilot[None]) -> dict[str, FooterKey]:
    """The keys in the last line, by what they do."""
    keys = pilot.app.screen.query_one(Footer).query(FooterKey)
    return {each.description: each for each in keys}


async def click_footer(pilot: Pilot[None], description: str) -> None:
    """Click a key in the last line."""
    await wait_until(pilot, lambda: description in footer(pilot))
    assert await pilot.click(footer(pilot)[description])


async def test_what_is_typed_after_a_click_on_a_message_goes_to_the_prompt() -> None:
    async with make_app("think").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        app = screen(pilot)
        key, path = app.conversation.key, app.conversation.path
        everything = [each for each in app.query("#left *") if each.focusable]
        assert len(everything) > 4
        for widget in everything:
            if widget is prompt(pilot):
                continue
            prompt(pilot).clear()
            assert await click_on(pilot, widget)
            assert focused(pilot) is widget
            await write(pilot, "red cabs")
            assert prompt(pilot).text == "red cabs"
        assert (app.conversation.key, app.conversation.path) == (key, path)


async def click_on(pilot: Pilot[None], widget: Widget) -> bool:
    """Click where nothing else that takes the focus is in front."""
    widget.scroll_visible(animate=False)
    await pilot.pause()
    corner = widget.query_one(Speaker) if isinstance(widget, Said) else widget
    return await pilot.click(corner, offset=(0, 0))


async def test_letters_that_come_all_at_once_after_a_click_stay_in_order() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        await pilot.click(said(pilot)[1].query_one(Speaker))
        for letter in "rebc":
            pilot.app.post_message(events.Key(letter, letter))
        await wait_until(pilot, lambda: prompt(pilot).text == "rebc")


async def test_ctrl_up_after_a_click_makes_letters_keys_of_that_message() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        await ask_and_wait(pilot, "two")
        await pilot.click(said(pilot)[1].query_one(Speaker))
        await pilot.press("ctrl+up")
        assert focused(pilot) is said(pilot)[1]
        await pilot.press("c")
        assert pilot.app.clipboard == "one"
        assert prompt(pilot).text == ""


@pytest.mark.parametrize("keys", [("up",), ("shift+tab", "shift+tab", "tab")])
async def test_going_on_from_a_clicked_message_by_key_makes_letters_keys(
    keys: tuple[str, ...],
) -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        await pilot.click(said(pilot)[1].query_one(Speaker))
        await pilot.press(*keys)
        assert focused(pilot) is said(pilot)[0]
        await pilot.press("c")
        assert pilot.app.clipboard == "one"


async def test_copying_a_selection_leaves_letters_text() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        await pilot.click(said(pilot)[1].query_one(Speaker))
        await pilot.press("ctrl+c", "pageup", "r")
        assert prompt(pilot).text == "r"


async def test_the_mouse_does_in_the_last_line_what_letters_would_do() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        await pilot.click(said(pilot)[1].query_one(Speaker))
        await wait_until(pilot, lambda: "Again" in footer(pilot))
        assert footer(pilot)["Again"].key_display == "▸"
        await click_footer(pilot, "Copy")
        await wait_until(pilot, lambda: pilot.app.clipboard == "one")
        await click_footer(pilot, "Again")
        await until_answered(pilot, 3)
        assert speakers(pilot) == ["you", "model\n< 2/2 >"]
        assert focused(pilot) is prompt(pilot)


async def test_the_last_line_has_the_other_tries_of_a_message_that_has_some() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        await pilot.press("ctrl+up")
        await wait_until(pilot, lambda: "Again" in footer(pilot))
        assert footer(pilot)["Again"].key_display == "r"
        assert not {"Earlier", "Later"} & set(footer(pilot))
        await pilot.press("r")
        await until_answered(pilot, 3)
        await pilot.press("ctrl+up")
        await wait_until(pilot, lambda: "Earlier" in footer(pilot))
        assert footer(pilot)["Later"].has_class("-disabled")
        await click_footer(pilot, "Earlier")
        await wait_until(pilot, lambda: speakers(pilot)[1] == "model\n< 1/2 >")
        await write(pilot, "red")
        assert prompt(pilot).text == "red"


async def test_a_click_on_either_side_of_the_mark_goes_to_the_other_tries() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        await pilot.press("ctrl+up", "r")
        await until_answered(pilot, 3)
        assert speakers(pilot)[1] == "model\n< 2/2 >"
        for x, number in ((2, 1), (0, 1), (4, 2)):
            await pilot.click(said(pilot)[1].query_one(Speaker), offset=(x, 1))
            await pilot.pause()
            assert speakers(pilot)[1] == f"model\n< {number}/2 >"
