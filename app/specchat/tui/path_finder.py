"""Finds files by part of their path, for completion: `@src/ma`, `@~/notes`, `@"my file`.

Disks may be slow: `look` reads them and belongs to a thread; `matches` only remembers.
"""

import os
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from specchat.tui.suggestions import Suggestion

MENTION = re.compile(r"(?:^|(?<=[\s(\[{]))@(?:\"([^\"\n]*)|([^\s\"@]*))$")
"""`@` and what of a path was typed behind it, at the end of the text before the cursor."""

MOST_FOUND = 5000
"""Paths below the current folder that are remembered."""
MOST_SHOWN = 50
PASSED_OVER = frozenset({"__pycache__", "node_modules", "venv", "target", "dist", "build"})
"""Folders that hold what programs have made. A path that names them goes into them."""


def mention(typed: str) -> str | None:
    """The part of a path that is being typed; None where none is."""
    match = MENTION.search(typed)
    if match is None:
        return None
    return match[1] if match[1] is not None else match[2]


def mention_start(typed: str) -> int:
    """Where that begins, its `@` included."""
    match = MENTION.search(typed)
    assert match is not None, "mention has found it"
    return match.start()


class PathFinder:
    """Remembers what is below a folder, and what is in the other folders that were asked for.

    Args:
        here: where paths without a beginning begin; the current folder.
        ending: files without it are passed over.
    """

    def __init__(self, here: Path | None = None, *, ending: str = "") -> None:
        self._given = here
        self._ending = ending
        self._below: list[str] | None = None
        self._listed: dict[str, list[str]] = {}

    def forget(self) -> None:
        """Files come and go: look again."""
        self._below = None
        self._listed = {}

    def knows(self, part: str) -> bool:
        """Whether `matches` can answer."""
        folder = _folder_of(part)
        return folder in self._listed if folder else self._below is not None

    def look(self, part: str) -> None:
        """Read what `matches` needs."""
        folder = _folder_of(part)
        if folder:
            self._listed[folder] = sorted(_names_in(self._here / Path(folder).expanduser()))
        else:
            self._below = list(_paths_below(self._here))

    def matches(self, part: str) -> list[str]:
        """Paths that may be meant, the likeliest first; those of folders end with a slash."""
        folder = _folder_of(part)
        if folder:
            last = part[len(folder) :]
            return [folder + name for name in _best(last, self._wanted(self._listed[folder]))]
        return _best(part, self._wanted(self._below or []))

    def _wanted(self, paths: list[str]) -> list[str]:
        return [path for path in paths if path.endswith("/") or path.lower().endswith(self._ending)]

    @property
    def _here(self) -> Path:
        return self._given or Path.cwd()


def suggestions(typed: str, paths: list[str]) -> list[Suggestion]:
    """What to put in place of the mention that is being typed: a folder, or a file."""
    start = mention_start(typed)
    return [
        Suggestion(
            path,
            "folder" if path.endswith("/") else "",
            f'@"{path}' if path.endswith("/") and " " in path else _mention_of(path),
            start,
            () if path.endswith("/") else (path,),
        )
        for path in paths
    ]


def _mention_of(path: str) -> str:
    if path.endswith("/"):
        return f"@{path}"
    return f'@"{path}" ' if re.search(r"\s", path) else f"@{path} "


def _folder_of(part: str) -> str:
    """The folder that a path names, with its slash; empty for one below the current folder."""
    if part in ("~", "."):
        return ""
    return part[: part.rfind("/") + 1]


def _best(part: str, paths: list[str]) -> list[str]:
    """Paths that have this in them; hidden ones only where they are asked for."""
    low = part.lower()
    if low.startswith("."):
        found = [path for path in paths if path.lower().startswith(low)]
    else:
        found = [path for path in paths if low in path.lower() and not path.startswith(".")]
    found.sort(key=lambda path: (_rank(path.lower(), low), path.count("/"), path))
    return found[:MOST_SHOWN]


def _rank(path: str, low: str) -> int:
    if path.startswith(low):
        return 0
    name = path.rstrip("/").rpartition("/")[2]
    return 1 if name.startswith(low) else 2


def _names_in(folder: Path) -> Iterator[str]:
    """What is in a folder; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            for _, entry in zip(range(MOST_FOUND), entries, strict=False):
                name = _printable(entry.name)
                if name:
                    yield f"{name}/" if _is_folder(entry) else name
    except (OSError, ValueError):
        return


def _paths_below(folder: Path) -> Iterator[str]:
    """Files and folders, the nearest first. Hidden and generated folders are not gone into."""
    waiting, found = deque([""]), 0
    while waiting:
        below = waiting.popleft()
        for name in sorted(_names_in(folder / below)):
            found += 1
            if found > MOST_FOUND:
                return
            yield below + name
            bare = name.rstrip("/")
            if name.endswith("/") and not bare.startswith(".") and bare not in PASSED_OVER:
                waiting.append(f"{below}{name}")


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    """A link to a folder counts as none, so that there is no way round in a circle."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _printable(name: str) -> str:
    """Names that cannot be written into a message are left out."""
    return name if name.isprintable() and '"' not in name else ""
