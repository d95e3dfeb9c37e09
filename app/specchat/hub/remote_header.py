"""Headers of models on the Hub, through range requests: a few megabytes instead of gigabytes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from specchat.errors import ModelNotFound
from specchat.hub.library import headers
from specchat.pairing.gguf_file import GgufFile, read_gguf, read_parts

ADDRESS = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+):(?P<file>.+)")


def is_address(name: str) -> bool:
    """Whether this could be `owner/repo:file`."""
    return ADDRESS.fullmatch(name) is not None


def read_remote(address: str) -> GgufFile:
    """The header of `owner/repo:file`; from the Hub's cache on this disk if it is there.

    Raises:
        ModelNotFound: it is not there, not open to this person, or the Hub cannot be reached.
        NotAModel: no GGUF, or damaged.
        UnsupportedModel: a form of GGUF that llama.cpp does not read.
    """
    from huggingface_hub import try_to_load_from_cache

    repo, file = _split(address)
    with _in_words(address):
        here = try_to_load_from_cache(repo, file)
    return read_gguf(here) if isinstance(here, str) else read_parts(address, remote_file)


@dataclass(frozen=True)
class RemoteFile:
    """A file on the Hub."""

    name: str
    size: int
    identity: str | None
    url: str

    def read(self, offset: int, length: int) -> bytes:
        """These bytes, or fewer at the end."""
        from huggingface_hub import constants, get_session, hf_raise_for_status

        wanted = f"bytes={offset}-{offset + length - 1}"
        asked = headers() | {"Range": wanted, "Accept-Encoding": "identity"}
        data = bytearray()
        with (
            _in_words(self.name),
            get_session().stream(
                "GET", self.url, headers=asked, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT
            ) as response,
        ):
            hf_raise_for_status(response)
            if response.status_code != 206:
                raise _problem(
                    self.name,
                    "The server does not send parts of a file.",
                    "Download the model, and name the file on this disk.",
                )
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) >= length:
                    break
        return bytes(data[:length])


@contextmanager
def remote_file(name: str) -> Iterator[RemoteFile]:
    """A file on the Hub: its size and its checksum are asked for, nothing else yet.

    Raises:
        ModelNotFound: it is not there, not open to this person, or the Hub cannot be reached.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    from specchat import __version__

    repo, file = _split(name)
    url = hf_hub_url(repo, file)
    with _in_words(name):
        facts = get_hf_file_metadata(url, library_name="specchat", library_version=__version__)
    if facts.size is None:
        raise _problem(name, "The server does not say how large it is.", "Download the model.")
    version = facts.etag or facts.commit_hash
    yield RemoteFile(name, facts.size, f"{url} {version}" if version else None, url)


def _split(address: str) -> tuple[str, str]:
    match = ADDRESS.fullmatch(address)
    if match is None or not match["file"].endswith(".gguf"):
        raise _problem(address, "That names no file.", "Name one as owner/repository:file.gguf.")
    return match["repo"], match["file"]


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    """Say what the Hub or the network refused."""
    from huggingface_hub import constants
    from huggingface_hub import errors as hub

    page = f"{constants.ENDPOINT}/{name.partition(':')[0]}"
    # httpx in huggingface-hub 1, httpx2 in 2: the class is only reached through its own.
    network_error: Any = hub.HfHubHTTPError.__bases__[0]
    try:
        yield
    except hub.OfflineModeIsEnabled as error:
        raise _problem(
            name,
            "HF_HUB_OFFLINE is set, and the file is not on this disk.",
            "Unset HF_HUB_OFFLINE, or name a file on this disk.",
        ) from error
    except hub.GatedRepoError as error:
        raise _problem(
            name,
            "Its repository is open only to those who have accepted its terms.",
            f"Accept them at {page}, then run: hf auth login",
        ) from error
    except (hub.RepositoryNotFoundError, hub.HFValidationError) as error:
        raise _problem(
            name,
            "There is no such repository, or it is private.",
            "Check the name for a typing error; for a private one run: hf auth login",
        ) from error
    except hub.EntryNotFoundError as error:
        raise _problem(
            name, "The repository has no such file.", f"Its files are at {page}/tree/main"
        ) from error
    except hub.HfHubHTTPError as error:
        raise _problem(
            name,
            f"The Hub answered with status {error.response.status_code}.",
            "Try again in a while.",
        ) from error
    except (network_error, OSError) as error:
        raise _problem(
            name,
            f"The Hub cannot be reached at {constants.ENDPOINT}.",
            "Check the connection, or name a file on this disk.",
        ) from error


def _problem(name: str, happened: str, next_step: str) -> ModelNotFound:
    return ModelNotFound(f"Tried to read '{name}' on the Hub.", happened, next_step)
