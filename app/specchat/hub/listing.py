"""What the Hub says about a repository: its files with their checksums, licence and gate."""

import re
from collections.abc import Callable
from pathlib import PurePosixPath, PureWindowsPath

import httpx2
import msgspec

from specchat.errors import HubRefused, NotOnHub
from specchat.hub.library import Patience, headers, prepare, rest
from specchat.hub.trouble import endpoint, gated, hub_trouble

CHECKSUM = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
COMMIT = re.compile(r"[0-9a-f]{40}")


class RemoteFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a repository, at one commit."""

    repo: str
    commit: str
    name: str
    size_bytes: int
    checksum: str
    """SHA-256 of a large file (64 digits); of a small one git's SHA-1 (40 digits)."""


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository as it is now."""

    repo: str
    commit: str
    files: tuple[RemoteFile, ...]
    licence: str | None
    gated: bool


def list_repository(
    repo: str, notice: Callable[[str], None], revision: str | None = None
) -> Repository:
    """Ask the Hub for a repository.

    Args:
        notice: tells a person why it takes longer.
        revision: a commit; None is the newest.

    Raises:
        NotOnHub, AccessNeeded, HubUnreachable, HubRefused: why there is no answer.
    """
    prepare()

    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import HFValidationError

    from specchat import __version__

    tried = f"Tried to ask the Hub for {repo}."
    api = HfApi(library_name="specchat", library_version=__version__)
    try:
        answer = Patience(rest, notice, tried, tries=1).call(
            lambda: api.model_info(
                repo,
                revision=revision,
                files_metadata=True,
                timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT,
            )
        )
        commit = answer.sha or ""
        files = tuple(
            RemoteFile(
                repo=repo,
                commit=commit,
                name=sibling.rfilename,
                size_bytes=sibling.lfs.size if sibling.lfs else sibling.size or 0,
                checksum=sibling.lfs.sha256 if sibling.lfs else sibling.blob_id or "",
            )
            for sibling in answer.siblings or ()
        )
    except HFValidationError:
        raise NotOnHub(
            tried, "That is no name of a repository.", "Names look like OWNER/NAME."
        ) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, KeyError, TypeError) as error:
        raise hub_trouble(error, tried, repo) from error
    if not COMMIT.fullmatch(commit):
        raise HubRefused(tried, "It names no commit.", "Check HF_ENDPOINT and the proxy settings.")
    return Repository(
        repo=repo,
        commit=commit,
        files=tuple(file for file in files if _safe(file)),
        licence=_licence(answer.card_data, answer.tags or []),
        gated=bool(answer.gated),
    )


def check_access(repository: Repository) -> None:
    """Of a gated repository: whether the person's token may read it. Else nothing is asked.

    Raises:
        AccessNeeded: there is no token, or its owner has not accepted the conditions.
        HubUnreachable, HubRefused: there is no answer.
    """
    from huggingface_hub import constants, get_session, get_token, hf_raise_for_status

    if not repository.gated:
        return
    tried = f"Tried to download from {repository.repo}."
    if get_token() is None:
        raise gated(tried, repository.repo)
    url = f"{endpoint()}/api/models/{repository.repo}/auth-check"
    try:
        answer = get_session().get(
            url, headers=headers(), timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT
        )
        hf_raise_for_status(answer)
    except httpx2.HTTPError as error:
        raise hub_trouble(error, tried, repository.repo) from error


def _safe(file: RemoteFile) -> bool:
    """Name and checksum become paths on this disk: they must not lead out of the cache."""
    path = PurePosixPath(file.name)
    return (
        CHECKSUM.fullmatch(file.checksum) is not None
        and file.size_bytes >= 0
        and not path.is_absolute()
        and not PureWindowsPath(file.name).drive
        and ".." not in path.parts
        and "\\" not in file.name
    )


def _licence(card: object, tags: list[str]) -> str | None:
    named = getattr(card, "license", None)
    if named == "other":
        named = getattr(card, "license_name", None) or named
    if isinstance(named, str):
        return named
    return next((tag[8:] for tag in tags if tag.startswith("license:")), None)
