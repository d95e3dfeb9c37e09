"""huggingface-hub, opened when it is needed: it reads its settings when it is imported."""

import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar

import httpx2

from specchat.errors import HubRefused, InvalidSetting
from specchat.hub.wording import time_text

Answer = TypeVar("Answer")

LONGEST_WAIT_S = 300.0
"""As long as a window of the Hub's own rate limits; asked to wait longer, we say so instead."""
ENDLESS_S = 1e9
TRIES = 5
"""Failures in a row, without a new byte, that are waited out."""
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 8.0
NAP_S = 0.2
PASSING = (408, 500, 502, 503, 504)
"""Answers that may be others a moment later."""


def cache_folder() -> Path:
    """Hugging Face's cache: HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub.

    Raises:
        InvalidSetting: a variable of huggingface-hub cannot be read.
    """
    prepare()
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def prepare() -> None:
    """Before huggingface-hub is imported anywhere: specchat sends no telemetry.

    Raises:
        InvalidSetting: a variable of huggingface-hub cannot be read.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        import huggingface_hub.constants  # noqa: F401 - it reads the environment
    except ValueError as error:
        raise InvalidSetting(
            "Tried to read the settings of huggingface-hub.",
            f"One of the variables HF_... makes no sense: {error}.",
            "Look at them with: env | grep HF_",
        ) from error


def headers() -> dict[str, str]:
    """Who asks, and the person's token if there is one."""
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # not in its __all__

    from specchat import __version__

    return build_hf_headers(library_name="specchat", library_version=__version__)


def rest(seconds: float) -> None:
    """Sleep in naps. A Ctrl+C that comes just before a sleep begins is heard only after it."""
    until = monotonic() + seconds
    while (left := until - monotonic()) > 0:
        sleep(min(left, NAP_S))


class Patience:
    """When to ask the Hub again, and for how long.

    Args:
        wait: sleeps for so many seconds.
        notice: tells the person why.
        tried: the sentence of errors.
        tries: failures in a row that are waited out.
    """

    def __init__(
        self,
        wait: Callable[[float], None],
        notice: Callable[[str], None],
        tried: str,
        tries: int = TRIES,
    ) -> None:
        self._wait = wait
        self._notice = notice
        self._tried = tried
        self._tries = tries
        self._waited_s = 0.0
        self._failures = 0

    def refresh(self) -> None:
        """Something came: the Hub is well."""
        self._failures = 0

    def call(self, ask: Callable[[], Answer]) -> Answer:
        """Ask until there is an answer.

        Raises:
            HubRefused: it asks for a longer wait than `LONGEST_WAIT_S`.
            httpx2.HTTPError: the last failure, when there is nothing to wait for.
        """
        while True:
            try:
                return ask()
            except httpx2.HTTPError as error:
                self._after(error)

    def _after(self, error: httpx2.HTTPError) -> None:
        """Wait as is fit after this failure, or raise."""
        response: httpx2.Response | None = getattr(error, "response", None)
        status = None if response is None else response.status_code
        if response is not None and status == 429:
            self._keep_to_the_limit(asked_wait_s(response.headers))
            return
        self._failures += 1
        passes = status in PASSING or isinstance(error, httpx2.TransportError)
        if not passes or self._failures > self._tries:
            raise error
        pause = min(FIRST_PAUSE_S * 2 ** (self._failures - 1), LONGEST_PAUSE_S)
        what = f"The Hub answered with error {status}" if status else "The connection broke"
        self._notice(f"{what}. Trying again in {time_text(pause)}.")
        self._wait(pause)

    def _keep_to_the_limit(self, asked_s: float | None) -> None:
        seconds = FIRST_PAUSE_S * 10 if asked_s is None else asked_s
        if self._waited_s + seconds > LONGEST_WAIT_S:
            raise HubRefused(
                self._tried,
                f"The Hub gets too many requests from this address (429) and asks to wait "
                f"{time_text(seconds)}; specchat waits {time_text(LONGEST_WAIT_S)} at most.",
                "Run the same command again later: it goes on where it stopped. "
                "With a token (hf auth login) the limit is higher.",
            )
        self._notice(
            "The Hub gets too many requests from this address (429). "
            f"Waiting {time_text(seconds)}, as it asks."
        )
        self._waited_s += seconds
        self._wait(seconds)


def asked_wait_s(given: httpx2.Headers) -> float | None:
    """The wait that an answer asks for: `Retry-After` in seconds or as a date, or `RateLimit`."""
    from huggingface_hub.utils import parse_ratelimit_headers  # type: ignore[attr-defined]  # not in its __all__

    text = given.get("Retry-After", "").strip()
    if text.isdecimal():
        return min(float(text), ENDLESS_S)
    if text:
        from datetime import UTC, datetime
        from email.utils import parsedate_to_datetime

        try:
            until = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        if until.tzinfo is None:
            until = until.replace(tzinfo=UTC)
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    limit = parse_ratelimit_headers(given)
    return float(limit.reset_in_seconds) if limit is not None else None
