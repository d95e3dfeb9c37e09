"""What the screen does when something does not work."""

import os
import signal
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Button, Static

from specchat.choosing.choice import Asked, choose
from specchat.choosing.placing import place
from specchat.tui.app import SpecchatApp
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.loading_bar import LoadingBar
from specchat.tui.widgets.memory_bars import MemoryBars
from specchat.tui.world import World
from support.header_files import layers, texts, write_header_file
from tui.offers import app_with
from tui.screen_driver import (
    PAIR,
    WIDE,
    ask,
    ask_and_wait,
    cards,
    chat,
    hint,
    make_app,
    notes,
    prompt,
    questions,
    screen,
    tails,
    until_drawn,
    until_ready,
    wait_until,
)
from tui.test_memory import bars, big_pair
from unit.machines import CARD_8


async def kill_in_mid_answer(pilot: Pilot[None]) -> SpecchatApp:
    """Ask, and end the engine's process while it answers."""
    app = await until_ready(pilot)
    await ask(pilot, "first")
    await wait_until(pilot, lambda: tails(pilot) == ["The second line"])
    assert app.engine.pid is not None
    os.kill(app.engine.pid, signal.SIGKILL)
    await wait_until(pilot, lambda: app.state == "broken")
    return app


async def test_a_killed_engine_is_started_again_by_a_key() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        app = await kill_in_mid_answer(pilot)
        assert "SIGKILL" in cards(pilot)[0]
        assert "The first line.\nThe second line" in chat(pilot)
        assert notes(pilot)[0].startswith("cut off · ")
        await ask(pilot, "second")
        assert "Ctrl+R" in hint(pilot)
        await pilot.press("ctrl+r")
        await until_ready(pilot)
        assert not app.query(Button)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "exactly what the target" in chat(pilot))
        assert [message.content for message in app.conversation.messages][:3] == [
            "first",
            "The first line.\n\nThe second line",
            "second",
        ]


async def test_a_killed_engine_is_started_again_by_a_click() -> None:
    async with make_app("hold").run_test(size=(60, 16)) as pilot:
        await kill_in_mid_answer(pilot)
        pilot.app.query_one(ChatView).scroll_end(animate=False)
        await pilot.pause()
        assert await pilot.click(Button)
        await until_ready(pilot)
        await ask_and_wait(pilot, "second")
        assert "exactly what the target" in chat(pilot)


async def test_an_engine_that_leaves_by_itself() -> None:
    async with make_app("crash").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "first")
        await wait_until(pilot, lambda: app.state == "broken")
        await until_drawn(pilot)
        assert "Before the end" in chat(pilot)
        assert "code 3" in cards(pilot)[0]


async def test_a_killed_engine_before_any_text_gives_the_question_back() -> None:
    async with make_app("prefill").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "first")
        await wait_until(pilot, lambda: "reading" in notes(pilot)[0])
        prompt(pilot).insert("next")
        assert app.engine.pid is not None
        os.kill(app.engine.pid, signal.SIGKILL)
        await wait_until(pilot, lambda: app.state == "broken")
        assert prompt(pilot).text == "first\nnext"
        assert questions(pilot) == 0


async def test_new_chat_keeps_the_card_that_waits() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        app = await kill_in_mid_answer(pilot)
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: questions(pilot) == 0)
        assert app.state == "broken"
        assert len(cards(pilot)) == 1
        await pilot.press("ctrl+r")
        await until_ready(pilot)
        assert not app.query(Button)


async def test_an_unreadable_engine_is_given_up() -> None:
    async with make_app("garbage").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "first")
        await wait_until(pilot, lambda: app.state == "broken")
        assert "unreadable" in cards(pilot)[0]
        assert prompt(pilot).text == "first"


async def test_an_engine_that_cannot_be_started() -> None:
    app = SpecchatApp(
        choose(Asked(target=PAIR.target)),
        world=World(engine_command=("/nowhere/engine",), place=partial(place, machine=CARD_8)),
    )
    async with app.run_test(size=WIDE) as pilot:
        await wait_until(pilot, lambda: app.state == "broken")
        assert "/nowhere/engine" in cards(pilot)[0]
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: len(cards(pilot)) == 2)


async def test_a_model_that_cannot_be_loaded_can_be_tried_again() -> None:
    async with make_app("load-failure").run_test(size=WIDE) as pilot:
        app = pilot.app
        assert isinstance(app, SpecchatApp)
        await wait_until(pilot, lambda: app.state == "broken")
        card = cards(pilot)[0]
        assert "Not a usable GGUF file" in card
        assert "It is cut short" in card
        assert "Download it again" in card
        assert not app.query_one(LoadingBar).display
        await pilot.press("ctrl+r")
        await ask_and_wait(pilot, "works now?")


async def test_loading_shows_how_far_it_is_and_lets_the_person_write() -> None:
    async with make_app("loading").run_test(size=WIDE) as pilot:
        bar = pilot.app.query_one(LoadingBar)
        await wait_until(pilot, lambda: "62%" in str(bar.content))
        assert "loading target" in str(bar.content)
        assert "Target-7B-Q4_K_M.gguf" in str(bar.content)
        await pilot.press("h", "i", "enter")
        assert prompt(pilot).text == "hi"
        assert "loading" in hint(pilot)


async def test_a_draft_that_cannot_be_used_is_told_quietly() -> None:
    async with make_app("notice").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        assert "The draft is left out" in cards(pilot)[0]
        assert not pilot.app.query(Button)
        await ask_and_wait(pilot, "go on")
        assert "exactly what the target" in chat(pilot)


async def test_a_refused_question_returns_to_the_prompt() -> None:
    async with make_app("refuse").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "a very long question")
        await wait_until(pilot, lambda: app.state == "ready" and bool(cards(pilot)))
        assert "The conversation is too long" in cards(pilot)[0]
        assert prompt(pilot).text == "a very long question"
        assert app.conversation.messages == ()


async def test_an_answer_that_fails_midway_keeps_its_text() -> None:
    async with make_app("fail-midway").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "first")
        await wait_until(pilot, lambda: app.state == "ready" and bool(cards(pilot)))
        await until_drawn(pilot)
        assert "Half of it" in chat(pilot)
        assert notes(pilot)[0].startswith("cut off")
        await ask_and_wait(pilot, "second")
        assert app.conversation.messages[1].content == "Half of it"


async def test_after_a_crash_less_is_offered_step_by_step_draft_first() -> None:
    async with make_app("crash").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        for offered in ("ithout the draft.", "ith a context of 4,096 tokens"):
            await ask(pilot, "first")
            await wait_until(pilot, lambda: app.state == "broken")
            assert f"Less would be: w{offered}" in cards(pilot)[-1]
            await pilot.press("ctrl+l")
            await until_ready(pilot)
            assert f"W{offered}" in cards(pilot)[-1]
        assert "Draft-0.5B" not in str(app.query_one("#names", Static).content)


async def test_what_was_started_with_less_has_its_own_bars_of_memory(tmp_path: Path) -> None:
    app = app_with(big_pair(tmp_path, n_layers=20), "crash")
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        whole = bars(pilot)
        await ask(pilot, "first")
        await wait_until(pilot, lambda: app.state == "broken")
        await pilot.press("ctrl+l")
        await until_ready(pilot)
        assert app.query_one(MemoryBars).display
        assert "CUDA0" in bars(pilot)
        assert "▓" in whole
        assert "▓" not in bars(pilot)


async def test_less_is_offered_by_a_button_and_not_after_a_file_that_is_no_model() -> None:
    async with make_app("load-failure").run_test(size=WIDE) as pilot:
        app = screen(pilot)
        await wait_until(pilot, lambda: app.state == "broken")
        labels = [str(button.label) for button in app.query(Button)]
        assert labels == ["Try again (Ctrl+R)", "Other pairs (F2)"]
        await pilot.press("ctrl+l")
        assert app.state == "broken"
    async with make_app("crash").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "first")
        await wait_until(pilot, lambda: app.state == "broken")
        [less] = [button for button in app.query(Button) if "less" in str(button.label)]
        assert await pilot.click(less)
        await until_ready(pilot)
        assert not app.query(Button)


async def test_a_pair_that_does_not_fit_is_told_with_a_way_to_others(tmp_path: Path) -> None:
    sizes = {"block_count": 2, "embedding_length": 4096}
    path = write_header_file(
        tmp_path / "huge.gguf", "qwen2", tokens=texts(100), shapes=layers(2, 4096, 100), own=sizes
    )
    tiny = replace(CARD_8, devices=(), ram_bytes=2**28, free_ram_bytes=2**27)
    app = SpecchatApp(
        choose(Asked(target=str(path))),
        world=World(engine_command=("/nowhere/engine",), place=partial(place, machine=tiny)),
    )
    async with app.run_test(size=WIDE) as pilot:
        await wait_until(pilot, lambda: app.state == "broken")
        assert "It does not fit" in cards(pilot)[0]
        assert "Other pairs (F2)" in [str(button.label) for button in app.query(Button)]
