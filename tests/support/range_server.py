"""A small Hub on loopback: resolve with a redirect to storage, ranges, etags, refusals."""

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class RangeServer:
    """What it serves, and what was asked of it."""

    files: dict[str, Path]
    """By `owner/repo/file`."""
    etag: str | None = "0123456789abcdef"
    """None: a mirror that tells no versions."""
    gated: set[str] = field(default_factory=set)
    """Repositories that want a token."""
    token: str = "hf_right"
    whole_files_only: bool = False
    status: int | None = None
    """Answered to everything, if set."""
    endpoint: str = ""
    storage: str = ""
    """Another host, as with the real Hub: tokens must not follow there."""
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Method, path and range of each."""
    leaked: bool = False
    """Whether the storage saw a token."""
    sent_bytes: int = 0


@contextmanager
def range_server(files: dict[str, Path]) -> Iterator[RangeServer]:
    """It runs while in use."""
    state = RangeServer(files)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(state))
    state.endpoint = f"http://127.0.0.1:{server.server_port}"
    state.storage = f"http://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def handler_of(state: RangeServer) -> type[BaseHTTPRequestHandler]:
    """A handler that answers out of the state."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on standard error."""

        def _answer(self) -> None:
            state.requests.append((self.command, self.path, self.headers.get("Range")))
            if state.status is not None:
                self._refuse(state.status)
            elif self.path.startswith("/storage/"):
                state.leaked |= "Authorization" in self.headers
                self._send_file(state.files[self.path.removeprefix("/storage/")])
            else:
                self._resolve()

        def _resolve(self) -> None:
            repo, _, file = self.path[1:].partition("/resolve/main/")
            if repo in state.gated and self.headers.get("Authorization") != f"Bearer {state.token}":
                self._refuse(401, "GatedRepo")
            elif not any(name.startswith(f"{repo}/") for name in state.files):
                self._refuse(404, "RepoNotFound")
            elif f"{repo}/{file}" not in state.files:
                self._refuse(404, "EntryNotFound")
            else:
                self.send_response(302)
                self.send_header("Location", f"{state.storage}/storage/{repo}/{file}")
                if state.etag is not None:
                    self.send_header("X-Linked-Etag", f'"{state.etag}"')
                    self.send_header("X-Repo-Commit", "c" * 40)
                size = state.files[f"{repo}/{file}"].stat().st_size
                self.send_header("X-Linked-Size", str(size))
                self._end(b"")

        def _send_file(self, path: Path) -> None:
            size, wanted = path.stat().st_size, self.headers.get("Range")
            first, last = 0, size - 1
            if wanted is None or state.whole_files_only:
                self.send_response(200)
            else:
                start, _, end = wanted.removeprefix("bytes=").partition("-")
                first, last = int(start), min(int(end), size - 1)
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
            self.send_header("Last-Modified", formatdate(0, usegmt=True))
            with path.open("rb") as file:
                file.seek(first)
                self._end(file.read(last - first + 1))

        def _refuse(self, status: int, code: str = "") -> None:
            self.send_response(status)
            if code:
                self.send_header("X-Error-Code", code)
            self._end(b"")

        def _end(self, body: bytes) -> None:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                with contextlib.suppress(ConnectionError):  # who has read enough hangs up
                    self.wfile.write(body)
                state.sent_bytes += len(body)

    return Handler
