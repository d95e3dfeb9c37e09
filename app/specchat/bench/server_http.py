"""The wire format of llama-server, as far as it is needed: JSON over HTTP on loopback."""

import http.client
from typing import Any, TypeVar

import msgspec

ANSWER_TIMEOUT_S = 1800.0
PROBE_TIMEOUT_S = 2.0

Wanted = TypeVar("Wanted")


class Timings(msgspec.Struct, frozen=True):
    """Counts and times of a completion."""

    predicted_n: int
    predicted_ms: float
    predicted_per_second: float
    draft_n: int = 0
    """Missing where nothing was drafted."""
    draft_n_accepted: int = 0


class Completion(msgspec.Struct, frozen=True):
    """The answer of `/completion`."""

    content: str
    timings: Timings
    tokens: tuple[int, ...] = ()
    tokens_evaluated: int = 0
    """Tokens of the prompt."""
    stop_type: str = "none"
    """`limit`, `eos` or `word`."""


class ServerHttp:
    """Requests to one server, each on a connection of its own; never through a proxy."""

    def __init__(self, port: int) -> None:
        self._port = port

    def is_ready(self) -> bool:
        """Whether `/health` says that the model is loaded."""
        try:
            status, _ = self._request("GET", "/health", None, PROBE_TIMEOUT_S)
        except (OSError, http.client.HTTPException):
            return False
        return status == http.HTTPStatus.OK

    def ask(self, method: str, path: str, body: Any, kind: type[Wanted]) -> Wanted:
        """The JSON answer, decoded as this type.

        Raises:
            OSError: there is no connection.
            ValueError: it is no answer, or one that refuses.
            msgspec.DecodeError: it has other fields.
        """
        try:
            status, data = self._request(method, path, body, ANSWER_TIMEOUT_S)
        except http.client.HTTPException as error:
            raise ValueError(f"{type(error).__name__} {error}".strip()) from error
        if status != http.HTTPStatus.OK:
            raise ValueError(f"status {status}, {data[:200].decode(errors='replace')}")
        return msgspec.json.decode(data, type=kind)

    def _request(self, method: str, path: str, body: Any, timeout_s: float) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=timeout_s)
        try:
            data = None if body is None else msgspec.json.encode(body)
            connection.request(method, path, data, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()
