"""Fixtures for all tests: a home of our own, the library, models."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat.llama.library import Library, open_library
from specchat.llama.model import Model
from specchat.paths import cache_folder
from support.packaged import gemma3, requantised, smollm2


def pytest_configure() -> None:
    """Give each of several workers cores of its own, and what tests start its Ctrl+C.

    llama.cpp's threads wait for each other after every operation; where two programs share the
    cores, all of them wait most of the time. A shell starts what runs in the background with
    Ctrl+C ignored, and every program started from there inherits that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        number = int(worker.removeprefix("gw")) % len(cores)
        os.sched_setaffinity(0, cores[number :: int(os.environ["PYTEST_XDIST_WORKER_COUNT"])])


@pytest.fixture(autouse=True)
def specchat_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Logs, settings and chats of a test stay in its own folder."""
    home = tmp_path / "home"
    monkeypatch.setenv("SPECCHAT_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def no_models_of_other_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who runs the tests may keep models on this disk, and no test is to find them."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("LLAMA_CACHE", "OLLAMA_MODELS", "SPECCHAT_MODELS", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """Where models made for tests are kept from run to run."""
    folder = cache_folder() / "test-models"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def library() -> Library:
    """llama.cpp."""
    return open_library()


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """SmolLM2-135M-Instruct Q4_1."""
    return smollm2()


@pytest.fixture(scope="session")
def smollm2_model(library: Library, smollm2_path: Path) -> Iterator[Model]:
    """SmolLM2, loaded once."""
    model = Model(library, smollm2_path)
    yield model
    model.close()


@pytest.fixture(scope="session")
def worse_path(
    library: Library, smollm2_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """SmolLM2 requantised to Q4_0."""
    return requantised(library, smollm2_path, tmp_path_factory.mktemp("worse") / "worse.gguf")


@pytest.fixture(scope="session")
def gemma3_path(model_folder: Path) -> Path:
    """Gemma 3 270M, which has sliding-window attention."""
    return gemma3(model_folder)
