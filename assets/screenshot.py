"""Draws assets/chat.svg: the screen with the built-in model and an answer that it really gave.

Run it as `python assets/screenshot.py`, or as `make screenshot`.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from specchat.chat.store import Store
from specchat.choosing.choice import Asked, choose
from specchat.hub.builtin import built_in_model
from specchat.tui.app import SpecchatApp
from specchat.tui.widgets.prompt import Prompt
from specchat.tui.world import World

PICTURE = Path(__file__).with_name("chat.svg")
SIZE = (120, 40)
DEADLINE_S = 300.0

# A text that comes back unchanged, where guesses from the text land, then one that is new in parts.
QUESTIONS = (
    """\
Repeat this list:

1. Measure the garden before you buy seeds.
2. Water the tomatoes before breakfast.
3. Cut the roses back at the end of winter.
4. Leave a corner wild for the hedgehogs.
5. Write down what grew well this year.
6. Share the seeds with your neighbours.""",
    "Write the same list once more, with tulips in place of tomatoes.",
)


async def main() -> None:
    """Ask, and save what the screen shows when all has been answered."""
    app = SpecchatApp(
        choose(Asked(target=str(built_in_model()))),
        given={"temperature": 0.0, "max_tokens": 160},
        world=World(open_store=Store.in_memory),
    )
    async with app.run_test(size=SIZE) as pilot:
        prompt = app.query_one(Prompt)
        prompt.cursor_blink = False
        await wait_until(pilot, lambda: app.state in ("ready", "broken"))
        for question in QUESTIONS:
            prompt.insert(question)
            await pilot.press("enter")
            await wait_until(pilot, lambda: app.state == "answering")
            await wait_until(pilot, lambda: app.state != "answering")
            await wait_until(pilot, lambda: not [t for t in app.query(".tail") if t.display])
        if len(app.conversation.messages) != 2 * len(QUESTIONS) or app.state != "ready":
            sys.exit("The model did not answer.")
        app.save_screenshot(PICTURE.name, str(PICTURE.parent))


async def wait_until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Let the screen run until this holds."""
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        if time.monotonic() > deadline:
            sys.exit("The engine took too long.")
        await pilot.pause(0.05)
    await pilot.pause()


if __name__ == "__main__":
    asyncio.run(main())
