"""Where specchat keeps its own files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from specchat.paths import cache_folder, config_folder, log_folder, write_whole

FOLDERS = [log_folder, cache_folder, config_folder]


@pytest.mark.parametrize("folder", FOLDERS)
def test_everything_lies_under_specchat_home(
    folder: Callable[[], Path], specchat_home: Path
) -> None:
    assert folder().parent == specchat_home
    assert folder().is_dir()


def test_logs_and_caches_are_kept_apart() -> None:
    assert log_folder() != cache_folder()


def test_a_folder_that_is_there_keeps_its_files() -> None:
    (log_folder() / "engine.log").write_text("old")

    assert (log_folder() / "engine.log").read_text() == "old"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_tilde_means_the_persons_home(
    folder: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("SPECCHAT_HOME", "~/stick")

    assert folder().parent == tmp_path / "stick"


@pytest.mark.parametrize("unset", [True, False], ids=["unset", "empty"])
@pytest.mark.parametrize("folder", FOLDERS)
def test_without_specchat_home_the_systems_folders_are_used(
    folder: Callable[[], Path], unset: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if unset:
        monkeypatch.delenv("SPECCHAT_HOME")
    else:
        monkeypatch.setenv("SPECCHAT_HOME", "")
    for name in ("HOME", "USERPROFILE", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)

    assert folder().is_dir()
    assert folder().is_relative_to(tmp_path)
    assert "specchat" in folder().parts


def test_a_file_is_there_as_a_whole_or_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    write_whole(file, b"first")
    write_whole(file, b"second")

    assert [each.name for each in tmp_path.iterdir()] == ["kept.json"]
    assert file.read_bytes() == b"second"
