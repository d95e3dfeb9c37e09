"""The child's side of `Devices`: the machine as llama.cpp and the system see it."""

import os
from collections.abc import Collection

import specchat
from specchat.engine.protocol import DevicesFound, EngineFacts
from specchat.host import machine_with
from specchat.llama.context import default_threads
from specchat.llama.devices import find_devices, memory_of
from specchat.llama.library import Library
from specchat.llama.rpc import add_servers
from specchat.pairing.machine import Device

OPENMP_PREFIXES = ("OMP_", "GOMP_", "KMP_")
"""Of the standard's variables, GNU's and LLVM's."""


def examine(library: Library, servers: Collection[str]) -> DevicesFound:
    """What can be computed on, here and at these RPC servers, and with what.

    Raises:
        RpcServerProblem: a server is of no use.
    """
    add_servers(library, servers)
    found = []
    for device in find_devices(library):
        total, free = memory_of(library, device)
        found.append(
            Device(
                name=device.name,
                description=device.description,
                kind=device.kind,
                total_bytes=total,
                free_bytes=free,
            )
        )
    return DevicesFound(
        machine=machine_with(tuple(found)),
        engine=engine_facts(library),
        features=features(library.api.llama_print_system_info().decode(errors="replace")),
        supports_rpc=library.supports_rpc,
        n_threads=default_threads(),
        waiting={
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(OPENMP_PREFIXES)
        },
    )


def engine_facts(library: Library) -> EngineFacts:
    """Which code answers."""
    return EngineFacts(
        specchat=specchat.__version__,
        llama_cpp_python=library.python_version,
        llama_cpp=library.version,
        backend=", ".join(device.name for device in find_devices(library)),
    )


def features(system_info: str) -> dict[str, tuple[str, ...]]:
    """What `llama_print_system_info` says, by backend.

    It reads `CPU : SSE3 = 1 | AVX2 = 1 | CUDA : ARCHS = 890 | `.
    """
    found: dict[str, list[str]] = {}
    backend = "CPU"
    for part in system_info.split("|"):
        name, separator, rest = part.rpartition(" : ")
        if separator:
            backend = name.strip()
        feature, _, value = rest.strip().partition(" = ")
        if feature:
            found.setdefault(backend, []).append(feature if value == "1" else f"{feature} {value}")
    return {backend: tuple(names) for backend, names in found.items()}
