"""What is copied of an answer."""

import pytest

from specchat.tui.copying import answer_text, last_code, told


def test_thinking_is_not_copied() -> None:
    assert answer_text("<think>\nhm\n</think>\n\nYes.\n") == "Yes."


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("```py\na\n```\n\nor\n\n```\nb\n\nc\n```\n", "b\n\nc"),
        ("~~~\n```\n~~~", "```"),
        ("````md\n```\nx\n```\n````", "```\nx\n```"),
        ("1. so:\n\n   ```sh\n   ls\n     deep\n   ```\n", "ls\n  deep"),
        ("```\nnot closed\nyet", "not closed\nyet"),
        ("```\nnot closed\n", "not closed"),
        ("```\n```", ""),
        ("```", ""),
    ],
)
def test_the_last_code_block_is_copied_without_its_fences(answer: str, code: str) -> None:
    assert last_code(answer) == code


def test_code_in_the_thinking_does_not_count() -> None:
    assert last_code("<think>\n```\na\n```\n</think>\nNo code.") is None
    assert last_code("No code, `but` this.") is None


def test_a_copy_is_told_of_by_its_size() -> None:
    assert told("", "a") == "copied 1 character"
    assert told("", "abc") == "copied 3 characters"
    assert told("the answer", "a\nb") == "copied the answer, 2 lines"
