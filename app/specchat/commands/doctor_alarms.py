"""What a report warns of: each alarm has a cause, a sentence and a way out."""

import importlib.metadata

import msgspec
import psutil

from specchat.engine.protocol import DevicesFound
from specchat.host import processor_flags
from specchat.pairing.machine import Machine
from specchat.pairing.right_build import Advice

GIB = 2**30
LITTLE_BYTES = 2 * GIB
"""Of free memory: the built-in model fits, hardly anything else does."""
SWAPPED_BYTES = GIB // 2
BUSY_PERCENT = 25.0
"""Of all cores, used by other programs."""
WATCH_S = 0.3
OCCUPIED_SHARE = 0.3
"""Of a GPU's memory that others hold: a screen takes less."""


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """Something that makes the chat slow or impossible."""

    kind: str
    message: str
    help: str


def alarms(
    machine: Machine, found: DevicesFound | None, advice: Advice | None, *, has_model: bool
) -> tuple[Alarm, ...]:
    """What is wrong now, the gravest first.

    Args:
        found: None where llama.cpp cannot be used.
        has_model: whether there is a model to chat with at once.
    """
    raised = []
    if advice is not None:
        below = "The command below installs a build that uses it." if advice.command else None
        raised.append(
            Alarm(
                kind="idle_gpu",
                message=f"{advice.graphics.name} is idle. {advice.reason}",
                help=" ".join(filter(None, (below, advice.needs))),
            )
        )
    if not has_model:
        raised.append(
            Alarm(
                kind="no_model",
                message="No model was found.",
                help="Download one with specchat pull, or name a file with --target.",
            )
        )
    if found is not None:
        raised += _of_the_build(found)
    return (*raised, *_of_the_moment(machine))


def _of_the_build(found: DevicesFound) -> list[Alarm]:
    raised = []
    wanted, installed = wanted_version(), found.engine.llama_cpp_python
    if wanted is not None and installed != wanted:
        raised.append(
            Alarm(
                kind="other_version",
                message=f"llama-cpp-python is {installed}; specchat is made for {wanted}.",
                help=f"Install that one: pip install llama-cpp-python=={wanted}",
            )
        )
    if "avx2" in processor_flags() and "AVX2" not in found.backends.get("CPU", ()):
        raised.append(
            Alarm(
                kind="slow_build",
                message="This build of llama.cpp leaves AVX2 unused, which the processor has.",
                help="Where layers run on the CPU, a build made on this machine is faster: "
                "see docs/devices.md.",
            )
        )
    if found.openmp.get("OMP_WAIT_POLICY", "").lower() == "active":
        raised.append(
            Alarm(
                kind="spinning_threads",
                message="OMP_WAIT_POLICY=active lets waiting threads spin: beside another busy "
                "program answers slow down a hundredfold.",
                help="Unset it; specchat then chooses a middle way.",
            )
        )
    if any(device.kind == "rpc" for device in found.machine.devices):
        raised.append(
            Alarm(
                kind="rpc_unencrypted",
                message="What goes to an RPC server is not encrypted, and whoever reaches one can "
                "use it.",
                help="Use RPC servers only in a network that you trust.",
            )
        )
    return raised


def _of_the_moment(machine: Machine) -> list[Alarm]:
    raised = []
    for device in machine.devices:
        held = device.total_bytes - device.free_bytes
        if device.kind == "gpu" and held > OCCUPIED_SHARE * device.total_bytes > 0:
            raised.append(
                Alarm(
                    kind="occupied_gpu",
                    message=f"Other programs hold {size(held)} of {size(device.total_bytes)} on "
                    f"{device.name}.",
                    help="Close what else uses the GPU: a game, a browser, another model.",
                )
            )
    if machine.free_ram_bytes < LITTLE_BYTES:
        raised.append(
            Alarm(
                kind="little_memory",
                message=f"Only {size(machine.free_ram_bytes)} of memory are free.",
                help="Close other programs, or use a small model and a short context.",
            )
        )
    if machine.used_swap_bytes > SWAPPED_BYTES:
        raised.append(
            Alarm(
                kind="swapping",
                message=f"{size(machine.used_swap_bytes)} lie in swap.",
                help="A model that is swapped out answers at a crawl: close other programs.",
            )
        )
    if machine.on_battery:
        raised.append(
            Alarm(
                kind="on_battery",
                message="The machine lives on its battery.",
                help="Most laptops compute slower then: plug it in.",
            )
        )
    busy = psutil.cpu_percent(WATCH_S)
    if busy > BUSY_PERCENT:
        raised.append(
            Alarm(
                kind="busy",
                message=f"Other programs use {busy:.0f}% of the processor at this moment.",
                help="Answers share what is left.",
            )
        )
    return raised


def wanted_version() -> str | None:
    """The version of llama-cpp-python that specchat asks for."""
    try:
        wanted = importlib.metadata.requires("specchat") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    pinned = [line.partition("==")[2] for line in wanted if line.startswith("llama-cpp-python==")]
    return pinned[0] if pinned else None


def size(size_bytes: int) -> str:
    """A size in GiB, or in MiB where that is less than one."""
    if size_bytes < GIB:
        return f"{size_bytes / 2**20:.0f} MiB"
    return f"{size_bytes / GIB:.1f} GiB"
