"""All that is known of an answer can be read, on the day and after the conversation was opened."""

from msgspec.structs import replace as but
from textual.pilot import Pilot
from textual.widgets import Static

from specchat.chat.parts import PartFigures
from specchat.chat.records import Message
from specchat.tui.app import SpecchatApp
from specchat.tui.definitions import FIGURES
from specchat.tui.details import figure_details, origin_details
from specchat.tui.screens.details import DetailsScreen
from specchat.tui.widgets.messages import AlarmLine, Answer
from specchat.tui.widgets.rounds_chart import RoundsChart
from support.answers import RECORD
from tui.screen_driver import (
    WIDE,
    ask,
    ask_and_wait,
    everything,
    make_app,
    notes,
    panel,
    until_drawn,
    until_ready,
    wait_until,
)
from tui.scripted_engine import ALARM

OF_NO_ANSWER = {
    "origin of a token",
    "log probability",
    "prompt, draft, target, our own",
    "reason",
    "context",
    "memory",
    "temperature",
    "on battery",
}
"""Figures of a token or a round, or of the moment."""


def rows(pilot: Pilot[None]) -> dict[str, str]:
    """Names and values of the details on screen."""
    return {
        str(row.children[0].render()): str(row.children[1].render())
        for row in pilot.app.screen.query(".row")
    }


async def details(pilot: Pilot[None]) -> dict[str, str]:
    """What they say, once they are shown."""
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, DetailsScreen))
    await wait_until(pilot, lambda: "target" in rows(pilot))
    return rows(pilot)


async def open_again(pilot: Pilot[None]) -> None:
    """Leave the conversation and come back to it."""
    app = pilot.app
    assert isinstance(app, SpecchatApp)
    key = app.conversation.key
    assert key is not None
    await app.action_new_chat()
    await app.conversations.open(key)
    await wait_until(pilot, lambda: len(app.query(Answer)) == 1)
    await until_drawn(pilot)


def test_every_figure_of_an_answer_is_there_with_its_meaning() -> None:
    thought = PartFigures(rounds=1, emitted=2, drafted=2, tested=2, accepted=1, decode_s=0.5)
    record = but(RECORD, parts={**RECORD.parts, "thinking": thought})
    made = {each.name: each for each in figure_details(record, prefill_s=0.2)}

    assert made.keys() == {each.name for each in FIGURES} - OF_NO_ANSWER
    assert {each.name: each.meaning for each in made.values()} == {
        name: meaning for name, meaning in FIGURES if name in made
    }
    assert made["acceptance"].value == "75%"
    assert made["acceptance at position i"].value == "1: 75%, 2: 67%, 3: 100%"
    assert made["accepted histogram"].value == "0: 2, 1: 2, 2: 2, 3: 2"
    assert made["speed-up"].value == "1.25x, plain measured 12 s before its end"
    assert made["thought for"].value == "0.50 s"


def test_how_it_came_about_names_the_pair_the_sampling_the_rule_and_the_seed() -> None:
    kept = Message(
        id=1, parent=None, role="assistant", text="", state="stopped", created_at=0,
        answer=but(RECORD, left_out=2, seed=None),
    )  # fmt: skip
    made = {each.name: each.value for each in origin_details(kept)}

    assert made["target"] == "Target-7B-Q4_K_M.gguf"
    assert made["draft"] == "Draft-0.5B-Q8_0.gguf"
    assert (made["rule"], made["seed"], made["draft length"]) == ("block", "not told", "auto")
    assert made["sampling"] == "temperature 0.7, top-k 40, top-p 0.95, min-p 0.05"
    assert made["left out"].startswith("the first 2 messages")


async def test_the_details_of_an_answer_are_shown_by_a_key_and_by_a_command() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "/details")
        await pilot.pause()
        assert "There is no answer yet." in everything(pilot)
        await ask_and_wait(pilot, "How?")
        await pilot.press("ctrl+up", "i")
        made = await details(pilot)
        assert (made["seed"], made["rule"]) == ("1", "token")
        assert made["plain tok/s"] == "18.0 tok/s"
        assert "prompt seconds" in made
        await pilot.press("i")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press("escape")
        await ask(pilot, "/details")
        assert await details(pilot) == made


async def test_after_opening_a_conversation_its_last_answer_is_told_of_as_on_the_day() -> None:
    async with make_app("left-out").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask_and_wait(pilot, "How?")
        note, shown = notes(pilot), panel(pilot).splitlines()
        await open_again(pilot)
        assert notes(pilot) == note
        assert note[0].startswith("the first 6 messages")
        again = panel(pilot).splitlines()
        assert (again[0], again[2]) == (shown[0], "the last answer here")
        assert [line for line in again if line.startswith("at ")] == [
            line for line in shown if line.startswith("at ")
        ]
        await pilot.press("f6")
        await wait_until(pilot, lambda: bool(app.screen.query(RoundsChart)))
        words = app.screen.query_one("#words", Static)
        await wait_until(pilot, lambda: "drafted 3" in str(words.content))
        assert "words: " in str(words.content)


async def test_the_alarms_of_an_answer_are_kept() -> None:
    async with make_app("alarm").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask_and_wait(pilot, "How?")
        await open_again(pilot)
        assert len(app.query(AlarmLine)) == 1
        await ask(pilot, "/details")
        await details(pilot)
        assert ALARM.help in everything(pilot)
