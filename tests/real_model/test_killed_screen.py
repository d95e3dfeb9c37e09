"""The whole program in a terminal, killed in the middle of an answer."""

import os
import signal
import subprocess
import sys
import termios
import threading
from pathlib import Path

import psutil
import pytest

from specchat.chat.records import Message
from specchat.chat.store import Store, default_path
from support.command_line import terminal
from support.engine_process import wait_until

pytestmark = pytest.mark.real_model


def kept() -> list[Message]:
    """What is on the disk of the last conversation."""
    store = Store.open(default_path())
    try:
        key = store.last_used()
        return [] if key is None else store.load(key).path
    finally:
        store.close()


def test_after_kill_9_the_question_and_the_answer_so_far_are_there(smollm2_path: Path) -> None:
    screen = bytearray()
    with terminal() as (ours, theirs):
        termios.tcsetwinsize(theirs, (30, 100))
        process = subprocess.Popen(
            [sys.executable, "-m", "specchat", "--target", smollm2_path, "--ctx", "2048"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )

        def read() -> None:
            while process.poll() is None:
                screen.extend(os.read(ours, 65536))

        threading.Thread(target=read, daemon=True).start()
        try:
            wait_until(lambda: b"Ready." in screen, "a loaded model")
            os.write(ours, b"Count from one to a thousand.\r")
            wait_until(lambda: len(kept()) == 2 and kept()[1].text.strip() != "", "some text")
            [engine] = psutil.Process(process.pid).children()
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
            os.write(theirs, b" ")  # for the thread that reads

    question, answer = kept()
    assert (question.text, question.state) == ("Count from one to a thousand.", "complete")
    assert answer.state == "interrupted"
    assert answer.text.strip()
    wait_until(lambda: not engine.is_running(), "the end of the engine")
