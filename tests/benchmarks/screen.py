"""The whole program in a terminal against its budgets: start, idling, key echo, decode rate.

Run it on a quiet machine. The terminal is one of this process; while rates are measured it draws
nothing, because one in Python would take more of the machine than those that people have. What
showing a fast answer costs the screen by kind of text is `streaming_cost.py`.
"""

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from specchat.bench.realistic import realistic_pair
from specchat.chat.store import Store, default_path
from specchat.engine.client import EngineClient
from specchat.engine.protocol import Failed, Finished, Generate, Load, Message, Pair, Plan
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from support.packaged import smollm2
from support.real_screen import RealScreen

STARTS = 5
IDLE_S = 10
KEYS = 160
LINE = 80
BETWEEN_KEYS_S = 0.06
ANSWERS = 5
SETTLES_S = 0.5
"""After which everything that was typed is on the screen."""
QUESTION = "Write a long story about a lighthouse and the people who keep it."
START_BUDGET_S = 1.0
IDLE_BUDGET = 0.01
ECHO_BUDGET_S = 0.05
RATE_BUDGET = 0.97


def start(model: Path) -> float:
    """Seconds from the command to the drawn screen, the median."""
    seconds: list[float] = []
    for _ in range(STARTS):
        with RealScreen("--target", str(model)) as screen:
            screen.wait_for("╭─ speculation")
            seconds.append(time.perf_counter() - screen.started)
    return statistics.median(seconds)


def idle(model: Path) -> float:
    """Share of a core that the screen and the engine take while nothing happens."""
    with RealScreen("--target", str(model)) as screen:
        screen.wait_for("Ready.")
        parent = psutil.Process(screen.process.pid)
        processes = [parent, *parent.children(recursive=True)]
        time.sleep(2)
        before = seconds_of(processes)
        time.sleep(IDLE_S)
        return (seconds_of(processes) - before) / IDLE_S


def seconds_of(processes: Sequence[psutil.Process]) -> float:
    """Processor time of all of them."""
    times = [process.cpu_times() for process in processes]
    return sum(each.user + each.system for each in times)


def echo(model: Path) -> float:
    """Seconds from a key to its letter on the screen while an answer comes, 95th percentile."""
    seconds: list[float] = []
    with RealScreen("--target", str(model), "--ctx", "8192") as screen:
        screen.wait_for("Ready.")
        screen.type(QUESTION)
        screen.press("enter")
        screen.wait_for("tok/s")
        typed = ""
        for number in range(KEYS):
            if number % LINE == 0 and typed:
                screen.press("ctrl+u")
                screen.wait_until(prompt_shows(""), "an empty prompt")
                typed = ""
            time.sleep(BETWEEN_KEYS_S)
            typed += chr(ord("a") + number % 26)
            began = time.perf_counter()
            screen.type(typed[-1])
            screen.wait_until(prompt_shows(typed), "the letter")
            seconds.append(time.perf_counter() - began)
    return statistics.quantiles(seconds, n=20)[-1]


def prompt_shows(typed: str) -> Callable[[str], bool]:
    """Whether the prompt holds just this."""
    return lambda drawn: (
        any(line.startswith(f"│ {typed} ") for line in drawn.splitlines()[-4:])
        if typed
        else "│ abc" not in drawn
    )


async def rates(model: Path, tokens: int) -> tuple[float, float]:
    """Medians of the decode rate, tok/s, in the screen and without one, turn by turn."""
    shown: list[float] = []
    headless: list[float] = []
    before = len(stored_rates())
    client = await EngineClient.start()
    await client.send(Load(Pair(str(model)), Plan(n_ctx=2048, measure_costs=False)))
    events = client.events()
    request = Generate(
        id=1,
        conversation=(Message("user", QUESTION),),
        sampling=SamplingSettings(temperature=0),
        speculation=SpeculationSettings(drafter="none"),
        max_tokens=tokens,
    )
    options = ("--drafter", "none", "--temperature", "0", "--max-tokens", str(tokens))
    with RealScreen("--target", str(model), "--ctx", "2048", *options) as screen:
        screen.wait_for("Ready.")
        screen.is_watched = False
        [engine] = psutil.Process(screen.process.pid).children()

        async def without() -> None:
            await client.send(request)
            async for event in events:
                if isinstance(event, Failed):
                    raise SystemExit(event.message)
                if isinstance(event, Finished):
                    headless.append(event.figures.tokens_per_second or 0.0)
                    return

        def within() -> None:
            screen.press("ctrl+n")
            time.sleep(SETTLES_S)
            screen.type(QUESTION)
            time.sleep(SETTLES_S)
            screen.press("enter")
            wait_until_idle(engine)
            rates = stored_rates()
            assert len(rates) == before + len(shown) + 1, "the answer has not come to its end"
            shown.append(rates[-1])

        for turn in range(ANSWERS + 1):
            if turn % 2:
                await without()
                within()
            else:
                within()
                await without()
    await client.close()
    return statistics.median(shown[1:]), statistics.median(headless[1:])  # the first warms up


def wait_until_idle(engine: psutil.Process) -> None:
    """Wait for the end of an answer: looking into the store for it would take the machine from
    the model."""
    used, before = 0.0, -1.0
    while used != before:
        time.sleep(SETTLES_S)
        used, before = seconds_of([engine]), used


def stored_rates() -> list[float]:
    """tok/s of every answer that has ended, the oldest first."""
    store = Store.open(default_path())
    try:
        paths = [store.load(each.id).path for each in store.conversations()]
    finally:
        store.close()
    ended = [each for path in paths for each in path if each.answer and each.state != "writing"]
    return [
        each.answer.figures.tokens_per_second or 0.0
        for each in sorted(ended, key=lambda each: each.created_at)
        if each.answer
    ]


def main() -> None:
    """Measure and print."""
    os.environ["SPECCHAT_HOME"] = tempfile.mkdtemp(prefix="specchat-screen-")
    model = smollm2()
    print(f"{'':<44}{'measured':>10}{'budget':>10}")
    print(f"{'command to drawn screen':<44}{start(model):>8.2f} s{START_BUDGET_S:>8.2f} s")
    print(f"{f'idle for {IDLE_S} s, of a core':<44}{idle(model):>10.2%}{IDLE_BUDGET:>10.0%}")
    late, budget = echo(model) * 1e3, ECHO_BUDGET_S * 1e3
    print(f"{'key echo beside an answer, 95th percentile':<44}{late:>7.0f} ms{budget:>7.0f} ms")
    for name, target, tokens in (
        ("built-in model", model, 400),
        ("target of the realistic pair", Path(realistic_pair(print).target), 96),
    ):
        shown, headless = asyncio.run(rates(target, tokens))
        print(
            f"{f'decode rate, {name}':<44}{shown / headless:>10.3f}{RATE_BUDGET:>10.2f}"
            f"   {shown:.1f} of {headless:.1f} tok/s"
        )


if __name__ == "__main__":
    main()
