"""llama.cpp's own RPC server on loopback, with this machine's CPU as its device."""

import ctypes
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from specchat.llama.library import open_library
from support.engine_process import wait_until
from support.processes import Process

SERVE = (sys.executable, "-m", "support.rpc_server")
TESTS = Path(__file__).parents[1]
"""Where such a module is found by a process of its own."""


class RpcServer:
    """A server's process and where it listens."""

    def __init__(self, process: Process[bytes], address: str) -> None:
        self.address = address
        self._process = process

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()
        self._process.wait()

    def hang(self) -> None:
        """Let it go on listening and do nothing more."""
        self._process.send_signal(signal.SIGSTOP)


@contextmanager
def running_rpc_server(memory_bytes: int | None = None) -> Iterator[RpcServer]:
    """A server that listens; it is gone after the block.

    Args:
        memory_bytes: all that it gets from the system for the buffers of its clients, whatever it
            says it has.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    limit = () if memory_bytes is None else (str(memory_bytes),)
    with Process[bytes](
        [*SERVE, address, *limit], cwd=TESTS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        wait_until(lambda: _listens(port), f"a server at {address}")
        yield RpcServer(process, address)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def serve(address: str, memory_bytes: str | None = None) -> None:
    """Serve until killed."""
    library = open_library()
    void = ctypes.c_void_p
    cpu = library.function("ggml_backend_dev_by_type", void, ctypes.c_int)(0)
    registry = library.function("ggml_backend_reg_by_name", void, ctypes.c_char_p)(b"RPC")
    find = library.function("ggml_backend_reg_get_proc_address", void, void, ctypes.c_char_p)
    start = ctypes.CFUNCTYPE(
        None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, void
    )(find(registry, b"ggml_backend_rpc_start_server"))
    if memory_bytes is not None:
        most = psutil.Process().memory_info().vms + int(memory_bytes)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    start(address.encode(), None, 1, 1, ctypes.byref(void(cpu)))


if __name__ == "__main__":
    serve(*sys.argv[1:])
