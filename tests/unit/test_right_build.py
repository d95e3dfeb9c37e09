"""Which build of llama-cpp-python is advised for which GPU."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from specchat.pairing.graphics import Graphics
from specchat.pairing.machine import Device
from specchat.pairing.right_build import (
    INDEX,
    Advice,
    Installation,
    advise,
    cuda_wheel,
    installed_rocm,
)

LINUX = Installation(
    version="0.3.36",
    system="Linux",
    architecture="x86_64",
    python=(3, 11),
    install="python -m pip install",
)
WINDOWS = replace(LINUX, system="Windows", architecture="AMD64")
MAC = replace(LINUX, system="Darwin", architecture="arm64")
ARM = replace(LINUX, architecture="aarch64")

RTX_4070 = Graphics(
    maker="nvidia",
    name="NVIDIA GeForce RTX 4070",
    memory_bytes=12 * 2**30,
    driver="550.54.14",
    cuda=(12, 4),
    compute_capability=(8, 9),
)
RADEON = Graphics(maker="amd", name="AMD Radeon RX 7900 XTX", memory_bytes=24 * 2**30)
UHD = Graphics(maker="intel", name="Intel UHD Graphics 620", integrated=True)
M2 = Graphics(maker="apple", name="Apple M2", integrated=True)
CPU = Device(name="CPU", description="a CPU", kind="cpu", total_bytes=8, free_bytes=8)
RPC = replace(CPU, name="RPC0", kind="rpc")
CUDA = replace(CPU, name="CUDA0", kind="gpu")


def advice_for(
    graphics: Graphics, installation: Installation = LINUX, backends: tuple[str, ...] = ("CPU",)
) -> Advice:
    """What is advised where llama.cpp computes on the CPU alone."""
    advice = advise([graphics], [CPU], backends, installation)
    assert advice is not None
    return advice


def wheel_command(name: str) -> str:
    return (
        "python -m pip install --force-reinstall --no-deps --only-binary llama-cpp-python "
        f"--extra-index-url {INDEX}/{name} llama-cpp-python==0.3.36"
    )


def source_command(arguments: str) -> str:
    return (
        f'CMAKE_ARGS="{arguments}" python -m pip install --force-reinstall --no-deps '
        "--no-cache-dir --no-binary llama-cpp-python llama-cpp-python==0.3.36"
    )


def test_nothing_is_advised_where_a_gpu_works() -> None:
    assert advise([RTX_4070], [CUDA, CPU], ["CUDA", "CPU"], LINUX) is None
    assert advise([UHD], [replace(CUDA, kind="integrated"), CPU], ["CPU"], LINUX) is None


def test_nothing_is_advised_where_there_is_no_gpu() -> None:
    assert advise([], [CPU], ["CPU"], LINUX) is None


def test_the_gpu_of_another_machine_does_not_count() -> None:
    advice = advise([RTX_4070], [RPC, CPU], ["CPU"], LINUX)
    assert advice is not None
    assert advice.graphics == RTX_4070


def test_an_nvidia_card_gets_the_wheel_for_its_drivers_cuda() -> None:
    advice = advice_for(RTX_4070)
    assert advice.command == wheel_command("cu124")
    assert advice.needs is not None
    assert "CUDA 12" in advice.needs


@pytest.mark.parametrize(
    ("cuda", "capability", "installation", "wheel"),
    [
        ((12, 4), (8, 9), LINUX, "cu124"),
        ((12, 8), (12, 0), LINUX, "cu125"),
        ((12, 3), (8, 6), LINUX, "cu123"),
        ((12, 0), (8, 6), LINUX, "cu118"),
        ((12, 0), (9, 0), LINUX, None),  # that wheel ends at 8.9
        ((11, 7), (8, 6), LINUX, None),
        ((13, 0), (8, 9), LINUX, "cu130"),
        ((13, 1), (12, 0), LINUX, "cu130"),
        ((14, 0), (12, 0), LINUX, "cu132"),
        ((13, 0), (6, 1), LINUX, "cu125"),  # CUDA 13 has left Pascal behind
        ((13, 0), (5, 2), LINUX, None),
        ((12, 4), None, LINUX, "cu124"),
        ((12, 3), (8, 6), WINDOWS, "cu118"),
        ((12, 4), (8, 6), WINDOWS, "cu124"),
        ((13, 0), (12, 1), ARM, None),
        (None, (8, 9), LINUX, None),
    ],
)
def test_the_newest_wheel_that_card_driver_and_system_can_run_is_taken(
    cuda: tuple[int, int] | None,
    capability: tuple[int, int] | None,
    installation: Installation,
    wheel: str | None,
) -> None:
    card = replace(RTX_4070, cuda=cuda, compute_capability=capability)
    assert cuda_wheel(card, installation) == wheel


def test_an_nvidia_card_that_no_wheel_fits_gets_a_build() -> None:
    advice = advice_for(RTX_4070, ARM)
    assert advice.command == source_command("-DGGML_CUDA=on")
    assert advice.needs is not None
    assert "CUDA toolkit" in advice.needs


def test_an_nvidia_card_without_a_driver_needs_that_first() -> None:
    advice = advice_for(Graphics(maker="nvidia", name="NVIDIA GeForce MX150"))
    assert advice.command is None
    assert "driver" in advice.reason


def test_a_cuda_build_that_finds_no_card_says_what_may_hide_it() -> None:
    advice = advice_for(RTX_4070, backends=("CUDA", "CPU"))
    assert "CUDA_VISIBLE_DEVICES" in advice.reason
    assert advice.command == wheel_command("cu124")


@pytest.mark.parametrize(
    ("rocm", "command"),
    [
        (None, wheel_command("vulkan")),
        ("7.2.0-43", wheel_command("rocm72")),
        ("6.4.1-83", source_command("-DGGML_HIP=on")),
    ],
)
def test_an_amd_card_gets_what_fits_the_installed_rocm(rocm: str | None, command: str) -> None:
    assert advice_for(RADEON, replace(LINUX, rocm=rocm)).command == command


def test_a_gpu_of_the_processor_is_not_praised() -> None:
    advice = advice_for(UHD)
    assert advice.command == wheel_command("vulkan")
    assert advice.reason.endswith("the gain may be small.")


def test_where_no_vulkan_wheel_fits_one_is_built() -> None:
    assert advice_for(RADEON, ARM).command == source_command("-DGGML_VULKAN=on")


@pytest.mark.parametrize(
    ("python", "command"),
    [((3, 12), wheel_command("metal")), ((3, 13), source_command("-DGGML_METAL=on"))],
)
def test_an_apple_chip_gets_metal(python: tuple[int, int], command: str) -> None:
    assert advice_for(M2, replace(MAC, python=python)).command == command


def test_powershell_sets_a_variable_in_its_own_way() -> None:
    command = advice_for(replace(RTX_4070, cuda=(11, 0)), WINDOWS).command
    assert command is not None
    assert command.startswith("$env:CMAKE_ARGS='-DGGML_CUDA=on'; python -m pip install ")


def test_rocm_tells_its_version_in_its_usual_place(tmp_path: Path) -> None:
    assert installed_rocm(tmp_path) is None
    folder = tmp_path / "opt/rocm/.info"
    folder.mkdir(parents=True)
    (folder / "version").write_text("7.2.0-43\n")
    assert installed_rocm(tmp_path) == "7.2.0-43"
