"""What an answer's line says about how it came about."""

import pytest
from msgspec.structs import replace

from specchat.engine.remarks import remarks
from unit.test_run_report import FINISHED


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        (1, "the first message no longer fits in the context and was left out"),
        (6, "the first 6 messages no longer fit in the context and were left out"),
        (1200, "the first 1,200 messages no longer fit in the context and were left out"),
    ],
)
def test_messages_that_were_left_out_are_counted(left_out: int, said: str) -> None:
    assert list(remarks(replace(FINISHED, left_out=left_out))) == [said]


def test_an_answer_that_filled_the_context_says_so() -> None:
    assert list(remarks(replace(FINISHED, context_full=True))) == ["the context is full"]


def test_an_ordinary_answer_needs_no_remark() -> None:
    assert list(remarks(FINISHED)) == []
