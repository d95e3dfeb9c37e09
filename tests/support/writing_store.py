"""A program that writes an answer into a store until it is killed, and tells what it has shown."""

import sys
import time
from pathlib import Path

from specchat.chat.store import Store


def main(path: str, name: str) -> None:
    """Show a word every few milliseconds, as a screen would."""
    store = Store.open(Path(path))
    conversation = store.new()
    answer = store.begin_answer(conversation, store.ask(conversation, name, None))
    store.append(answer, "interrupted-word. ")
    print(f"{time.monotonic()} interrupted-word.", flush=True)
    for number in range(1_000_000):
        store.append(answer, f"{number}. ")
        print(f"{time.monotonic()} {number}.", flush=True)
        time.sleep(0.005)


if __name__ == "__main__":
    main(*sys.argv[1:])
