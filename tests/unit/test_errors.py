"""Errors that a person reads."""

import pytest

from specchat import errors
from specchat.errors import SpecchatError

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, SpecchatError)
]


def test_every_error_has_a_key_and_a_title_of_its_own() -> None:
    assert len(KINDS) > 10
    assert len({kind.kind for kind in KINDS}) == len(KINDS)
    assert len({kind.title for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_says_what_was_tried_what_happened_and_what_to_do(
    kind: type[SpecchatError],
) -> None:
    error = kind("Tried this.", "That happened.", "Do so.")

    assert str(error) == "Tried this. That happened. Do so."
    assert error.message == "Tried this. That happened."
    assert error.next_step == "Do so."
    assert error.exit_code in (1, 2)
