"""The whole program in a terminal, killed in the middle of an answer."""

import random
from pathlib import Path

import pytest

from support.killed_screen import (
    QUESTION,
    missing_after_kill,
    path_kept,
    restart_engine,
    shown_chat,
)

pytestmark = pytest.mark.real_model


def test_after_kill_9_no_text_that_was_shown_a_second_before_is_missing(smollm2_path: Path) -> None:
    """`tests/benchmarks/kills.py` does the same twenty times each."""
    draw = random.Random(3)
    with shown_chat(smollm2_path) as chat:
        assert missing_after_kill(chat, "engine", draw.uniform(1.1, 2.0)) == ""
        restart_engine(chat)
        assert missing_after_kill(chat, "app", draw.uniform(1.1, 2.0)) == ""

    question, answer = path_kept()
    assert (question.text, question.state) == (QUESTION, "complete")
    assert answer.state == "interrupted"
