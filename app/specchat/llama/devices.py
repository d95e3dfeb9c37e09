"""The devices that this build of llama.cpp can compute on.

Nothing is remembered: devices of RPC servers come while the process runs.
"""

import ctypes
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import psutil

from specchat.errors import InvalidSetting
from specchat.llama.library import Library

Kind = Literal["gpu", "rpc", "integrated", "cpu"]

BY_SPEED: tuple[Kind, ...] = ("gpu", "rpc", "integrated", "cpu")
"""A server on the network is nearly always there for its graphics card."""

TYPES: dict[int, Kind] = {0: "cpu", 1: "gpu", 2: "integrated"}
"""`enum ggml_backend_dev_type` (ggml-backend.h). The others are no memory to put a layer into: 3
helps the CPU (BLAS), 4 joins other devices."""

RPC = b"RPC"
"""The registry of a server's devices; they all say that they are GPUs."""


@dataclass(frozen=True)
class ComputeDevice:
    """A device of llama.cpp's registry."""

    name: str
    """Such as `CUDA0`, `Vulkan1`, `MTL0`, `CPU` or `RPC0`."""
    description: str
    """The maker's words; of an RPC device the address of its server."""
    kind: Kind
    handle: int
    """`ggml_backend_dev_t`; 0 where the registry cannot be asked."""


def find_devices(library: Library) -> tuple[ComputeDevice, ...]:
    """Every device with memory of its own to put layers into, the fastest first, the CPU last."""
    try:
        get = library.function("ggml_backend_dev_get", ctypes.c_void_p, ctypes.c_size_t)
        count = library.function("ggml_backend_dev_count", ctypes.c_size_t)()
        found = [_described(library, get(index)) for index in range(count)]
    except AttributeError:  # Windows
        gpu = bool(library.api.llama_supports_gpu_offload())
        found = [ComputeDevice("GPU", "a GPU", "gpu", 0)] if gpu else []
        found.append(ComputeDevice("CPU", "the CPU", "cpu", 0))
    devices = [device for device in found if device is not None]
    return tuple(sorted(devices, key=lambda device: BY_SPEED.index(device.kind)))


def memory_of(library: Library, device: ComputeDevice) -> tuple[int, int]:
    """Total and free bytes, read now. An RPC server is asked over the network."""
    if device.kind == "cpu":  # llama.cpp says that all of it is free
        memory = psutil.virtual_memory()
        return memory.total, memory.available
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    if device.handle:
        ask = library.function("ggml_backend_dev_memory", None, *[ctypes.c_void_p] * 3)
        ask(device.handle, ctypes.byref(free), ctypes.byref(total))
    return total.value, free.value


def devices_of(
    library: Library, names: Sequence[str] | None, servers: Collection[str]
) -> tuple[ComputeDevice, ...]:
    """The devices beside the CPU that a model with this choice goes to, in llama.cpp's order.

    Raises:
        InvalidSetting: there is no such device.
    """
    chosen = choose_devices(library, names, servers)
    return _by_default(find_devices(library)) if chosen is None else chosen


def choose_devices(
    library: Library, names: Sequence[str] | None, servers: Collection[str]
) -> tuple[ComputeDevice, ...] | None:
    """The devices of a model beside the CPU; None leaves the choice to llama.cpp.

    Args:
        names: of the devices; None for any.
        servers: addresses of the RPC servers that may be used. llama.cpp never forgets one, so
            that of an earlier load would be used again.

    Raises:
        InvalidSetting: there is no such device.
    """
    others = [device for device in find_devices(library) if device.kind != "cpu"]
    allowed = [device for device in others if device.kind != "rpc" or device.description in servers]
    if names is None:
        return None if allowed == others else _by_default(allowed)
    if any(not device.handle for device in allowed):  # Windows: nothing to tell them apart by
        return () if not names else None
    found = {device.name: device for device in allowed}
    missing = [name for name in names if name not in found]
    if missing:
        raise InvalidSetting(
            f"Tried to use the device {missing[0]}.",
            f"There is no such device beside the CPU; there are: {', '.join(found) or 'none'}.",
            "Name one that specchat doctor lists.",
        )
    return tuple(found[name] for name in names)


def _described(library: Library, handle: int) -> ComputeDevice | None:
    """What the registry says of a device; None of one that holds no layers."""

    def text(name: str, of: int) -> bytes:
        return bytes(library.function(name, ctypes.c_char_p, ctypes.c_void_p)(of))

    kind = TYPES.get(
        library.function("ggml_backend_dev_type", ctypes.c_int, ctypes.c_void_p)(handle)
    )
    if kind is None:
        return None
    registry = library.function("ggml_backend_dev_backend_reg", ctypes.c_void_p, ctypes.c_void_p)(
        handle
    )
    return ComputeDevice(
        name=text("ggml_backend_dev_name", handle).decode(errors="replace"),
        description=text("ggml_backend_dev_description", handle).decode(errors="replace"),
        kind="rpc" if text("ggml_backend_reg_name", registry) == RPC else kind,
        handle=handle,
    )


def _by_default(devices: Sequence[ComputeDevice]) -> tuple[ComputeDevice, ...]:
    """llama.cpp's own choice (`llama_prepare_model_devices`): servers, then GPUs, else integrated
    ones."""
    kinds = {kind: [device for device in devices if device.kind == kind] for kind in BY_SPEED}
    return (*kinds["rpc"], *(kinds["gpu"] or kinds["integrated"]))
