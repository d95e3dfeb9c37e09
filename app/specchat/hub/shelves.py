"""Where programs keep their models. Facts of each program, read only and as of 2026.

- Hugging Face: `models--OWNER--NAME/snapshots/COMMIT`; llama.cpp downloads into it too since
  March 2026 (ggml-org/llama.cpp#20775), and into `LLAMA_CACHE` in the same layout (#21009).
- llama.cpp before that: `LLAMA_CACHE`, else a cache folder, all files side by side (#7826).
- LM Studio: `models/OWNER/NAME` in its home, which `~/.lmstudio-home-pointer` names; another
  folder may be set as `downloadsFolder` in its `settings.json`.
- Ollama: `manifests/REGISTRY/OWNER/NAME/TAG` name `blobs/sha256-...`; `OLLAMA_MODELS` moves both.
- Jan: `llamacpp/models/NAME/model.gguf` in a data folder, which `settings.json` may move.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

Owner = Literal["hugging_face", "lm_studio", "llama_cpp", "ollama", "jan", "folder", "built_in"]
OWNER_TITLES: dict[Owner, str] = {
    "hugging_face": "Hugging Face cache",
    "lm_studio": "LM Studio",
    "llama_cpp": "llama.cpp",
    "ollama": "Ollama",
    "jan": "Jan",
    "folder": "Your folders",
    "built_in": "Installed package",
}
OWN_FOLDERS = "SPECCHAT_MODELS"
"""Folders of the person's, separated as in PATH."""


class Shelf(NamedTuple):
    """A folder with models."""

    owner: Owner
    folder: Path


def shelves(
    hugging_face: Path,
    environment: Mapping[str, str],
    home: Path,
    platform: str,
    own: Iterable[str] = (),
) -> list[Shelf]:
    """The folders that are there, each once, those of the person's first.

    Args:
        hugging_face: the cache of huggingface-hub.
        platform: as `sys.platform`.
        own: folders of the settings; `~` is the home folder.
    """
    named = [*environment.get(OWN_FOLDERS, "").split(os.pathsep), *own]
    candidates: list[tuple[Owner, list[Path]]] = [
        ("folder", [Path(name).expanduser() for name in named if name]),
        ("hugging_face", [hugging_face]),
        ("lm_studio", _lm_studio(home)),
        ("llama_cpp", _llama_cpp(environment, home, platform)),
        ("ollama", _ollama(environment, home)),
        ("jan", _jan(environment, home, platform)),
    ]
    found: dict[Path, Shelf] = {}
    for owner, folders in candidates:
        for folder in folders:
            with contextlib.suppress(OSError):
                if folder.is_dir():
                    found.setdefault(folder.resolve(), Shelf(owner, folder))
    return list(found.values())


def _lm_studio(home: Path) -> list[Path]:
    homes = [home / ".lmstudio", home / ".cache" / "lm-studio"]
    with contextlib.suppress(OSError, UnicodeDecodeError):
        pointed = (home / ".lmstudio-home-pointer").read_text().strip()
        if pointed:
            homes.insert(0, Path(pointed))
    set_by_person = [
        Path(folder)
        for each in homes
        if isinstance(folder := _settings(each / "settings.json").get("downloadsFolder"), str)
        and folder
    ]
    return [*set_by_person, *(each / "models" for each in homes)]


def _llama_cpp(environment: Mapping[str, str], home: Path, platform: str) -> list[Path]:
    folders = []
    if environment.get("LLAMA_CACHE"):
        folders.append(Path(environment["LLAMA_CACHE"]))
    if platform == "win32":
        base = environment.get("LOCALAPPDATA")
        return [*folders, *([Path(base) / "llama.cpp"] if base else [])]
    if platform == "darwin":
        return [*folders, home / "Library" / "Caches" / "llama.cpp"]
    base = environment.get("XDG_CACHE_HOME")
    return [*folders, (Path(base) if base else home / ".cache") / "llama.cpp"]


def _ollama(environment: Mapping[str, str], home: Path) -> list[Path]:
    folders = [home / ".ollama" / "models", Path("/usr/share/ollama/.ollama/models")]
    if environment.get("OLLAMA_MODELS"):
        folders.insert(0, Path(environment["OLLAMA_MODELS"]))
    return folders


def _jan(environment: Mapping[str, str], home: Path, platform: str) -> list[Path]:
    if platform == "win32":
        bases = [Path(environment["APPDATA"]) / "Jan"] if environment.get("APPDATA") else []
    elif platform == "darwin":
        bases = [home / "Library" / "Application Support" / "Jan"]
    else:
        bases = [home / ".local" / "share" / "Jan", home / ".config" / "Jan"]
    folders = [base / "data" for base in bases] + [home / "jan"]
    for base in bases:
        moved = _settings(base / "settings.json").get("data_folder")
        if isinstance(moved, str) and moved:
            folders.insert(0, Path(moved))
    return [folder / place for folder in folders for place in ("llamacpp/models", "models")]


def _settings(path: Path) -> dict[str, object]:
    """Another program's settings; nothing where they cannot be read."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(path.read_bytes(), type=dict[str, object])
    return {}
