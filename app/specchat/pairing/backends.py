"""Which of llama.cpp's backends a device belongs to, told by its name."""

from specchat.pairing.catalog import Backend
from specchat.pairing.machine import Device, Machine

PREFIXES: dict[str, Backend] = {
    "CUDA": "cuda",
    "ROCm": "rocm",
    "HIP": "rocm",
    "Vulkan": "vulkan",
    "SYCL": "vulkan",
    "MTL": "metal",
    "Metal": "metal",
}


def device_backend(device: Device) -> Backend:
    """The backend of a device; a remote one counts as CUDA, which it most often is."""
    if device.kind == "cpu":
        return "cpu"
    for prefix, backend in PREFIXES.items():
        if device.name.startswith(prefix):
            return backend
    return "cuda"


def backend_of(machine: Machine) -> Backend:
    """The backend of the fastest device."""
    return device_backend(machine.devices[0]) if machine.devices else "cpu"
