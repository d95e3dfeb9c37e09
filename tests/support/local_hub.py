"""A server on this machine that speaks the Hub's endpoints, as huggingface-hub 2.4 asks them.

    GET  /api/models/OWNER/NAME[/revision/REV][?blobs=true]     what a repository has
    GET  /api/models/OWNER/NAME/auth-check                      whether a gated one is for us
    HEAD, GET  /OWNER/NAME/resolve/REV/FILE                     redirect to the storage for LFS
    GET  /cdn/SHA256                                            the storage, with ranges

It also answers as a proxy does (an absolute address in the request line). Trouble is ordered with
`Faults`; what was asked is in `requests`.
"""

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PIECE = 1 << 14


@dataclass
class Faults:
    """What goes wrong, in the order in which it is asked for."""

    refuse: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """Answers of the storage before it gives bytes: a status and headers."""
    refuse_api: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """The same of the API."""
    cut_after: list[int] = field(default_factory=list)
    """Bytes of an answer after which the connection is closed."""
    refuse_after_cut: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """Answers of the storage from the first cut on."""
    stop_at: int | None = None
    """Bytes of an answer after which it waits until `go_on` is set."""
    ignore_range: bool = False
    rate: float | None = None
    """Bytes a second."""


@dataclass
class Asked:
    """One request."""

    method: str
    path: str
    range: str | None
    authorization: str | None
    host: str
    user_agent: str


@dataclass
class LocalRepository:
    """What is in one repository."""

    files: dict[str, bytes]
    commit: str = COMMIT
    licence: str = "apache-2.0"
    gated: str | bool = False
    private: bool = False
    stated_sizes: dict[str, int] = field(default_factory=dict)
    """Sizes that the API states although the file has another."""
    damaged: set[str] = field(default_factory=set)
    """Files whose storage gives other bytes than the checksum says."""
    vanished: set[str] = field(default_factory=set)
    """Files that the API lists and that are gone when they are asked for."""


class LocalHub:
    """The server; `address` is for HF_ENDPOINT."""

    def __init__(self) -> None:
        self.repositories: dict[str, LocalRepository] = {}
        self.faults = Faults()
        self.requests: list[Asked] = []
        self.go_on = threading.Event()
        self.stopped_at_mark = threading.Event()
        self.token = "hf_good"
        self._server = _Server(("127.0.0.1", 0), _handler_for(self))

    @property
    def address(self) -> str:
        """Such as `http://127.0.0.1:40123`."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def storage_address(self) -> str:
        """Another host by its name, as the Hub's storage is."""
        return self.address.replace("127.0.0.1", "localhost")

    def asked_of_storage(self) -> list[Asked]:
        """The requests for bytes."""
        return [asked for asked in self.requests if asked.path.startswith("/cdn/")]

    @contextmanager
    def serving(self) -> Iterator["LocalHub"]:
        """Answers while the block runs."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.go_on.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()


def sha256(data: bytes) -> str:
    """As LFS names a file."""
    return hashlib.sha256(data).hexdigest()


def _handler_for(hub: LocalHub) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.hub = hub
    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves in mid-answer is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    hub: LocalHub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        """Only `resolve` is asked this way."""
        self._route()

    def do_GET(self) -> None:
        """Everything."""
        self._route()

    def _route(self) -> None:
        path = unquote(urlsplit(self.path).path)  # a proxy gets the whole address
        self.hub.requests.append(
            Asked(
                self.command,
                path,
                self.headers.get("Range"),
                self.headers.get("Authorization"),
                self.headers.get("Host", ""),
                self.headers.get("User-Agent", ""),
            )
        )
        parts = path.strip("/").split("/")
        if parts[0] == "cdn":
            self._storage(parts[1])
        elif parts[:2] == ["api", "models"] and parts[4:] == ["auth-check"]:
            if self._repository("/".join(parts[2:4]), for_bytes=True) is not None:
                self._answer({})
        elif parts[:2] == ["api", "models"]:
            self._api("/".join(parts[2:4]))
        elif len(parts) > 4 and parts[2] == "resolve":
            self._resolve("/".join(parts[:2]), "/".join(parts[4:]))
        else:
            self._refuse(404, {})

    def _refuse(self, status: int, headers: dict[str, str]) -> None:
        body = json.dumps({"error": headers.get("X-Error-Message", "refused")}).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _repository(self, name: str, *, for_bytes: bool) -> LocalRepository | None:
        """The repository, or None after it was refused."""
        given = self.headers.get("Authorization")
        repository = self.hub.repositories.get(name)
        known = given == f"Bearer {self.hub.token}"
        if given and not known and given != "Bearer hf_other":
            message = "Invalid credentials in Authorization header"
            self._refuse(401, {"X-Error-Message": message})
        elif repository is None or (repository.private and not known):
            error = {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}
            self._refuse(404 if given else 401, error)
        elif for_bytes and repository.gated and not known:
            message = f"Access to model {name} is restricted."
            self._refuse(
                403 if given else 401, {"X-Error-Code": "GatedRepo", "X-Error-Message": message}
            )
        else:
            return repository
        return None

    def _api(self, name: str) -> None:
        if self.hub.faults.refuse_api:
            self._refuse(*self.hub.faults.refuse_api.pop(0))
            return
        repository = self._repository(name, for_bytes=False)
        if repository is None:
            return
        siblings = []
        for file, data in repository.files.items():
            size = repository.stated_sizes.get(file, len(data))
            sibling = {"rfilename": file, "size": size, "blobId": "f" * 40}
            if file.endswith(".gguf"):
                sibling["lfs"] = {"sha256": sha256(data), "size": size, "pointerSize": 134}
            siblings.append(sibling)
        self._answer(
            {
                "_id": "1",
                "id": name,
                "modelId": name,
                "sha": repository.commit,
                "private": repository.private,
                "gated": repository.gated,
                "tags": ["gguf", f"license:{repository.licence}"],
                "cardData": {"license": repository.licence},
                "siblings": siblings,
            }
        )

    def _answer(self, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _resolve(self, name: str, file: str) -> None:
        repository = self._repository(name, for_bytes=True)
        if repository is None:
            return
        data = repository.files.get(file)
        if data is None or file in repository.vanished:
            missing = {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": repository.commit}
            self._refuse(404, missing)
            return
        checksum = sha256(data)
        self.send_response(302)
        self.send_header("X-Repo-Commit", repository.commit)
        self.send_header("X-Linked-Etag", f'"{checksum}"')
        self.send_header("X-Linked-Size", str(len(data)))
        self.send_header("ETag", '"0123"')
        self.send_header("Location", f"{self.hub.storage_address}/cdn/{checksum}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _storage(self, checksum: str) -> None:
        if self.hub.faults.refuse:
            self._refuse(*self.hub.faults.refuse.pop(0))
            return
        for repository in self.hub.repositories.values():
            for file, data in repository.files.items():
                if sha256(data) == checksum:
                    damaged = file in repository.damaged
                    self._bytes(data[:-1] + bytes([data[-1] ^ 1]) if damaged else data, checksum)
                    return
        self._refuse(404, {})

    def _bytes(self, data: bytes, checksum: str) -> None:
        faults, asked = self.hub.faults, self.headers.get("Range")
        begin, end = 0, len(data)
        in_part = asked is not None and not faults.ignore_range
        if asked is not None and in_part:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            begin, end = int(first), min(int(last) + 1, end) if last else end
        if begin >= len(data):
            self._refuse(416, {"Content-Range": f"bytes */{len(data)}"})
            return
        self.send_response(206 if in_part else 200)
        if in_part:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{checksum}"')
        self.send_header("Content-Length", str(end - begin))
        self.end_headers()
        self._send(data[begin:end])

    def _send(self, data: bytes) -> None:
        faults = self.hub.faults
        cut = faults.cut_after.pop(0) if faults.cut_after else len(data)
        for start in range(0, cut, PIECE):
            if faults.stop_at is not None and start >= faults.stop_at:
                self.hub.stopped_at_mark.set()
                self.hub.go_on.wait(30)
            piece = data[start : min(start + PIECE, cut)]
            try:
                self.wfile.write(piece)
                self.wfile.flush()
            except OSError:  # the other side has left
                self.close_connection = True
                return
            if faults.rate is not None:
                time.sleep(len(piece) / faults.rate)
        if cut < len(data):
            self.close_connection = True
            faults.refuse += faults.refuse_after_cut
            faults.refuse_after_cut = []
