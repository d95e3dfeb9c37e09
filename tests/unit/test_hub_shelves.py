"""Where other programs keep models, and what their files are called there."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from specchat.hub.finds import Find, cached_commit, finds_on
from specchat.hub.shelves import Owner, Shelf, shelves

COMMIT = "c" * 40


def owners_and_folders(home: Path, platform: str, **environment: str) -> list[tuple[Owner, str]]:
    """The shelves as their owner and their place below the home folder."""
    found = shelves(home / "hf", environment, home, platform)
    return [(shelf.owner, shelf.folder.relative_to(home).as_posix()) for shelf in found]


def made(home: Path, *folders: str) -> None:
    for folder in folders:
        (home / folder).mkdir(parents=True)


def found_on(owner: Owner, folder: Path) -> list[Find]:
    return list(finds_on(Shelf(owner, folder), pytest.fail))


def put(path: Path, data: bytes = b"GGUF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_folders_that_are_not_there_are_no_shelves(tmp_path: Path) -> None:
    assert owners_and_folders(tmp_path, "linux") == []


def test_on_linux_every_program_is_found(tmp_path: Path) -> None:
    made(tmp_path, "hf", ".lmstudio/models", ".cache/lm-studio/models", ".cache/llama.cpp")
    made(tmp_path, ".ollama/models", ".local/share/Jan/data/llamacpp/models", "jan/models")

    assert owners_and_folders(tmp_path, "linux") == [
        ("hugging_face", "hf"),
        ("lm_studio", ".lmstudio/models"),
        ("lm_studio", ".cache/lm-studio/models"),
        ("llama_cpp", ".cache/llama.cpp"),
        ("ollama", ".ollama/models"),
        ("jan", ".local/share/Jan/data/llamacpp/models"),
        ("jan", "jan/models"),
    ]


def test_on_a_mac_caches_lie_in_the_library(tmp_path: Path) -> None:
    jan = "Library/Application Support/Jan/data/llamacpp/models"
    made(tmp_path, "Library/Caches/llama.cpp", jan)

    assert owners_and_folders(tmp_path, "darwin") == [
        ("llama_cpp", "Library/Caches/llama.cpp"),
        ("jan", jan),
    ]


def test_on_windows_they_lie_in_the_data_folders(tmp_path: Path) -> None:
    made(tmp_path, "Local/llama.cpp", "Roaming/Jan/data/llamacpp/models")
    folders = {"LOCALAPPDATA": str(tmp_path / "Local"), "APPDATA": str(tmp_path / "Roaming")}

    assert owners_and_folders(tmp_path, "win32", **folders) == [
        ("llama_cpp", "Local/llama.cpp"),
        ("jan", "Roaming/Jan/data/llamacpp/models"),
    ]


def test_variables_and_settings_move_the_folders(tmp_path: Path) -> None:
    made(tmp_path, "o", "l", "lms", "lms-home/models", "jan-data/llamacpp/models")
    (tmp_path / ".lmstudio-home-pointer").write_text(f"{tmp_path / 'lms-home'}\n")
    moved = {"downloadsFolder": str(tmp_path / "lms")}
    put(tmp_path / "lms-home/settings.json", json.dumps(moved).encode())
    moved = {"data_folder": str(tmp_path / "jan-data")}
    put(tmp_path / ".local/share/Jan/settings.json", json.dumps(moved).encode())

    assert owners_and_folders(
        tmp_path, "linux", OLLAMA_MODELS=str(tmp_path / "o"), LLAMA_CACHE=str(tmp_path / "l")
    ) == [
        ("lm_studio", "lms"),
        ("lm_studio", "lms-home/models"),
        ("llama_cpp", "l"),
        ("ollama", "o"),
        ("jan", "jan-data/llamacpp/models"),
    ]


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"downloadsFolder": 7}', b"\xff\xfe"])
def test_settings_of_others_that_do_not_read_are_no_settings(tmp_path: Path, data: bytes) -> None:
    made(tmp_path, ".lmstudio/models")
    put(tmp_path / ".lmstudio/settings.json", data)

    assert owners_and_folders(tmp_path, "linux") == [("lm_studio", ".lmstudio/models")]


def test_folders_of_the_persons_come_first_and_none_is_listed_twice(tmp_path: Path) -> None:
    made(tmp_path, "a", ".lmstudio/models")
    (tmp_path / "b").symlink_to(tmp_path / ".lmstudio/models")
    own = os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "missing")])

    found = owners_and_folders(tmp_path, "linux", SPECCHAT_MODELS=own)

    assert found == [("folder", "a"), ("folder", "b")]


def test_a_file_in_the_hugging_face_cache_is_called_by_repository_and_quantisation(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "models--maker--Tiny-GGUF"
    blob = put(folder / "blobs" / ("a" * 64))
    pointer = folder / "snapshots" / COMMIT / "tiny-Q4_K_M.gguf"
    pointer.parent.mkdir(parents=True)
    pointer.symlink_to(blob)

    [find] = found_on("hugging_face", tmp_path)

    assert (find.name, find.repo) == ("maker/Tiny-GGUF:Q4_K_M", "maker/Tiny-GGUF")
    assert find.checksum == "a" * 64
    assert find.parts == (pointer,)
    assert cached_commit(pointer) == COMMIT


def test_the_new_cache_of_llama_cpp_has_the_same_layout(tmp_path: Path) -> None:
    put(tmp_path / "models--a--B-GGUF/snapshots" / COMMIT / "b-Q8_0.gguf")

    assert [find.name for find in found_on("llama_cpp", tmp_path)] == ["a/B-GGUF:Q8_0"]


def test_the_old_cache_of_llama_cpp_has_flat_names(tmp_path: Path) -> None:
    put(tmp_path / "ggml-org_gemma-3-1b-it-GGUF_gemma-3-1b-it-Q4_K_M.gguf")
    put(tmp_path / "manifest=ggml-org=gemma-3-1b-it-GGUF=latest.json")

    assert [find.name for find in found_on("llama_cpp", tmp_path)] == [
        "ggml-org_gemma-3-1b-it-GGUF_gemma-3-1b-it-Q4_K_M"
    ]


def test_lm_studio_has_owner_and_repository_as_folders(tmp_path: Path) -> None:
    put(tmp_path / "lmstudio-community/Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf")
    put(tmp_path / "loose.gguf")

    assert [find.name for find in found_on("lm_studio", tmp_path)] == [
        "loose",
        "lmstudio-community/Qwen3-4B-GGUF:Q4_K_M",
    ]


def test_jan_calls_a_model_by_its_folder(tmp_path: Path) -> None:
    put(tmp_path / "Qwen/Qwen3-4B-Q4_K_M/model.gguf")
    put(tmp_path / "Qwen/Qwen3-4B-Q4_K_M/model.yml")

    assert [find.name for find in found_on("jan", tmp_path)] == ["Qwen/Qwen3-4B-Q4_K_M"]


def test_split_files_are_one_model_and_missing_parts_are_counted(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        put(tmp_path / f"whole-0000{number}-of-00003.gguf")
    put(tmp_path / "torn-00002-of-00003.gguf")

    found = {find.name: find for find in found_on("folder", tmp_path)}

    assert {name: find.missing_parts for name, find in found.items()} == {"whole": 0, "torn": 2}
    assert [part.name for part in found["whole"].parts] == [
        "whole-00001-of-00003.gguf",
        "whole-00002-of-00003.gguf",
        "whole-00003-of-00003.gguf",
    ]


def test_linked_folders_are_followed_and_a_circle_ends(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    put(elsewhere / "far.gguf")
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "other disk").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(shelf)

    assert [find.name for find in found_on("folder", shelf)] == ["far"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_noted(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    put(tmp_path / "a.gguf")
    notes: list[str] = []

    found = list(finds_on(Shelf("folder", tmp_path), notes.append))

    assert [find.name for find in found] == ["a"]
    assert notes == [f"{closed} cannot be read: Permission denied."]


def ollama_manifest(folder: Path, place: str, *layers: tuple[str, str]) -> None:
    written = [
        {"mediaType": f"application/vnd.ollama.image.{kind}", "digest": digest, "size": 4}
        for kind, digest in layers
    ]
    manifest = {"schemaVersion": 2, "config": {"digest": "sha256:0"}, "layers": written}
    put(folder / "manifests" / place, json.dumps(manifest).encode())


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("registry.ollama.ai/library/qwen2.5/0.5b", "qwen2.5:0.5b"),
        ("registry.ollama.ai/somebody/model/latest", "somebody/model:latest"),
        ("hf.co/maker/Tiny-GGUF/Q4_K_M", "hf.co/maker/Tiny-GGUF:Q4_K_M"),
    ],
)
def test_ollama_files_have_the_names_of_their_manifests(
    tmp_path: Path, place: str, name: str
) -> None:
    digest = "b" * 64
    blob = put(tmp_path / "blobs" / f"sha256-{digest}")
    ollama_manifest(
        tmp_path, place, ("template", "sha256:" + "e" * 64), ("model", f"sha256:{digest}")
    )

    [find] = found_on("ollama", tmp_path)

    assert (find.name, find.parts, find.checksum) == (name, (blob,), digest)


def test_ollama_models_of_the_cloud_and_lost_blobs_are_left_out(tmp_path: Path) -> None:
    ollama_manifest(tmp_path, "registry.ollama.ai/library/big/cloud", ("config", "sha256:1"))
    ollama_manifest(tmp_path, "registry.ollama.ai/library/lost/1b", ("model", "sha256:" + "d" * 64))

    assert found_on("ollama", tmp_path) == []


def test_a_manifest_cannot_point_out_of_its_folder(tmp_path: Path) -> None:
    put(tmp_path / "secret")
    ollama_manifest(
        tmp_path / "o", "registry.ollama.ai/library/x/1", ("model", "sha256:/../../../secret")
    )

    assert found_on("ollama", tmp_path / "o") == []


@given(data=some.binary(max_size=80))
def test_any_manifest_is_read_or_left_out(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("ollama")
    put(folder / "manifests/registry.ollama.ai/library/x/1", data)

    assert found_on("ollama", folder) == []
