"""Heads that lie beside their target, found by what is in the files and not by their names."""

from collections.abc import Iterator
from pathlib import Path

from specchat.errors import SpecchatError
from specchat.hub.finds import cached_repository
from specchat.hub.naming import quant_of
from specchat.pairing.drafter_type import DrafterKind, drafter_kind
from specchat.pairing.gguf_file import GgufFile, architecture_of, header_of
from specchat.pairing.head_choice import LARGEST_SHARE, PREFERRED_KINDS, head_order
from specchat.pairing.head_fit import HEADS
from specchat.pairing.verdict import judge

HEADS_ALONE = ("eagle3", "dflash", "gemma4-assistant")
"""Architectures of files that are heads and nothing else."""
MOST_FILES = 64
"""That are looked into, those that suit the target best first."""


def sidecar_of(target: GgufFile) -> GgufFile | None:
    """The head beside the target that drafts for it; of several, one.

    Beside it is what lies in its folder, and in the Hugging Face cache what was downloaded from its
    repository: every commit has a folder there, and a head may have come with a later one.
    """
    found: dict[DrafterKind, GgufFile] = {}
    for file in _neighbours(target):
        kind = drafter_kind(file)
        if kind in HEADS and kind not in found and judge(target, file).usable:
            found[kind] = file
    return next((found[kind] for kind in PREFERRED_KINDS if kind in found), None)


def _neighbours(target: GgufFile) -> Iterator[GgufFile]:
    """Files beside it that may be heads for it, those that suit it best first."""
    for path in _smaller_files(target)[:MOST_FILES]:
        try:
            architecture = architecture_of(path)
        except SpecchatError:
            continue
        if architecture in HEADS_ALONE or architecture == target.architecture:
            file = header_of(path)
            if file is not None:
                yield file


def _smaller_files(target: GgufFile) -> list[Path]:
    here, most_bytes = Path(target.path), LARGEST_SHARE * target.size_bytes
    quant = quant_of(here.name)
    order: dict[Path, tuple[int, int]] = {}
    try:
        for path in _files_beside(here):
            size = path.stat().st_size
            if size <= most_bytes:
                order[path] = head_order(quant_of(path.name), size, quant)
    except OSError:
        return []
    return sorted(order, key=order.__getitem__)


def _files_beside(target: Path) -> Iterator[Path]:
    """Of a file that came with several commits the target's one, else the one that came last."""
    place = target.absolute()
    repository = cached_repository(place)
    if repository is None:
        files = [path for path in target.parent.glob("*.gguf") if path.name != target.name]
    else:
        snapshots = repository / "snapshots"
        own = snapshots / place.relative_to(snapshots).parts[0]
        came = {
            path: (path.is_relative_to(own), path.lstat().st_mtime)
            for path in snapshots.glob("**/*.gguf")
        }
        in_order = sorted(came, key=came.__getitem__)
        last = {path.relative_to(snapshots).parts[1:]: path for path in in_order}
        files = [path for path in last.values() if path != place]
    return (path for path in files if path.is_file())
