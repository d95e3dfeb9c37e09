"""How long llama.cpp's threads should look for each other before they sleep.

Run it on a quiet machine. It prints the built-in model's decode rate for several numbers of looks
(`GOMP_SPINCOUNT`), alone, beside a program that takes 6 % of a core in short bursts as a screen
does, and beside one that takes a whole core.
"""

import asyncio
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import structs

from specchat.engine.protocol import Generate, Plan
from specchat.neighbours import POLITE
from specchat.speculation.settings import SpeculationSettings
from support.engine_process import ask, load, running_engine
from support.packaged import smollm2
from support.processes import Process

LOOKS = (300, 600, 1000, 2000, 10_000, 100_000)
NEIGHBOURS = {"alone": 0, "beside 6 % of a core": 6, "beside a busy core": 100}
"""Milliseconds of every 100 that the other program works."""
TOKENS = {0: 150, 6: 150, 100: 60}
TURNS = 5
QUESTION = "Write a long story about a lighthouse."
SETTLES_S = 0.2
WORK = """
import sys, time
while True:
    began, used = time.perf_counter(), time.thread_time()
    while time.thread_time() - used < float(sys.argv[1]) / 1e3:
        pass
    time.sleep(max(0.0, began + 0.1 - time.perf_counter()))
"""


@contextmanager
def neighbour(milliseconds: int) -> Iterator[None]:
    """A program that works so much of every 100."""
    if not milliseconds:
        yield
        return
    with Process([sys.executable, "-c", WORK, str(milliseconds)]):
        yield


async def rates(looks: int) -> list[float]:
    """The decode rate beside each neighbour, tok/s."""
    os.environ |= POLITE | {"GOMP_SPINCOUNT": str(looks)}
    async with running_engine() as engine:
        await engine.send(load(smollm2(), plan=Plan(n_ctx=1024, measure_costs=False)))
        await engine.answer(plainly(1, 60))  # warms up
        found = []
        for number, milliseconds in enumerate(NEIGHBOURS.values(), 2):
            with neighbour(milliseconds):
                await asyncio.sleep(SETTLES_S)
                finished = await engine.answer(plainly(number, TOKENS[milliseconds]))
                found.append(finished.figures.tokens_per_second or 0.0)
        return found


def plainly(number: int, tokens: int) -> Generate:
    """The question, answered without drafts."""
    request = ask(number, QUESTION, max_tokens=tokens)
    return structs.replace(request, speculation=SpeculationSettings(drafter="none"))


async def main() -> None:
    """Measure turn by turn, and print medians."""
    found: dict[int, list[list[float]]] = defaultdict(list)
    for _ in range(TURNS):
        for looks in LOOKS:
            found[looks].append(await rates(looks))
    print(f"{'looks':<10}" + "".join(f"{name:>24}" for name in NEIGHBOURS))
    for looks, turns in found.items():
        medians = [statistics.median(each) for each in zip(*turns, strict=True)]
        print(f"{looks:<10,}" + "".join(f"{rate:>18.1f} tok/s" for rate in medians))


if __name__ == "__main__":
    asyncio.run(main())
