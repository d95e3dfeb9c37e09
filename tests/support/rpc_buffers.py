"""What an RPC server holds, and what is said when it is gone."""

import json
import re
import subprocess
import sys
from pathlib import Path

from specchat.engine.protocol import Failed
from support.engine_process import DEADLINE_S
from support.rpc_server import RpcServer

BUFFERS = """
import json, sys
from specchat.llama.library import open_library
from specchat.llama.model import Model
from specchat.llama.rpc import add_servers
library = open_library()
address, path, choice = sys.argv[1:]
add_servers(library, [address])
mark = library.log.mark()
Model(library, path, servers=[address], **json.loads(choice)).close()
print("\\n".join(text for number, _, text in library.log._lines if number > mark))
"""
BUFFER = re.compile(r"(RPC0|CPU)\S* model buffer size = +([0-9.]+) MiB")


def buffers_of(server: RpcServer, path: Path, **choice: object) -> dict[str, int]:
    """Bytes of a model's weights by device, as llama.cpp says that it put them.

    In a process of its own: llama.cpp forgets no server as long as a process lives.
    """
    done = subprocess.run(
        [sys.executable, "-c", BUFFERS, server.address, path, json.dumps(choice)],
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=True,
    )
    held = {"RPC0": 0, "CPU": 0}
    for device, size in BUFFER.findall(done.stdout):
        held[device] += round(float(size) * 2**20)
    return held


def assert_lost(failed: object, server: RpcServer) -> None:
    """The engine ended, and its last event says that this server is the likely cause."""
    assert isinstance(failed, Failed)
    assert failed.kind == "engine_crashed"
    assert failed.message.endswith(f"It lost the RPC server {server.address}.")
    assert "--rpc" in failed.help
    assert any("RPC server" in line for line in failed.log)
