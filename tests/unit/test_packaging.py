"""The wheel, built from the source distribution as anyone else would build it, installed into
an empty environment and run there; and how a build of llama.cpp is told from another."""

import io
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import build_llama
import specchat

PROJECT = Path(__file__).parents[2]
SLOW_TO_IMPORT = {"llama_cpp", "numpy", "textual", "asyncio"}


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that knows nothing of this checkout and this process's environment."""
    environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ
    }
    result = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=PROJECT)
    (sdist,) = folder.glob("*.tar.gz")
    pip_wheel = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index"]
    run(*pip_wheel, "--no-build-isolation", "--wheel-dir", folder, sdist, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with nothing but the wheel; the dependencies are looked up in ours."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    # A folder named in a .pth file comes last, and its own .pth files, one of which leads to the
    # editable specchat, are not read.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def test_the_wheel_carries_the_catalogue_and_nothing_foreign(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    catalogue = {path.name for path in (PROJECT / "models_catalog").glob("*.toml")}
    carried = {Path(name).name for name in names if name.startswith("specchat/models_catalog/")}
    assert catalogue
    assert catalogue <= carried
    assert {Path(name).parts[0] for name in names} == {
        "specchat",
        f"specchat-{specchat.__version__}.dist-info",
    }


def test_the_installed_package_is_the_wheel_with_its_catalogue(environment: Path) -> None:
    script = (
        "import specchat\n"
        "from specchat.pairing.catalog import catalog_folder, read_catalog\n"
        "print(specchat.__file__, catalog_folder(), len(read_catalog().pairs), sep='\\n')"
    )
    python = environment / "bin" / "python"
    package, catalogue, pairs = run(python, "-c", script, cwd=environment).stdout.splitlines()

    assert Path(package).is_relative_to(environment)
    assert Path(catalogue) == Path(package).parent / "models_catalog"
    assert int(pairs) > 0


@pytest.mark.parametrize(
    ("option", "expected"), [("--version", specchat.__version__), ("--help", "Usage: specchat")]
)
def test_the_command_answers(environment: Path, option: str, expected: str) -> None:
    assert expected in run(environment / "bin" / "specchat", option, cwd=environment).stdout


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_answers_without_loading_what_is_slow(environment: Path, option: str) -> None:
    python = environment / "bin" / "python"
    times = run(python, "-X", "importtime", "-m", "specchat", option, cwd=environment).stderr

    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in times.splitlines()}
    assert "specchat" in imported
    assert not imported & SLOW_TO_IMPORT


def key_with(**environment: str) -> str:
    return build_llama.build_key("1.2.3", build_llama.build_description("1.2.3", environment))


def test_the_version_of_llama_comes_from_the_pin() -> None:
    pin = build_llama.pinned_version(PROJECT / "pyproject.toml")

    assert f'"llama-cpp-python=={pin}"' in (PROJECT / "pyproject.toml").read_text()


def test_the_key_follows_what_the_build_depends_on_and_nothing_else() -> None:
    plain = key_with()

    assert plain == key_with(HOME="/elsewhere")
    assert len({plain, key_with(CMAKE_ARGS="-DGGML_CUDA=on"), key_with(CXX="clang++")}) == 3


def test_a_build_always_has_rpc_and_then_what_the_person_asks_for() -> None:
    args = build_llama.cmake_args({"CMAKE_ARGS": "-DGGML_CUDA=on"})

    assert args == "-DGGML_RPC=on -DGGML_CUDA=on"


def test_a_missing_compiler_is_named_with_a_way_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(build_llama.BuildError, match=r"C\+\+ compiler(.|\n)*apt install g\+\+"):
        build_llama.check_tools({})


@pytest.mark.parametrize(
    "lines",
    [
        [f"  [{step}/197] c++ -c x.cpp" for step in range(1, 198)],
        [f"  [{percent:3}%] Building x.cpp" for percent in range(101)],
    ],
    ids=["ninja", "make"],
)
def test_progress_into_a_file_is_a_line_every_ten_per_cent(lines: list[str]) -> None:
    out = io.StringIO()
    progress = build_llama.Progress(out)

    for line in lines:
        progress.read(line)

    assert len(out.getvalue().splitlines()) == 11
