"""The devices of this machine, as llama.cpp tells of them and as a child hands them on."""

import ctypes
import sys
from pathlib import Path

import pytest

from specchat.engine import devices
from specchat.engine.devices import find_devices, known_devices
from specchat.engine.machine import features
from specchat.errors import EngineCrashed, InvalidSetting, LibraryProblem
from specchat.llama.devices import choose_devices, memory_of
from specchat.llama.devices import find_devices as find
from specchat.llama.library import Library


def test_the_cpu_is_the_last_device_and_has_the_memory_of_the_machine(library: Library) -> None:
    *_, cpu = find(library)
    assert (cpu.name, cpu.kind) == ("CPU", "cpu")
    total, free = memory_of(library, cpu)
    assert 0 < free < total


def test_a_build_that_can_use_other_machines_has_no_gpu_for_that(library: Library) -> None:
    if any(device.kind not in ("cpu", "rpc") for device in find(library)):
        pytest.skip("this machine has another device than its CPU")
    assert library.supports_rpc
    assert library.api.llama_supports_gpu_offload()  # which says yes of every build with RPC
    assert choose_devices(library, None, ()) in (None, ())


def test_a_library_whose_parts_cannot_be_asked_has_a_cpu_all_the_same(library: Library) -> None:
    """As on Windows: what libllama itself does not export is not found."""
    replaced = Library(
        api=type(sys)("bindings"),
        version=library.version,
        python_version=library.python_version,
        log=library.log,
        _keep_alive=(),
    )
    vars(replaced.api).update(_lib=ctypes.CDLL(None), llama_supports_gpu_offload=lambda: True)
    gpu, cpu = find(replaced)
    assert (gpu.kind, cpu.kind) == ("gpu", "cpu")
    assert memory_of(replaced, gpu) == (0, 0)
    assert choose_devices(replaced, ["GPU"], ()) is None
    assert choose_devices(replaced, [], ()) == ()


def test_the_name_of_no_device_is_refused(library: Library) -> None:
    with pytest.raises(InvalidSetting, match="CUDA9"):
        choose_devices(library, ["CUDA9"], ())


async def test_a_child_tells_the_machine_and_the_build(library: Library) -> None:
    found = await find_devices()
    machine = found.machine
    assert machine.devices[-1].kind == "cpu"
    assert machine.devices[-1].free_bytes <= machine.ram_bytes
    assert 0 < machine.free_ram_bytes < machine.ram_bytes
    assert 1 <= found.n_threads <= machine.physical_cores <= machine.logical_cores
    assert machine.processor
    assert found.engine.llama_cpp == library.version
    assert found.supports_rpc == library.supports_rpc
    assert "CPU" in found.features
    assert found.waiting["OMP_WAIT_POLICY"]


def test_the_devices_are_asked_for_once_a_run() -> None:
    assert known_devices() is known_devices()


def broken_llama_cpp(folder: Path, code: str) -> str:
    """A folder for PYTHONPATH whose llama_cpp does this when it is imported."""
    package = folder / "llama_cpp"
    package.mkdir()
    (package / "__init__.py").write_text(code)
    return str(folder)


async def test_a_library_that_cannot_be_loaded_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "raise OSError('libcudart.so.12: cannot open shared object file')"
    monkeypatch.setenv("PYTHONPATH", broken_llama_cpp(tmp_path, code), prepend=":")
    with pytest.raises(LibraryProblem, match=r"libcudart\.so\.12"):
        await find_devices()


async def test_a_library_that_ends_the_process_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a build for newer processors does on an older one."""
    code = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
    monkeypatch.setenv("PYTHONPATH", broken_llama_cpp(tmp_path, code), prepend=":")
    with pytest.raises(EngineCrashed, match="SIGILL"):
        await find_devices()


async def test_a_driver_that_hangs_does_not_hang_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import time; time.sleep(600)"
    monkeypatch.setenv("PYTHONPATH", broken_llama_cpp(tmp_path, code), prepend=":")
    monkeypatch.setattr(devices, "LIMIT_S", 1.0)
    with pytest.raises(EngineCrashed, match="did not answer within 1 seconds"):
        await find_devices()


def test_the_features_of_a_build_are_told_by_backend() -> None:
    text = "CUDA : ARCHS = 890 | USE_GRAPHS = 1 | CPU : SSE3 = 1 | AVX2 = 1 | REPACK = 1 | "
    assert features(text) == {
        "CUDA": ("ARCHS 890", "USE_GRAPHS"),
        "CPU": ("SSE3", "AVX2", "REPACK"),
    }
    assert features("") == {}
