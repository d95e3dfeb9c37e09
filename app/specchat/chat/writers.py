"""Which program writes an answer: one that is gone has left it behind.

psutil is imported when it is needed: conversations are listed without it.
"""

import os


def this_program() -> str:
    """A mark of this process that no other one has, now or later: a number is used again."""
    import psutil

    return f"{os.getpid()} {psutil.Process().create_time():.2f}"


def is_running(writer: str) -> bool:
    """Whether the process with this mark is alive."""
    import psutil

    pid, _, created = writer.partition(" ")
    try:
        return abs(psutil.Process(int(pid)).create_time() - float(created)) < 1
    except (psutil.Error, ValueError):
        return False
