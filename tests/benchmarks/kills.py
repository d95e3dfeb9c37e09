"""Kills the engine and the whole chat in mid-answer, 20 times each, and looks for lost text.

The chat runs in a terminal with the built-in model. What was on the screen a second before each
kill has to be on the disk afterwards. It ends with status 1 where something was missing.

python tests/benchmarks/kills.py [TIMES]
"""

import os
import random
import sys
import tempfile

from support.killed_screen import missing_after_kill, restart_engine, shown_chat
from support.packaged import smollm2

TIMES = 20
EARLIEST_S, LATEST_S = 1.1, 3.5


def kill_engines(times: int, draw: random.Random) -> list[str]:
    """One chat, whose engine is started again after each kill."""
    lost = []
    with shown_chat(smollm2()) as chat:
        for _ in range(times):
            lost.append(missing_after_kill(chat, "engine", draw.uniform(EARLIEST_S, LATEST_S)))
            restart_engine(chat)
    return lost


def kill_chats(times: int, draw: random.Random) -> list[str]:
    """A chat for each kill, all with one store."""
    lost = []
    for _ in range(times):
        with shown_chat(smollm2()) as chat:
            lost.append(missing_after_kill(chat, "app", draw.uniform(EARLIEST_S, LATEST_S)))
    return lost


def main(times: int = TIMES) -> int:
    """Both, and what came of them."""
    draw = random.Random(11)
    failed = False
    with tempfile.TemporaryDirectory() as home:
        os.environ["SPECCHAT_HOME"] = home
        for victim, kill in (("engine", kill_engines), ("app", kill_chats)):
            lost = kill(times, draw)
            missing = [each for each in lost if each]
            print(f"{victim} killed {len(lost)} times, text older than 1 s missing: {len(missing)}")
            for each in missing:
                print(f"  {each}")
            failed = failed or bool(missing)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
