"""What `pull` will download: asked of the Hub, picked, and ready to be shown before it begins."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from specchat.hub.cache import CachePlace
from specchat.hub.heads import RemoteHead, head_for, is_head
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
    head: RemoteHead | None = None
    """Among the files: one that nobody named, and that drafts for the model."""

    @property
    def total_bytes(self) -> int:
        """Of all files."""
        return sum(file.size_bytes for file in self.files)

    def is_here(self, file: RemoteFile) -> bool:
        """Whether the file is complete on this disk."""
        return CachePlace(self.cache, file).is_here()


def plan_download(
    wanted: str,
    items: Sequence[Wanted],
    notice: Callable[[str], None],
    *,
    with_head: bool = False,
) -> DownloadPlan:
    """Ask the Hub for the files of `items`, the target first.

    Args:
        notice: tells a person why it takes longer, or what is left out.
        with_head: a model is joined by the head of its repository that drafts for it.

    Raises:
        SpecchatError: one of them is not there, is not for us, or does not fit on the disk.
    """
    cache = cache_folder()
    repositories: dict[str, Repository] = {}
    files: list[RemoteFile] = []
    head: RemoteHead | None = None
    for item in items:
        if item.repo not in repositories:
            repositories[item.repo] = list_repository(item.repo, notice)
            check_access(repositories[item.repo])
        repository = repositories[item.repo]
        looked_into = partial(is_head, repository=repository, cache=cache)
        names = pick([file.name for file in repository.files], item, looked_into)
        files += [file for file in repository.files if file.name in names and file not in files]
        if with_head:
            head = head_for(names, repository, cache, notice)
            files += [head.file] if head is not None else []
    return DownloadPlan(
        wanted=wanted,
        repositories=tuple(repositories.values()),
        files=tuple(files),
        cache=cache,
        missing_bytes=check_room(files, cache),
        free_bytes=free_bytes(cache),
        head=head,
    )
