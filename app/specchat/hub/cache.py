"""Where a file lies in Hugging Face's cache: the layout that other programs share.

`models--OWNER--NAME` holds `blobs/CHECKSUM`, links to them by name in `snapshots/COMMIT`, and in
`refs/main` the commit that `main` was last seen at.
See https://huggingface.co/docs/huggingface_hub/guides/manage-cache
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from specchat.hub.listing import RemoteFile
from specchat.paths import write_whole

BRANCH = "main"
PATIENCE_WITH_LOCK_S = 0.3
"""A lock that is not ours after this time is somebody's download, not the blink of another."""


@dataclass(frozen=True)
class CachePlace:
    """The place of one file."""

    cache: Path
    file: RemoteFile

    @property
    def folder(self) -> Path:
        """Of the repository."""
        return self.cache / f"models--{self.file.repo.replace('/', '--')}"

    @property
    def blob(self) -> Path:
        """The bytes, named by their checksum."""
        return self.folder / "blobs" / self.file.checksum

    @property
    def partial(self) -> Path:
        """What came so far."""
        return self.blob.with_name(f"{self.file.checksum}.incomplete")

    @property
    def pointer(self) -> Path:
        """The file under its own name: a link to the blob, or the bytes where links are not."""
        return self.folder / "snapshots" / self.file.commit / self.file.name

    @property
    def lock(self) -> Path:
        """The lock that huggingface-hub takes for a download of this blob."""
        return self.cache / ".locks" / self.folder.name / f"{self.file.checksum}.lock"

    def is_here(self) -> bool:
        """Whether the file is complete under its name."""
        return has_size(self.pointer, self.file.size_bytes)

    def kept_bytes(self) -> int:
        """What an interrupted download left, or the whole file if its bytes are here."""
        if self.is_here() or has_size(self.blob, self.file.size_bytes):
            return self.file.size_bytes
        try:
            return min(self.partial.stat().st_size, self.file.size_bytes)
        except OSError:
            return 0

    def link(self) -> None:
        """Give the blob its name, and say which commit `main` is.

        Where links cannot be made, the blob itself moves, as huggingface-hub has it.
        """
        from huggingface_hub.file_download import are_symlinks_supported

        self.pointer.parent.mkdir(parents=True, exist_ok=True)
        if are_symlinks_supported(self.cache):
            with contextlib.suppress(FileNotFoundError):
                self.pointer.unlink()
            self.pointer.symlink_to(os.path.relpath(self.blob, self.pointer.parent))
        else:
            self.blob.replace(self.pointer)
        self._note_commit()

    def _note_commit(self) -> None:
        """huggingface-hub takes a snapshot that no branch names for rubbish."""
        reference = self.folder / "refs" / BRANCH
        reference.parent.mkdir(parents=True, exist_ok=True)
        write_whole(reference, self.file.commit.encode())


def has_size(path: Path, size_bytes: int) -> bool:
    """Whether there is a file of this size."""
    try:
        return path.is_file() and path.stat().st_size == size_bytes
    except OSError:
        return False


@contextlib.contextmanager
def sole_download(place: CachePlace, when_busy: Callable[[], None]) -> Iterator[None]:
    """Nobody else downloads this blob meanwhile, huggingface-hub itself included.

    Args:
        when_busy: called when somebody does, before waiting for them.
    """
    from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]  # not in its __all__

    place.lock.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(WeakFileLock(place.lock, timeout=PATIENCE_WITH_LOCK_S))
        except TimeoutError:
            when_busy()
            stack.enter_context(WeakFileLock(place.lock))
        yield
