"""GPUs as the system tells of them, from what its tools print and its files hold."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from specchat.pairing import graphics
from specchat.pairing.graphics import Graphics, find_graphics
from support.fake_tools import (
    NVIDIA_SMI_OLD_QUERY,
    nvidia_smi_table,
    write_nvidia_smi,
    write_tool,
)

LSPCI = (
    '0000:00:02.0 "VGA compatible controller" "Intel Corporation" "UHD Graphics 620" -r07 '
    '-p00 "Lenovo" "Device 225d"\n'
    '0000:01:00.0 "3D controller" "NVIDIA Corporation" "GP108M [GeForce MX150]" -ra1 "Lenovo" ""\n'
    '0000:03:00.0 "VGA compatible controller" "Advanced Micro Devices, Inc. [AMD/ATI]" '
    '"Navi 31 [Radeon RX 7900 XT/7900 XTX/7900M]" -rc8 "Sapphire Technology Limited" ""\n'
    '0000:0b:00.0 "VGA compatible controller" "Intel Corporation" "DG2 [Arc A770]" -r08 "" ""\n'
)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder on PATH; nothing is in it yet."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A system folder without any PCI device."""
    return tmp_path / "root"


def add_pci(root: Path, slot: str, vendor: str, device: str, **files: str) -> None:
    """A device on the bus, as sysfs shows it; a display controller if not said otherwise."""
    folder = root / "sys/bus/pci/devices" / slot
    folder.mkdir(parents=True)
    contents = {"vendor": vendor, "device": device, "class": "0x030000", **files}
    for name, text in contents.items():
        (folder / name).write_text(f"{text}\n")


def test_a_machine_that_tells_of_none_has_none(tools: Path, root: Path) -> None:
    assert find_graphics(root) == ()


def test_nvidia_smi_tells_name_memory_driver_cuda_and_capability(tools: Path, root: Path) -> None:
    cards = ["NVIDIA GeForce RTX 4070, 12282, 550.54.14, 8.9", "Tesla P40, 24576, 550.54.14, 6.1"]
    write_nvidia_smi(tools, *cards, driver="550.54.14", cuda="12.4")
    add_pci(root, "0000:01:00.0", "0x10de", "0x2786")
    first, second = find_graphics(root)
    assert first == Graphics(
        maker="nvidia",
        name="NVIDIA GeForce RTX 4070",
        memory_bytes=12282 * 2**20,
        driver="550.54.14",
        cuda=(12, 4),
        compute_capability=(8, 9),
    )
    assert (second.name, second.compute_capability) == ("Tesla P40", (6, 1))


def test_a_driver_too_old_to_know_the_capability_is_asked_without(tools: Path, root: Path) -> None:
    answers = {
        "": nvidia_smi_table("450.80.02", "11.0"),
        NVIDIA_SMI_OLD_QUERY: "GeForce GTX 1080, 8119, 450.80.02\n",
    }
    write_tool(tools, "nvidia-smi", answers)
    [card] = find_graphics(root)
    assert (card.name, card.driver, card.cuda) == ("GeForce GTX 1080", "450.80.02", (11, 0))
    assert card.compute_capability is None


def test_memory_that_is_shared_has_no_size(tools: Path, root: Path) -> None:
    write_nvidia_smi(tools, "NVIDIA GB10, [N/A], 580.95.05, 12.1", driver="580.95.05", cuda="13.0")
    [card] = find_graphics(root)
    assert (card.memory_bytes, card.compute_capability) == (None, (12, 1))


def test_a_driver_that_does_not_run_leaves_what_the_bus_tells(tools: Path, root: Path) -> None:
    words = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    write_tool(tools, "nvidia-smi", {"": words}, exit_code=9)
    write_tool(tools, "lspci", {"-D -mm": LSPCI})
    add_pci(root, "0000:01:00.0", "0x10de", "0x1d10", **{"class": "0x030200"})
    [card] = find_graphics(root)
    assert card == Graphics(maker="nvidia", name="NVIDIA GeForce MX150")


def test_the_bus_tells_of_amd_and_intel_and_the_most_promising_comes_first(
    tools: Path, root: Path
) -> None:
    write_tool(tools, "lspci", {"-D -mm": LSPCI})
    add_pci(root, "0000:00:02.0", "0x8086", "0x5917")
    add_pci(root, "0000:03:00.0", "0x1002", "0x744c", mem_info_vram_total=str(24 * 2**30))
    add_pci(root, "0000:0b:00.0", "0x8086", "0x56a0")
    amd, arc, uhd = find_graphics(root)
    assert amd.name == "AMD Radeon RX 7900 XT/7900 XTX/7900M"
    assert amd.memory_bytes == 24 * 2**30
    assert (arc.name, arc.integrated) == ("Intel Arc A770", False)
    assert (uhd.name, uhd.integrated) == ("Intel UHD Graphics 620", True)


def test_without_lspci_a_card_has_its_number(tools: Path, root: Path) -> None:
    add_pci(root, "0000:03:00.0", "0x1002", "0x1638", mem_info_vram_total=str(512 * 2**20))
    [card] = find_graphics(root)
    assert (card.name, card.integrated) == ("AMD GPU 1638", True)


def test_other_devices_and_other_makers_are_no_graphics(tools: Path, root: Path) -> None:
    add_pci(root, "0000:00:1f.3", "0x8086", "0xa171", **{"class": "0x040300"})
    add_pci(root, "0000:00:03.0", "0x1af4", "0x1050")
    (root / "sys/bus/pci/devices/0000:00:04.0").mkdir()
    assert find_graphics(root) == ()


def test_an_apple_chip_is_told_by_system_profiler(tools: Path, root: Path) -> None:
    card = {
        "_name": "Apple M2",
        "spdisplays_mtlgpufamilysupport": "spdisplays_metal3",
        "spdisplays_vendor": "sppci_vendor_Apple",
        "sppci_bus": "spdisplays_builtin",
        "sppci_cores": "10",
        "sppci_model": "Apple M2",
    }
    shown = json.dumps({"SPDisplaysDataType": [card]})
    write_tool(tools, "system_profiler", {"SPDisplaysDataType -json": shown})
    assert find_graphics(root) == (Graphics(maker="apple", name="Apple M2", integrated=True),)


def test_a_tool_that_hangs_is_left_alone(
    tools: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphics, "COMMAND_LIMIT_S", 0.2)
    path = tools / "nvidia-smi"
    path.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    path.chmod(0o755)
    assert find_graphics(root) == ()


def test_a_tool_that_cannot_be_run_is_left_alone(tools: Path, root: Path) -> None:
    path = tools / "nvidia-smi"
    path.write_text("#!/nowhere/at/all\n")
    path.chmod(0o755)
    assert find_graphics(root) == ()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(text="0")
@example(text='{"SPDisplaysDataType": 1}')
@example(text="NVIDIA, 12, 5")
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_whatever_the_tools_print_is_no_error(text: str, tools: Path, root: Path) -> None:
    write_nvidia_smi(tools, text, driver=text[:9], cuda=text[:5])
    write_tool(tools, "lspci", {"-D -mm": text})
    write_tool(tools, "system_profiler", {"SPDisplaysDataType -json": text})
    for found in find_graphics(root):
        assert found.maker == "nvidia"
