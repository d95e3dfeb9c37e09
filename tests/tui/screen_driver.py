"""How the tests use the screen: start it with a script, wait for something, read what it shows."""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Markdown, Static

from specchat.chat.store import Store
from specchat.choosing.choice import Asked, Choice, choose
from specchat.choosing.placing import place
from specchat.engine.protocol import Pair
from specchat.pairing.machine import Conditions, Machine
from specchat.settings import Settings
from specchat.tui.app import DEFAULTS, SpecchatApp
from specchat.tui.widgets.card import Card
from specchat.tui.widgets.messages import Answer, Question
from specchat.tui.widgets.prompt import Prompt
from specchat.tui.widgets.speculation_panel import SpeculationPanel
from specchat.tui.world import World, store_here
from unit.machines import CARD_8

SCRIPTED_ENGINE = Path(__file__).with_name("scripted_engine.py")
PAIR = Pair("/models/Target-7B-Q4_K_M.gguf", "/models/Draft-0.5B-Q8_0.gguf")
WIDE = (120, 40)
DEADLINE_S = 20.0


def make_app(
    scenario: str,
    *,
    choice: Choice | None = None,
    system: str | None = None,
    settings: Settings = DEFAULTS,
    store: Callable[[], Store] = store_here,
    resume: bool = False,
) -> SpecchatApp:
    """The screen with an engine that follows this scenario."""
    return SpecchatApp(
        choice or choose(Asked(target=PAIR.target, draft=PAIR.draft)),
        settings,
        given={} if system is None else {"system": system},
        resume=resume,
        world=replace(world_of(scenario), open_store=store),
    )


def world_of(scenario: str, machine: Machine = CARD_8) -> World:
    """An engine that follows this scenario, on this machine, which tells nothing of its conditions;
    time stands still."""
    return World(
        engine_command=(sys.executable, str(SCRIPTED_ENGINE), scenario),
        place=partial(place, machine=machine),
        read_conditions=Conditions,
        clock=lambda: 0.0,
    )


async def wait_until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Let the screen run until this holds."""
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, f"gave up waiting; it shows:\n{everything(pilot)}"
        await pilot.pause(0.02)
    await pilot.pause()


async def until_ready(pilot: Pilot[None]) -> SpecchatApp:
    """Wait until a question can be asked; the screen."""
    app = screen(pilot)
    await wait_until(pilot, lambda: app.state == "ready")
    return app


async def ask(pilot: Pilot[None], question: str) -> None:
    """Write a question and send it."""
    prompt(pilot).insert(question)
    await pilot.press("enter")


async def ask_and_wait(pilot: Pilot[None], question: str) -> None:
    """Write a question, send it and wait for the end of the answer."""
    app = await until_ready(pilot)
    answers = len(app.query(Answer))
    await ask(pilot, question)
    await wait_until(pilot, lambda: len(app.query(Answer)) > answers and app.state == "ready")
    await until_drawn(pilot)


async def until_drawn(pilot: Pilot[None]) -> None:
    """Wait until every answer that has ended is there as Markdown."""
    await wait_until(pilot, lambda: not any(each.is_waiting for each in pilot.app.query(Answer)))


def screen(pilot: Pilot[None]) -> SpecchatApp:
    """The application under test."""
    assert isinstance(pilot.app, SpecchatApp)
    return pilot.app


def prompt(pilot: Pilot[None]) -> Prompt:
    """The place to write."""
    return pilot.app.query_one(Prompt)


def hint(pilot: Pilot[None]) -> str:
    """The words on the prompt's border."""
    return str(prompt(pilot).border_subtitle or "")


def chat(pilot: Pilot[None]) -> str:
    """Everything that the chat shows, top to bottom, Markdown as its source."""
    parts = []
    for widget in pilot.app.query("ChatView *"):
        if isinstance(widget, Markdown):
            parts.append(widget.source.rstrip("\n"))
        elif isinstance(widget, Static) and widget.display and not _in_markdown(widget):
            parts.append(str(widget.content))
    return "\n".join(part for part in parts if part)


def tails(pilot: Pilot[None]) -> list[str]:
    """Text that is still shown as plain text."""
    return [str(tail.content) for tail in pilot.app.query(".tail").results(Static) if tail.display]


def notes(pilot: Pilot[None]) -> list[str]:
    """The last lines of the answers."""
    return [str(note.content) for note in pilot.app.query(".note").results(Static)]


def questions(pilot: Pilot[None]) -> int:
    """How many questions the chat shows."""
    return len(pilot.app.query(Question))


def cards(pilot: Pilot[None]) -> list[str]:
    """The text of each card."""
    return [
        "\n".join(str(line.content) for line in card.query(Static).results(Static))
        for card in pilot.app.query(Card)
    ]


def panel(pilot: Pilot[None]) -> str:
    """What the speculation panel says."""
    return str(pilot.app.query_one(SpeculationPanel).content)


def _in_markdown(widget: Static) -> bool:
    return any(isinstance(parent, Markdown) for parent in widget.ancestors)


def everything(pilot: Pilot[None]) -> str:
    """All text of the screen in front, for a test that waits in vain."""
    shown = pilot.app.screen.query(Static).results(Static)
    return "\n".join(str(widget.content) for widget in shown if widget.display)
