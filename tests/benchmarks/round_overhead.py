"""Our own time a round, beside llama.cpp's decode times.

Run it with `make bench` on a quiet machine. Our own time is all that is neither drafting nor the
target's decode: controller, rows, verification, roll-back, text, handing events over.
"""

import asyncio
import statistics
from collections.abc import Sequence
from itertools import count, pairwise

from specchat.engine.client import EngineClient
from specchat.engine.protocol import Failed, Finished, Generate, Load, Message, Pair, Plan, Round
from specchat.speculation.settings import DrafterChoice, SamplingSettings, SpeculationSettings
from support.packaged import smollm2

GREEDY = SamplingSettings(temperature=0)
QUESTION = Message("user", "Write a long story about a lighthouse and the people who keep it.")
TOKENS = 160
REPEATS = 3
BUDGET_US = 100.0
"""What a greedy round may take of our own time."""


async def measure(
    client: EngineClient, id: int, sampling: SamplingSettings, speculation: SpeculationSettings
) -> list[Round]:
    """The rounds of one answer of the engine's process."""
    rounds: list[Round] = []
    await client.send(
        Generate(
            id=id,
            conversation=(QUESTION,),
            sampling=sampling,
            speculation=speculation,
            max_tokens=TOKENS,
        )
    )
    async for event in client.events():
        if isinstance(event, Round):
            rounds.append(event)
        elif isinstance(event, Finished | Failed):
            break
    return rounds


def report(name: str, answers: Sequence[Sequence[Round]]) -> float:
    """Print the medians of one setting in microseconds; returns our own time."""
    steps = [pair for rounds in answers for pair in pairwise(rounds)]
    own = statistics.median(b.figures.overhead_s - a.figures.overhead_s for a, b in steps) * 1e6
    verify = statistics.median(b.figures.verify_s - a.figures.verify_s for a, b in steps) * 1e6
    draft = statistics.median(b.figures.draft_s - a.figures.draft_s for a, b in steps) * 1e6
    print(f"{name:<28}{own:>10.0f}{draft:>12.0f}{verify:>12.0f}{len(steps):>9}")
    return own


async def main() -> None:
    """Measure plain, n-gram and draft-model rounds, greedy and sampled."""
    path = str(smollm2())
    client = await EngineClient.start()
    await client.send(Load(Pair(path, path), Plan(n_ctx=1024)))
    sampled = SamplingSettings(seed=1)
    drafters: tuple[DrafterChoice, ...] = ("none", "ngram", "model")
    settings = {
        f"{drafter}, {'greedy' if sampling.is_greedy else 'sampled'}": (
            sampling,
            SpeculationSettings(drafter=drafter, draft_length=3),
        )
        for sampling in (GREEDY, sampled)
        for drafter in drafters
    }
    answers: dict[str, list[list[Round]]] = {name: [] for name in settings}
    ids = count(1)
    for _ in range(REPEATS):  # interleaved, so that a busy moment hits all of them
        for name, (sampling, speculation) in settings.items():
            answers[name].append(await measure(client, next(ids), sampling, speculation))
    await client.close()
    print(f"{'microseconds a round':<28}{'our own':>10}{'drafting':>12}{'target':>12}{'rounds':>9}")
    own = {name: report(name, rounds) for name, rounds in answers.items()}
    worst = max(time for name, time in own.items() if "greedy" in name)
    print(f"greedy, at most: {worst:.0f} us; budget {BUDGET_US:.0f} us")


if __name__ == "__main__":
    asyncio.run(main())
