"""How long it takes until a long conversation is on the screen, at its end and at a hit.

Run it on a quiet machine. It opens a conversation of 2,000 messages in the real screen, headless
and at 120x40, and prints the medians of five times, with how many messages are widgets then.

python tests/benchmarks/opening.py
"""

import asyncio
import os
import statistics
import tempfile
import time

from textual.widgets import Markdown

from specchat.chat.known import Known
from specchat.chat.store import Store, default_path
from specchat.tui.app import SpecchatApp
from specchat.tui.widgets.chat_view import ChatView
from specchat.tui.widgets.messages import Question, Said
from support.answers import RECORD
from tui.screen_driver import make_app
from tui.scripted_engine import ANSWER

MESSAGES = 2_000
TIMES = 5
BUDGET_S = 0.5


def long_conversation() -> int:
    """Answers with a list, code and a table; what the store calls it."""
    store = Store.open(default_path())
    key, parent = store.new(), None
    for number in range(MESSAGES // 2):
        question = store.ask(
            key, f"Question {number}: how does it work, and what is it for?", parent
        )
        parent = store.begin_answer(key, question)
        store.finish(parent, "complete", Known(RECORD), text=ANSWER)
    store.close()
    return key


async def seconds_to_show(app: SpecchatApp, key: int, message: int) -> float:
    """From the wish until the message is in view with all its text."""
    await app.action_new_chat()
    await asyncio.sleep(0.5)
    view = app.query_one(ChatView)
    began = time.perf_counter()
    await app.conversations.open(key, message)
    while not any(each.message == message and is_shown(view, each) for each in view.said):
        await asyncio.sleep(0.002)
    return time.perf_counter() - began


def is_shown(view: ChatView, said: Said) -> bool:
    """Whether a message is in view, and its text is not only on its way."""
    complete = isinstance(said, Question) or any(each.region for each in said.query(Markdown))
    return complete and view.region.overlaps(said.region)


async def main() -> None:
    """Measure at the end and in the middle."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["SPECCHAT_HOME"] = home
        key = long_conversation()
        app = make_app("echo")
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause(1)
            path = app.conversation.store.load(key).path
            for name, message in (
                ("at its end", path[-1].id),
                ("at a hit in the middle", path[1000].id),
            ):
                times = [await seconds_to_show(app, key, message) for _ in range(TIMES)]
                widgets = len(app.query_one(ChatView).said)
                print(
                    f"{name:<24}{statistics.median(times) * 1e3:>7.0f} ms"
                    f"{widgets:>7} of {MESSAGES:,} messages on screen"
                )
    print(f"budget {BUDGET_S * 1e3:.0f} ms")


if __name__ == "__main__":
    asyncio.run(main())
