"""What goes wrong between us and the Hub, as sentences."""

import errno
from pathlib import Path

import httpx2

from specchat.errors import (
    AccessNeeded,
    CannotWrite,
    DiskFull,
    HubRefused,
    HubUnreachable,
    NotOnHub,
    SpecchatError,
)

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
LOG_IN = (
    "Make a token at {endpoint}/settings/tokens, then run `hf auth login` "
    "or set HF_TOKEN to the token."
)


def hub_trouble(error: Exception, tried: str, repo: str) -> SpecchatError:
    """The sentence for an error of huggingface-hub or of its HTTP client."""
    from huggingface_hub import errors

    page = f"{endpoint()}/{repo}"
    match error:
        case errors.OfflineModeIsEnabled():
            return HubUnreachable(
                tried,
                "HF_HUB_OFFLINE is set, so nothing is asked of the network.",
                "Unset it to download. `specchat models` lists what is on this disk already.",
            )
        case errors.GatedRepoError():
            return gated(tried, repo)
        case errors.RepositoryNotFoundError():
            return NotOnHub(
                tried,
                "The Hub has no repository of this name, or it is a private one.",
                f"Check the name at {page}. For a private one: "
                + LOG_IN.format(endpoint=endpoint()),
            )
        case errors.EntryNotFoundError() | errors.RevisionNotFoundError():
            return NotOnHub(
                tried,
                "The file is not there any more.",
                f"See what the repository has now at {page}/tree/main, and run the command again.",
            )
        case errors.HfHubHTTPError():
            return _answered(error.response, tried, page)
        case _:
            return _silent(error, tried)


def gated(tried: str, repo: str) -> AccessNeeded:
    """The owner wants conditions accepted first."""
    page = f"{endpoint()}/{repo}"
    return AccessNeeded(
        tried,
        "Its owner gives it only to people who have accepted the conditions.",
        f"Accept them at {page} while logged in. " + LOG_IN.format(endpoint=endpoint()),
    )


def disk_trouble(error: OSError, tried: str, folder: Path) -> SpecchatError:
    """The sentence for a failed write."""
    if error.errno in NO_ROOM:
        return DiskFull(
            tried,
            f"The disk of {folder} is full.",
            "What came is kept. Make room, or set HF_HOME to a folder on another disk, "
            "and run the same command again.",
        )
    if error.errno == errno.EFBIG:
        return DiskFull(
            tried,
            f"The disk of {folder} takes no file as large as this, or a limit is set "
            "(FAT32 ends at 4 GB; see also `ulimit -f`).",
            "Set HF_HOME to a folder on another disk and run the same command again.",
        )
    return CannotWrite(
        tried,
        f"{error.filename or folder} cannot be written: {error.strerror or error}.",
        "Mend the folder's permissions, or set HF_HOME to one that you may write to.",
    )


def endpoint() -> str:
    """The Hub's address: HF_ENDPOINT, else https://huggingface.co."""
    from huggingface_hub import constants

    return str(constants.ENDPOINT)


def _answered(response: httpx2.Response, tried: str, page: str) -> SpecchatError:
    status = response.status_code
    if status == 401:
        return AccessNeeded(
            tried,
            "The Hub does not accept the token (401)."
            if "authorization" in response.request.headers
            else "The Hub wants to know who asks (401).",
            LOG_IN.format(endpoint=endpoint()),
        )
    if status == 403:
        return AccessNeeded(
            tried,
            "The Hub says that this token may not have it (403).",
            f"Ask for access at {page}, or use a token that may read it: "
            + LOG_IN.format(endpoint=endpoint()),
        )
    if status == 404:
        return NotOnHub(
            tried, "The Hub has nothing at this address (404).", f"Check the name at {page}."
        )
    return HubRefused(
        tried,
        f"The Hub answered with error {status}.",
        "What came is kept. Run the same command again later; see https://status.huggingface.co.",
    )


def _silent(error: Exception, tried: str) -> SpecchatError:
    if isinstance(error, httpx2.TransportError):
        return HubUnreachable(
            tried,
            f"{endpoint()} does not answer: {error or type(error).__name__}.".replace("..", "."),
            "Check the network; behind a proxy set HTTPS_PROXY. What came is kept: "
            "run the same command again and it goes on.",
        )
    return HubRefused(
        tried,
        f"{endpoint()} gave an answer that makes no sense: {error}.",
        "Check HF_ENDPOINT and the proxy settings.",
    )
