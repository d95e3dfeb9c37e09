"""Runs a program for as long as standard input is open: `python -m specchat.bench.guard PROGRAM`.

Whoever starts it holds the other end. However that process ends, the program ends with it, and its
memory is free.
"""

import os
import subprocess
import sys
from threading import Thread

GRACE_S = 3.0
"""How long the program may take to leave when it is asked to."""


def main(*command: str) -> int:
    """Run the program; its exit code, or 128 and the number of the signal that ended it."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        print(error, file=sys.stderr)
        return 127

    def end_with_input() -> None:
        while os.read(0, 4096):  # Python's own reader would be in the way of the exit
            pass
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()

    Thread(target=end_with_input, daemon=True).start()
    code = process.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
