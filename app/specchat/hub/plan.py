"""What `pull` will download: asked of the Hub, picked, and ready to be shown before it begins."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from specchat.hub.cache import CachePlace
from specchat.hub.library import cache_folder
from specchat.hub.listing import RemoteFile, Repository, check_access, list_repository
from specchat.hub.selection import Wanted, pick
from specchat.hub.transfer import check_room, free_bytes


class DownloadPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a model or a pair."""

    wanted: str
    """What the person asked for."""
    repositories: tuple[Repository, ...]
    files: tuple[RemoteFile, ...]
    cache: Path
    missing_bytes: int
    """Still to come; less than the whole where something is here already."""
    free_bytes: int

    @property
    def total_bytes(self) -> int:
        """Of all files."""
        return sum(file.size_bytes for file in self.files)

    def is_here(self, file: RemoteFile) -> bool:
        """Whether the file is complete on this disk."""
        return CachePlace(self.cache, file).is_here()


def plan_download(
    wanted: str, items: Sequence[Wanted], notice: Callable[[str], None]
) -> DownloadPlan:
    """Ask the Hub for the files of `items`, the target first.

    Raises:
        SpecchatError: one of them is not there, is not for us, or does not fit on the disk.
    """
    cache = cache_folder()
    repositories: dict[str, Repository] = {}
    files: list[RemoteFile] = []
    for item in items:
        if item.repo not in repositories:
            repositories[item.repo] = list_repository(item.repo, notice)
        repository = repositories[item.repo]
        names = pick([file.name for file in repository.files], item)
        files += [file for file in repository.files if file.name in names and file not in files]
    for repository in repositories.values():
        check_access(repository)
    return DownloadPlan(
        wanted=wanted,
        repositories=tuple(repositories.values()),
        files=tuple(files),
        cache=cache,
        missing_bytes=check_room(files, cache),
        free_bytes=free_bytes(cache),
    )
