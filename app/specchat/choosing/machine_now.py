"""This machine at this moment, as cheaply as it can be had.

Asking llama.cpp for devices takes a child of half a second and more. A build that has no library
for any but the CPU is known by its files' names, and then the system alone can tell.
"""

import os
import re
from importlib.util import find_spec
from pathlib import Path

from msgspec.structs import replace

from specchat.host import machine_with
from specchat.pairing.machine import Device, Machine

BACKEND = re.compile(r"(?:lib)?ggml-([a-z0-9]+)")
"""The library of a backend; `ggml-cpu-haswell` is one of the CPU's."""
NO_DEVICES = {"base", "cpu", "blas", "rpc"}
"""What all of them use, the CPU, what helps the CPU, and servers, which are there when named."""
MOVED = ("LLAMA_CPP_LIB_PATH", "GGML_BACKEND_PATH")
"""Variables that name other libraries."""


async def find_machine(rpc: tuple[str, ...] = ()) -> Machine:
    """This machine now, with the devices of these RPC servers.

    Raises:
        LibraryProblem: llama.cpp cannot be used.
        RpcServerProblem: a server cannot be reached or is of no use.
        EngineCrashed: the child ended, or said nothing in time.
    """
    alone = system_alone(rpc)
    if alone is not None:
        return alone
    from specchat.engine.devices import find_devices

    return (await find_devices(rpc)).machine


def machine_now(rpc: tuple[str, ...] = ()) -> Machine:
    """The same for code that does not wait in a loop."""
    alone = system_alone(rpc)
    if alone is not None:
        return alone
    import asyncio

    return asyncio.run(find_machine(rpc))


def system_alone(rpc: tuple[str, ...] = ()) -> Machine | None:
    """This machine now, where no other device can be there and the system alone can tell."""
    if rpc or not only_cpu():
        return None
    machine = machine_with(())
    cpu = Device(
        name="CPU",
        description=machine.processor,
        kind="cpu",
        total_bytes=machine.ram_bytes,
        free_bytes=machine.free_ram_bytes,
    )
    return replace(machine, devices=(cpu,))


def only_cpu() -> bool:
    """Whether this build of llama.cpp certainly has no device but the CPU."""
    package = find_spec("llama_cpp")  # nothing of it is imported
    if package is None or any(os.environ.get(name) for name in MOVED):
        return False
    folders = [Path(place) / "lib" for place in package.submodule_search_locations or ()]
    names = [file.name for folder in folders if folder.is_dir() for file in folder.iterdir()]
    return cpu_alone(names)


def cpu_alone(names: list[str]) -> bool:
    """Whether these libraries are for the CPU and for nothing else."""
    backends = {match[1] for name in names if (match := BACKEND.match(name))}
    return "cpu" in backends and backends <= NO_DEVICES
