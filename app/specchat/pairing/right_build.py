"""Which build of llama-cpp-python uses a machine's GPU, and the command that installs it.

The wheels are those of the pinned version's release: README and .github/workflows of
https://github.com/abetlen/llama-cpp-python.
"""

from collections.abc import Collection
from pathlib import Path

import msgspec

from specchat.pairing.graphics import Graphics
from specchat.pairing.machine import Device

INDEX = "https://abetlen.github.io/llama-cpp-python/whl"
CUDA_WHEELS = ((13, 2), (13, 0), (12, 5), (12, 4), (12, 3), (12, 2), (12, 1), (11, 8))
"""Those for Linux."""
NOT_FOR_WINDOWS = ((12, 3), (12, 2), (12, 1))
X86_64 = ("x86_64", "amd64")
ROCM_WHEEL = "7.2"
METAL_WHEEL_PYTHONS = ((3, 11), (3, 12))
"""Those of them that specchat runs on."""


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """Where a build has to fit in."""

    version: str
    """Of llama-cpp-python."""
    system: str
    """As `platform.system()` says it."""
    architecture: str
    """As `platform.machine()` says it."""
    python: tuple[int, int]
    install: str
    """How packages are installed there, such as `python -m pip install`."""
    rocm: str | None = None
    """Version of an installed ROCm."""

    @property
    def has_x86_wheels(self) -> bool:
        """Whether the wheels for GPUs of PCs fit."""
        return self.system in ("Linux", "Windows") and self.architecture.lower() in X86_64


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What stands between a GPU and llama.cpp."""

    graphics: Graphics
    reason: str
    """Why the GPU is idle, as a sentence."""
    command: str | None
    """What installs a build that uses it; None where something else comes first."""
    needs: str | None = None
    """What that build needs beside it, as a sentence."""


def advise(
    graphics: Collection[Graphics],
    devices: Collection[Device],
    backends: Collection[str],
    installation: Installation,
) -> Advice | None:
    """How to get the best GPU to work; None where there is none, or llama.cpp uses one already.

    Args:
        devices: those that llama.cpp has found.
        backends: those that are in the build.
    """
    if not graphics or any(device.kind in ("gpu", "integrated") for device in devices):
        return None
    best = next(iter(graphics))
    reason = "This build of llama.cpp computes on the CPU only."
    if {"CUDA", "ROCm"} & set(backends):
        reason = (
            "This build of llama.cpp is one for GPUs and finds none: the driver may be older than "
            "the build wants, or a variable such as CUDA_VISIBLE_DEVICES hides the card."
        )
    elif best.integrated and best.maker != "apple":
        reason += " The GPU shares main memory with it, so the gain may be small."
    match best.maker:
        case "nvidia":
            return _for_nvidia(best, reason, installation)
        case "amd":
            return _for_amd(best, reason, installation)
        case "apple":
            return _for_apple(best, reason, installation)
        case "intel":
            return _with_vulkan(best, reason, installation)


def installed_rocm(root: Path = Path("/")) -> str | None:
    """The version of ROCm in its usual place."""
    try:
        return (root / "opt/rocm/.info/version").read_text(errors="replace").strip() or None
    except OSError:
        return None


def cuda_wheel(graphics: Graphics, installation: Installation) -> str | None:
    """The newest CUDA wheel that this card, its driver and this system can run, such as `cu124`."""
    if graphics.cuda is None or not installation.has_x86_wheels:
        return None
    capability = graphics.compute_capability
    for version in CUDA_WHEELS:
        if version > graphics.cuda or (
            installation.system == "Windows" and version in NOT_FOR_WINDOWS
        ):
            continue
        oldest = (7, 5) if version >= (13, 0) else (6, 0)
        newest = (8, 9) if version < (12, 0) else (99, 0)
        if capability is None or oldest <= capability <= newest:
            return f"cu{version[0]}{version[1]}"
    return None


def _for_nvidia(graphics: Graphics, reason: str, installation: Installation) -> Advice:
    if graphics.driver is None:
        return Advice(
            graphics=graphics,
            reason="NVIDIA's driver does not answer: nvidia-smi is missing or fails.",
            command=None,
            needs="Install the driver first, then run specchat doctor again.",
        )
    wheel = cuda_wheel(graphics, installation)
    if wheel is None:
        return Advice(
            graphics=graphics,
            reason=reason,
            command=_source("-DGGML_CUDA=on", installation),
            needs="No ready wheel fits this card and driver; building needs NVIDIA's CUDA toolkit "
            "and a C++ compiler.",
        )
    return Advice(
        graphics=graphics,
        reason=reason,
        command=_wheel(wheel, installation),
        needs=f"It needs CUDA {wheel[2:4]}'s own libraries, libcudart and libcublas, installed.",
    )


def _for_amd(graphics: Graphics, reason: str, installation: Installation) -> Advice:
    rocm = installation.rocm
    if rocm is None:
        return _with_vulkan(graphics, reason, installation)
    if rocm.startswith(ROCM_WHEEL) and installation.has_x86_wheels:
        command = _wheel("rocm72", installation)
        return Advice(graphics=graphics, reason=reason, command=command)
    return Advice(
        graphics=graphics,
        reason=reason,
        command=_source("-DGGML_HIP=on", installation),
        needs=f"The ready wheel is for ROCm {ROCM_WHEEL}, not {rocm}; building needs a C++ "
        "compiler.",
    )


def _for_apple(graphics: Graphics, reason: str, installation: Installation) -> Advice:
    if installation.python in METAL_WHEEL_PYTHONS:
        command = _wheel("metal", installation)
        return Advice(graphics=graphics, reason=reason, command=command)
    return Advice(
        graphics=graphics,
        reason=reason,
        command=_source("-DGGML_METAL=on", installation),
        needs="Building needs Xcode's command line tools: xcode-select --install",
    )


def _with_vulkan(graphics: Graphics, reason: str, installation: Installation) -> Advice:
    if installation.has_x86_wheels:
        return Advice(
            graphics=graphics,
            reason=reason,
            command=_wheel("vulkan", installation),
            needs="It needs a Vulkan driver, which comes with the system's graphics driver.",
        )
    return Advice(
        graphics=graphics,
        reason=reason,
        command=_source("-DGGML_VULKAN=on", installation),
        needs="Building needs the Vulkan SDK and a C++ compiler.",
    )


def _wheel(name: str, installation: Installation) -> str:
    """Without --only-binary, pip would build one for the CPU where the wheel is missing."""
    return (
        f"{installation.install} --force-reinstall --no-deps --only-binary llama-cpp-python "
        f"--extra-index-url {INDEX}/{name} llama-cpp-python=={installation.version}"
    )


def _source(arguments: str, installation: Installation) -> str:
    setting = f'CMAKE_ARGS="{arguments}" '
    if installation.system == "Windows":
        setting = f"$env:CMAKE_ARGS='{arguments}'; "
    return (
        f"{setting}{installation.install} --force-reinstall --no-deps --no-cache-dir "
        f"--no-binary llama-cpp-python llama-cpp-python=={installation.version}"
    )
