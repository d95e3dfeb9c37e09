"""What it costs the screen to show an answer that comes in at 100 tokens a second.

Run it on a quiet machine. It shows text of several kinds in the chat, headless and at 120x40, and
prints the share of a core that this takes and how late the event loop is.
"""

import asyncio
import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

from textual.app import App, ComposeResult

from specchat.chat.parts import PartFigures
from specchat.chat.tokens import TokenLog
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.messages import Answer

TOKENS_PER_SECOND = 100
TOKENS_PER_ROUND = 4
SECONDS = 10
LAG_EVERY_S = 0.01
BUDGET = 0.25
"""Of a core."""

TEXTS = {
    "prose": "A lighthouse keeper writes down what the sea brings in, and what it takes.\n\n",
    "code": "    kept.append(sea.brings(tide) - sea.takes(tide))\n",
    "list": "- what the sea brings in, and what it takes away again\n",
    "table": "| what the sea brings in | what it takes away |\n",
}
BEFORE = {"code": "```python\n", "table": "| in | out |\n| --- | --- |\n"}


class Chat(App[None]):
    """One answer in a chat."""

    CSS_PATH = "../../app/specchat/tui/app.tcss"

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer = answer

    def compose(self) -> ComposeResult:
        chat = ChatView()
        yield chat
        self.call_after_refresh(lambda: chat.add(self._answer))


class Cost(NamedTuple):
    """What one answer took."""

    share: float
    """Of a core."""
    lag_s: float
    """How late the loop was, at the 95th percentile."""


def tokens_of(text: str, before: str = "") -> Sequence[str]:
    """Text of about four characters a token, for all seconds."""
    count = TOKENS_PER_SECOND * SECONDS
    whole = before + text * (4 * count // len(text) + 1)
    return [whole[start : start + 4] for start in range(0, 4 * count, 4)]


async def measure(
    tokens: Sequence[str], *, opened: str | None = None, origins: bool = False
) -> Cost:
    """Show one answer."""
    answer, log = Answer(opened=opened), TokenLog()
    answer.get_tokens(log.tokens)
    lags: list[float] = []

    async def watch() -> None:
        while True:
            due = time.perf_counter() + LAG_EVERY_S
            await asyncio.sleep(LAG_EVERY_S)
            lags.append(time.perf_counter() - due)

    app = Chat(answer)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        answer.show_origins(origins)
        watching = asyncio.create_task(watch())
        began, cpu = time.perf_counter(), time.process_time()
        for start in range(0, len(tokens), TOKENS_PER_ROUND):
            part = tokens[start : start + TOKENS_PER_ROUND]
            figures = PartFigures(rounds=start + 1, emitted=start, decode_s=start / 100)
            log.add(
                range(len(part)), [len(token) for token in part],
                drafted=3, accepted=start % 4, source="model",
            )  # fmt: skip
            answer.write("".join(part), {"thinking": figures})
            await asyncio.sleep(began + (start + TOKENS_PER_ROUND) / 100 - time.perf_counter())
        share = (time.process_time() - cpu) / (time.perf_counter() - began)
        watching.cancel()
    return Cost(share, statistics.quantiles(lags, n=20)[-1])


async def main() -> None:
    """Measure every kind of text, thinking, and prose by origin."""
    costs = {
        name: await measure(tokens_of(text, BEFORE.get(name, ""))) for name, text in TEXTS.items()
    }
    prose = tokens_of(TEXTS["prose"])
    costs["thinking, folded"] = await measure(prose, opened="think")
    costs["prose by origin"] = await measure(prose, origins=True)
    print(f"{'of a core':<28}{'share':>8}{'late by':>12}")
    for name, cost in costs.items():
        print(f"{name:<28}{cost.share:>8.0%}{cost.lag_s * 1e3:>9.0f} ms")
    print(f"budget {BUDGET:.0%}")


if __name__ == "__main__":
    asyncio.run(main())
