"""What every test of the screen relies on."""

import time
from collections.abc import Iterator

import pytest

VARIABLES = (
    "COLORFGBG",
    "NO_COLOR",
    "SSH_CONNECTION",
    "SSH_TTY",
    "TEXTUAL_ANIMATIONS",
    "TEXTUAL_COLOR_SYSTEM",
    "TEXTUAL_THEME",
)


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen looks the same whatever the terminal of the tests asks for."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Days begin when they do in Greenwich."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()
