"""What calls of the store cost with many messages. Prints medians and the slowest of a hundred.

python tests/benchmarks/store_calls.py [MESSAGES]
"""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from specchat.chat.known import Known
from specchat.chat.store import Store
from specchat.chat.tokens import Tokens
from support.answers import RECORD

Result = TypeVar("Result")

LONG = 1000
"""Exchanges of the first conversation."""


class Clock:
    """Times calls by name."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = {}

    def __call__(self, name: str, call: Callable[[], Result]) -> Result:
        started = time.perf_counter()
        result = call()
        self._times.setdefault(name, []).append((time.perf_counter() - started) * 1e3)
        return result

    def print(self) -> None:
        for name, times in self._times.items():
            slow = sorted(times)[int(len(times) * 0.99)]
            print(f"{name:32} {statistics.median(times):9.3f} ms  p99 {slow:9.3f} ms")


def fill(store: Store, clock: Clock, messages: int, text: Callable[[int], str]) -> int:
    """Conversations of 5 to 40 exchanges after a long one, whose id is returned."""
    tokens = Tokens(tuple(range(100_000, 100_300)), bytes(300))
    first, said, length = 0, 0, LONG
    while said < messages:
        conversation = store.new()
        parent: int | None = None
        first = first or conversation
        for _ in range(length):
            question, parent_now = text(30), parent
            asked = clock("ask", lambda: store.ask(conversation, question, parent_now))  # noqa: B023
            answer = clock("begin_answer", lambda: store.begin_answer(conversation, asked))  # noqa: B023
            store.append(answer, text(random.randint(20, 180)))
            clock("finish", lambda: store.finish(answer, "complete", Known(RECORD, tokens)))  # noqa: B023
            parent = answer
            said += 2
        clock("tidy", store.tidy)
        length = random.randint(5, 40)
    return first


def main(messages: int = 50_000) -> None:
    """Fill a store, then measure."""
    random.seed(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(random.choices(letters, k=random.randint(2, 9))) for _ in range(8000)]

    def text(count: int) -> str:
        return " ".join(words[min(7999, int(random.expovariate(1 / 900)))] for _ in range(count))

    with tempfile.TemporaryDirectory() as folder:
        clock, store = Clock(), Store.open(Path(folder) / "chats.db")
        first = fill(store, clock, messages, text)
        for _ in range(5):
            clock(f"load {2 * LONG} messages", lambda: store.load(first))
            clock("list", store.conversations)
            for query in (words[3], words[7000], "qz", "数据", "zqxwv", f"{words[5]} {words[800]}"):
                clock(f"search {query}", lambda: store.search(query))  # noqa: B023
        answer = store.begin_answer(store.new(), None, text(16_000))
        for _ in range(50):
            store.append(answer, " word" * 30)
            clock("flush, 100 kB", store.flush)
        clock("finish, 100 kB", lambda: store.finish(answer, "complete"))
        store.close()
        clock("open", lambda: Store.open(Path(folder) / "chats.db")).close()
        clock.print()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
