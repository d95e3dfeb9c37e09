"""What a machine can run models with, as plain data: the engine fills in the devices."""

from typing import Literal

import msgspec

DeviceKind = Literal["gpu", "integrated", "cpu", "rpc"]


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """A compute device that this build of llama.cpp can use."""

    name: str
    """llama.cpp's name, such as `CUDA0`, `Vulkan1`, `MTL0`, `CPU` or `RPC0`."""
    description: str
    """The maker's words, such as `NVIDIA GeForce RTX 4070`; of `rpc` the server's address."""
    kind: DeviceKind
    total_bytes: int
    free_bytes: int


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine: what is here, or what a person asks about."""

    devices: tuple[Device, ...]
    """The fastest first; the CPU last."""
    ram_bytes: int
    free_ram_bytes: int
    """What can be had without swapping."""
    swap_bytes: int = 0
    used_swap_bytes: int = 0
    unified_memory: bool = False
    """GPU and CPU share one memory, as on Apple silicon."""
    processor: str = ""
    """Its maker's name for it."""
    physical_cores: int = 1
    logical_cores: int = 1
    on_battery: bool | None = None
    """None: there is no battery."""


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """What changes about a machine while it works; None: nobody tells."""

    temperature_c: float | None = None
    """Of its hottest sensor on processor and graphics, in degrees Celsius."""
    on_battery: bool | None = None

    @property
    def are_known(self) -> bool:
        """Whether any of it is told."""
        return self.temperature_c is not None or self.on_battery is not None
