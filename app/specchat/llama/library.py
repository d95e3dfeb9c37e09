"""llama.cpp as a library: found, checked, quiet.

llama-cpp-python is imported when `open_library` is called, never at import time, because two
environment variables have to be set first.
"""

import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections import deque
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TextIO

from specchat.errors import LibraryProblem
from specchat.neighbours import POLITE

PACKAGE, BINDINGS = "llama_cpp", "llama_cpp.llama_cpp"

LEVEL_WARNING = 3
LEVEL_ERROR = 4
LEVEL_CONTINUE = 5
"""`enum ggml_log_level` of the pinned version (ggml.h); llama-cpp-python's own table is older."""

NEEDED = {
    "libcudart": "NVIDIA's CUDA toolkit or its runtime libraries",
    "libcublas": "NVIDIA's CUDA toolkit or its runtime libraries",
    "libcuda.so": "NVIDIA's driver",
    "libamdhip64": "AMD's ROCm",
    "libhipblas": "AMD's ROCm",
    "librocblas": "AMD's ROCm",
    "libvulkan": "the Vulkan loader and a driver for it",
    "libgomp": "libgomp, the OpenMP library of GCC",
}
"""Whose the libraries are that a build needs and does not bring."""

KNOWN_DEFAULTS = {"n_ctx": 512, "n_batch": 2048, "n_ubatch": 512, "n_seq_max": 1, "n_rs_seq": 0}
"""What `llama_context_default_params` of the pinned version answers."""


class LogRing:
    """The last lines that llama.cpp logged. Appending is safe from any thread."""

    def __init__(self, size: int = 512) -> None:
        self._lines: deque[tuple[int, int, str]] = deque(maxlen=size)
        self._count = 0
        self.echo: TextIO | None = None
        """Where warnings and errors are written too."""

    def append(self, level: int, text: str) -> None:
        """Keep a line. Continuations are the dots of progress; they are dropped."""
        if level == LEVEL_CONTINUE:
            return
        self._count += 1
        self._lines.append((self._count, level, text.rstrip()))
        if self.echo is not None and level >= LEVEL_WARNING:
            print(text.rstrip(), file=self.echo, flush=True)

    def mark(self) -> int:
        """A point in the log, for `errors`."""
        return self._count

    def errors(self, since: int) -> list[str]:
        """The error lines after a mark, oldest first."""
        return [
            text for number, level, text in self._lines if number > since and level == LEVEL_ERROR
        ]


@dataclass(frozen=True)
class Library:
    """The loaded library.

    `api` is the module of low-level bindings; every call of ours to llama.cpp goes through it.
    """

    api: ModuleType
    version: str
    """llama.cpp's own version."""
    python_version: str
    """llama-cpp-python's version."""
    log: LogRing
    _keep_alive: tuple[Any, ...] = field(repr=False)

    @property
    def supports_rpc(self) -> bool:
        """Whether this build can use another machine's devices."""
        return bool(self.api.llama_supports_rpc())

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        """A function of ggml that the bindings leave out, with its types by ctypes.

        Raises:
            AttributeError: it cannot be found. A handle's search goes on in the libraries that
                libllama needs; not on Windows.
        """
        return ctypes.CFUNCTYPE(result, *arguments)((name, self.api._lib))


@functools.cache
def open_library() -> Library:
    """Import llama-cpp-python and make it safe to use. Once a process.

    Raises:
        LibraryProblem: it is missing, cannot be loaded, or its structs have another layout.
    """
    if not POLITE.keys() & os.environ.keys():
        os.environ.update(POLITE)
    # An assertion in ggml would fork a debugger otherwise.
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    try:
        api = _bindings()
        python_version = importlib.metadata.version("llama-cpp-python")
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        raise LibraryProblem(
            "Tried to load llama-cpp-python.", f"It failed: {error}.", _missing_part(str(error))
        ) from error
    log = LogRing()

    @api.llama_log_callback  # type: ignore[untyped-decorator]
    def route(level: int, text: bytes, _user_data: int) -> None:
        log.append(level, text.decode(errors="replace"))

    api.llama_log_set(route, None)
    _check_layout(api, python_version)
    api.llama_backend_init()
    return Library(
        api=api,
        version=api.llama_version().decode(),
        python_version=python_version,
        log=log,
        _keep_alive=(route,),
    )


def _bindings() -> ModuleType:
    """llama-cpp-python's low-level module, without what its package imports beside it.

    That takes five times as long, and prints llama.cpp's log. The package is there while its module
    looks for its neighbours, but its own code does not run; it does where that is not enough.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if PACKAGE not in sys.modules and spec is not None:
        sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
        try:
            return importlib.import_module(BINDINGS)
        except (ImportError, AttributeError):
            sys.modules.pop(BINDINGS, None)
        finally:
            del sys.modules[PACKAGE]  # who imports it later gets it whole
    return importlib.import_module(BINDINGS)


def _missing_part(error: str) -> str:
    """What to do about a library that cannot be loaded."""
    for name, owner in NEEDED.items():
        if name in error:
            return f"Install {owner}, or a build of llama-cpp-python for the CPU."
    return "Install it again."


def _check_layout(api: ModuleType, python_version: str) -> None:
    """A struct passed by value with other fields corrupts silently: compare known defaults."""
    defaults = api.llama_context_default_params()
    found = {name: getattr(defaults, name, None) for name in KNOWN_DEFAULTS}
    if found != KNOWN_DEFAULTS:
        raise LibraryProblem(
            f"Tried to use llama-cpp-python {python_version}.",
            f"Its structs are not laid out as expected: {found}.",
            "Install the version that specchat asks for.",
        )


class AbortFlag:
    """Ends a running decode from another thread, without Python in llama.cpp's hot path.

    llama.cpp asks its abort callback after every graph node. The callback is libc's `strlen`
    over a buffer of two bytes: empty means go on, one character means abort. A Python function
    there would wait for the interpreter lock each time. Only CPU and Metal ask.
    """

    def __init__(self, library: Library) -> None:
        self._buffer = ctypes.create_string_buffer(2)
        libc = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
        self.callback = ctypes.cast(libc.strlen, library.api.ggml_abort_callback)

    @property
    def address(self) -> int:
        """The callback's user data."""
        return ctypes.addressof(self._buffer)

    @property
    def is_set(self) -> bool:
        """Whether decodes are to end."""
        return self._buffer[0] != b"\0"

    def set(self) -> None:
        """End the decode that runs, and those to come."""
        self._buffer[0] = b"\1"

    def clear(self) -> None:
        """Let decodes run."""
        self._buffer[0] = b"\0"
