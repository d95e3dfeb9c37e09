"""Draws assets/chat.gif: a question to the built-in model, its answer, and what it was worth.

Run it with `make recording`. The frames are the screens of a real answer, as they came.
"""

import asyncio
import io
import re
import time
from pathlib import Path

import resvg_py
from PIL import Image
from screenshot import QUESTIONS, wait_until
from textual.pilot import Pilot

from specchat.chat.store import Store
from specchat.choosing.choice import Asked, choose
from specchat.hub.builtin import built_in_model
from specchat.tui.app import SpecchatApp
from specchat.tui.widgets.prompt import Prompt
from specchat.tui.world import World

PICTURE = Path(__file__).with_name("chat.gif")
SIZE = (110, 32)
WIDTH = 990
"""Of the picture, in pixels."""
EVERY_S = 0.2
LONGEST_S = 2.5
"""For which a frame stays."""
FONT = "DejaVu Sans Mono"
"""One with the characters of bars and borders; it has to be installed."""
FONTS = re.compile(r"font-family: ?[^;]+;")


class Film:
    """What the screen showed, and when."""

    def __init__(self) -> None:
        self._frames: list[tuple[float, str]] = []

    async def record(self, app: SpecchatApp) -> None:
        """Look at the screen again and again."""
        while True:
            picture = app.export_screenshot(title="specchat")
            if not self._frames or picture != self._frames[-1][1]:
                self._frames.append((time.perf_counter(), picture))
            await asyncio.sleep(EVERY_S)

    def save(self, path: Path) -> None:
        """Write it as a moving picture."""
        moments = [moment for moment, _ in self._frames]
        ends = [*moments[1:], moments[-1] + LONGEST_S]
        images = [drawn(picture) for _, picture in self._frames]
        images[0].save(
            path,
            save_all=True,
            append_images=images[1:],
            duration=[
                round(1000 * min(end - moment, LONGEST_S))
                for moment, end in zip(moments, ends, strict=True)
            ],
            loop=0,
            optimize=True,
        )


def drawn(picture: str) -> Image.Image:
    """A screen as pixels."""
    svg = FONTS.sub(f"font-family: {FONT};", picture)
    png = bytes(resvg_py.svg_to_bytes(svg_string=svg, width=WIDTH, font_family=FONT))
    image = Image.open(io.BytesIO(png)).convert("RGB")
    return image.quantize(64, dither=Image.Dither.NONE)


async def main() -> None:
    """Ask, look at where the tokens came from and at the rounds, and save it all."""
    app = SpecchatApp(
        choose(Asked(target=str(built_in_model()))),
        given={"temperature": 0.0, "max_tokens": 160},
        world=World(open_store=Store.in_memory),
    )
    film = Film()
    async with app.run_test(size=SIZE) as pilot:
        prompt = app.query_one(Prompt)
        prompt.cursor_blink = False
        await wait_until(pilot, lambda: app.state in ("ready", "broken"))
        recording = asyncio.create_task(film.record(app))
        for question in QUESTIONS:
            await answer(pilot, app, prompt, question)
        for key in ("f7", "f7", "f6", "escape"):
            await pilot.press(key)
            await pilot.pause(LONGEST_S)
        recording.cancel()
    film.save(PICTURE)


async def answer(pilot: Pilot[None], app: SpecchatApp, prompt: Prompt, question: str) -> None:
    """Ask, and wait for the whole answer."""
    prompt.insert(question)
    await pilot.pause(1.0)
    await pilot.press("enter")
    await wait_until(pilot, lambda: app.state == "answering")
    await wait_until(pilot, lambda: app.state != "answering")
    await pilot.pause(1.0)


if __name__ == "__main__":
    asyncio.run(main())
