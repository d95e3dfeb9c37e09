"""Heads that lie beside their target, found by what is in the files and not by their names."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from specchat.errors import SpecchatError
from specchat.pairing.drafter_type import DrafterKind, drafter_kind
from specchat.pairing.gguf_file import GgufFile, architecture_of, header_of
from specchat.pairing.head_fit import HEADS
from specchat.pairing.verdict import judge

HEADS_ALONE = ("eagle3", "dflash", "gemma4-assistant")
"""Architectures of files that are heads and nothing else."""
LARGEST = 0.5
"""Of the target's bytes; a larger file is not looked into."""
MOST_FILES = 64
"""That are looked into, the smallest first."""
PREFERENCE: tuple[DrafterKind, ...] = ("mtp_sidecar", "dspark", "dflash", "eagle3")
"""Of several that fit: by what is reported of them (docs/methods.md)."""


def sidecar_of(target: GgufFile) -> GgufFile | None:
    """The head in the target's folder that drafts for it; of several, one."""
    return preferred(
        file
        for file in _neighbours(target)
        if drafter_kind(file) in HEADS and judge(target, file).usable
    )


def preferred(heads: Iterable[GgufFile]) -> GgufFile | None:
    """Of heads that all fit a target, the one that drafts; of the same kind the first."""
    found: dict[DrafterKind, GgufFile] = {}
    for file in heads:
        found.setdefault(drafter_kind(file), file)
    return next((found[kind] for kind in PREFERENCE if kind in found), None)


def lies_beside(target: str, head: str) -> bool:
    """Whether a file is where heads for this target are looked for."""
    one, other = Path(target), Path(head)
    return one.parent == other.parent and other.match("*.gguf")


def _neighbours(target: GgufFile) -> Iterator[GgufFile]:
    """Files beside it that may be heads for it, the smallest first."""
    here = Path(target.path)
    for path in _smaller_files(here, round(LARGEST * target.size_bytes))[:MOST_FILES]:
        try:
            architecture = architecture_of(path)
        except SpecchatError:
            continue
        if architecture in HEADS_ALONE or architecture == target.architecture:
            file = header_of(path)
            if file is not None:
                yield file


def _smaller_files(target: Path, most_bytes: int) -> list[Path]:
    sizes: dict[Path, int] = {}
    try:
        for path in target.parent.glob("*.gguf"):
            if path.name != target.name and path.is_file():
                sizes[path] = path.stat().st_size
    except OSError:
        return []
    return sorted((path for path in sizes if sizes[path] <= most_bytes), key=sizes.__getitem__)
