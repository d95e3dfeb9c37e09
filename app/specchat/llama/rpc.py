"""Devices of other machines, through llama.cpp's RPC servers.

llama.cpp ends the process when a server cannot be reached, speaks another version or goes away,
and waits for ever for one that says nothing. So a server is tried first, and the connections get
a limit.
"""

import ctypes
import os
import socket
import struct
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from specchat.errors import RpcServerProblem
from specchat.llama.library import Library

REACH_S = 5.0
"""How long a server may take to answer a first word."""
SILENCE_S = 300
"""How long a server may take over a piece of work before it counts as gone: more than the slowest
one needs for a batch of a long prompt."""

PROTOCOL = (7, 0)
"""Major and minor version that the pinned llama.cpp speaks (ggml-rpc.h)."""
HELLO = 14
CAPABILITIES = bytes(24)
"""None: plain TCP."""
REQUEST = struct.pack("<BQ", HELLO, len(CAPABILITIES)) + CAPABILITIES
ANSWER = struct.Struct(f"<QBBBx{len(CAPABILITIES)}x")
"""Size of what follows, version, and what the server could do beside TCP."""


def add_servers(library: Library, addresses: Collection[str]) -> None:
    """Make the devices of these servers devices of llama.cpp, as long as the process lives.

    Args:
        addresses: `host:port` each.

    Raises:
        RpcServerProblem: this build has no RPC, or a server is of no use.
    """
    for address in addresses:
        tried = f"Tried to use the RPC server {address}."
        if not library.supports_rpc:
            raise RpcServerProblem(
                tried,
                "This build of llama.cpp has no RPC.",
                'Install it again with CMAKE_ARGS="-DGGML_RPC=on".',
            )
        _try_server(address)
        registry = library.function("ggml_backend_reg_by_name", ctypes.c_void_p, ctypes.c_char_p)
        find = library.function(
            "ggml_backend_reg_get_proc_address",
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_char_p,
        )
        add = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(
            find(registry(b"RPC"), b"ggml_backend_rpc_add_server")
        )
        devices = add(address.encode())
        if not devices:
            raise RpcServerProblem(
                tried, "It offers no device.", "Look at what the server printed when it started."
            )
        library.function("ggml_backend_register", None, ctypes.c_void_p)(devices)


def limit_silence(addresses: Collection[str], seconds: int) -> None:
    """Let llama.cpp give up on a server that says and takes nothing for so long.

    llama.cpp sets no limit. Its connections are found among the open files of this process, which
    works on Linux and macOS; a limit belongs to the connection, whoever sets it.
    """
    if not addresses or os.name != "posix":
        return
    ports = {_port(address) for address in addresses}
    limit = struct.pack("ll", seconds, 0)
    for entry in Path("/dev/fd").iterdir():
        with suppress(OSError):  # a file, or the descriptor of the listing itself
            connection = socket.socket(fileno=int(entry.name))
            try:
                if connection.family == socket.AF_INET and connection.getpeername()[1] in ports:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            finally:
                connection.detach()


def _try_server(address: str) -> None:
    """Say hello, as llama.cpp does, and leave again.

    Raises:
        RpcServerProblem: nobody answers, or something else than such a server.
    """
    tried = f"Tried to reach the RPC server {address}."
    try:
        with socket.create_connection(_resolved(address), REACH_S) as connection:
            connection.sendall(REQUEST)
            answer = connection.makefile("rb").read(ANSWER.size)
    except TimeoutError:
        raise RpcServerProblem(
            tried,
            f"It did not answer within {REACH_S:.0f} seconds.",
            "Check that the server runs and that no firewall is in the way. It serves one program "
            "at a time: perhaps another one uses it.",
        ) from None
    except OSError as error:
        raise RpcServerProblem(
            tried,
            f"It cannot be reached: {error.strerror or error}.",
            "Check the address, and that the server runs and listens on it, not on its own "
            "machine's loopback alone.",
        ) from error
    size, *version = ANSWER.unpack(answer) if len(answer) == ANSWER.size else (0, 0, 0, 0)
    if size != ANSWER.size - 8:
        raise RpcServerProblem(
            tried,
            "Something answers there that is no RPC server of llama.cpp.",
            "Check the port; llama.cpp's rpc-server listens on 50052 if not told otherwise.",
        )
    if version[0] != PROTOCOL[0] or version[1] > PROTOCOL[1]:
        raise RpcServerProblem(
            tried,
            f"It speaks version {version[0]}.{version[1]} of the protocol; this llama.cpp speaks "
            f"{PROTOCOL[0]}.{PROTOCOL[1]}.",
            "Run a server of the same llama.cpp release there.",
        )


def _resolved(address: str) -> tuple[str, int]:
    """The IPv4 address, the only kind that llama.cpp uses, and the port.

    Raises:
        OSError: the host is unknown.
    """
    return socket.gethostbyname(address.partition(":")[0]), _port(address)


def _port(address: str) -> int:
    return int(address.partition(":")[2])
