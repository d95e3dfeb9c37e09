"""Bring files from the Hub into Hugging Face's cache, whole and checked, or a sentence why not.

huggingface-hub gives us its session (proxy, offline mode, token), its locks and its layout. It
does not download for us: since 2026 it throws away what came when it is interrupted
(huggingface_hub#4196), and a file of 20 GB would start again from nothing.
"""

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import httpx2

from specchat.errors import DamagedDownload, DiskFull, SpecchatError
from specchat.hub.cache import CachePlace, has_size, sole_download
from specchat.hub.library import Patience, headers
from specchat.hub.listing import RemoteFile
from specchat.hub.naming import base_name
from specchat.hub.progress import Listener, Meter
from specchat.hub.pulled import remember
from specchat.hub.trouble import disk_trouble, hub_trouble
from specchat.hub.wording import size_text

if TYPE_CHECKING:
    from hashlib import _Hash as Digest

READ_BYTES = 1 << 20
SPARE_BYTES = 50_000_000
"""Left free on the disk, for the rest of the system."""


def check_room(files: Sequence[RemoteFile], cache: Path) -> int:
    """Bytes that are still to come.

    Raises:
        DiskFull: they do not fit.
    """
    places = [CachePlace(cache, file) for file in files]
    missing = sum(place.file.size_bytes - place.kept_bytes() for place in places)
    free = free_bytes(cache)
    if missing and missing + SPARE_BYTES > free:
        raise DiskFull(
            f"Tried to make room for {size_text(missing)}.",
            f"The disk of {cache} has {size_text(free)} free.",
            "Delete something (`specchat models` shows what takes room), take a smaller "
            "quantisation, or set HF_HOME to a folder on another disk.",
        )
    return missing


def free_bytes(folder: Path) -> int:
    """Free room where the folder is, or will be."""
    existing = next(
        path for path in (folder.absolute(), *folder.absolute().parents) if path.exists()
    )
    return shutil.disk_usage(existing).free


def download(
    files: Sequence[RemoteFile], cache: Path, listener: Listener, wanted: str
) -> list[Path]:
    """Bring all files, one after the other, and return their paths.

    Whatever stops it (an error, Ctrl+C, something that the listener raises), what came is kept,
    and the next call asks only for the rest.

    Args:
        wanted: what the person asked for, for the record of what is ours.

    Raises:
        SpecchatError: why a file cannot be had.
    """
    check_room(files, cache)
    meter = Meter(files, listener)
    places = [CachePlace(cache, file) for file in files]
    for place in places:
        _bring(place, meter, wanted)
    return [place.pointer for place in places]


def _bring(place: CachePlace, meter: Meter, wanted: str) -> None:
    from huggingface_hub.errors import OfflineModeIsEnabled

    if place.is_here():
        return
    meter.begin(place.file)
    name = base_name(place.file.name)
    tried = f"Tried to download {name} from {place.file.repo}."
    try:
        with sole_download(
            place,
            lambda: meter.notice(f"Another program is downloading {name}; waiting for it."),
        ):
            if not place.is_here():
                _fill(place, meter, tried, wanted)
    except SpecchatError:
        raise
    except (httpx2.HTTPError, OfflineModeIsEnabled) as error:
        raise hub_trouble(error, tried, place.file.repo) from error
    except OSError as error:
        raise disk_trouble(error, tried, place.folder) from error
    meter.complete()


def _fill(place: CachePlace, meter: Meter, tried: str, wanted: str) -> None:
    """Put the bytes and the name in place."""
    missing = not has_size(place.blob, place.file.size_bytes)
    if missing:
        remember(place, wanted, complete=False)
        place.partial.parent.mkdir(parents=True, exist_ok=True)
        try:
            _Transfer(place, meter, tried).run()
        except DamagedDownload:
            place.partial.unlink(missing_ok=True)
            raise
        place.partial.replace(place.blob)
    place.link()
    if missing:
        remember(place, wanted, complete=True)


class _Transfer:
    """One file on its way: the bytes go to `place.partial` and into the digest."""

    def __init__(self, place: CachePlace, meter: Meter, tried: str) -> None:
        self._place = place
        self._file = place.file
        self._meter = meter
        self._tried = tried
        self._patience = Patience(meter.wait, meter.notice, tried)
        self._offset = 0
        self._digest = new_digest(place.file)

    def run(self) -> None:
        """Until the file is whole and its checksum is the Hub's."""
        with self._open() as out:
            self._read_kept(out)
            while self._offset < self._file.size_bytes:
                self._patience.call(lambda: self._ask_for_rest(out))
            out.flush()
            os.fsync(out.fileno())
        if self._digest.hexdigest() != self._file.checksum:
            raise self._damaged("What came has another checksum than the Hub states for it.")

    def _open(self) -> IO[bytes]:
        """For appending where it was; the file is made when missing."""
        self._place.partial.touch()
        return self._place.partial.open("r+b")

    def _read_kept(self, out: IO[bytes]) -> None:
        size = os.fstat(out.fileno()).st_size
        if size > self._file.size_bytes:
            out.truncate(0)
        elif size:
            self._meter.restart("checking")
            while block := out.read(READ_BYTES):
                self._took(block)
        self._meter.goes_on()

    def _ask_for_rest(self, out: IO[bytes]) -> None:
        from huggingface_hub import constants, get_session, hf_hub_url, hf_raise_for_status

        asked = headers() | {"Accept-Encoding": "identity"}
        if self._offset:
            asked["Range"] = f"bytes={self._offset}-"
        url = hf_hub_url(self._file.repo, self._file.name, revision=self._file.commit)
        with get_session().stream(
            "GET", url, headers=asked, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT
        ) as response:
            hf_raise_for_status(response)
            if self._offset and not _goes_on_at(response, self._offset):
                self._start_over(out)
            for chunk in response.iter_raw():
                if self._offset + len(chunk) > self._file.size_bytes:
                    raise self._damaged("More came than the Hub states as its size.")
                out.write(chunk)
                self._took(chunk)
                self._patience.refresh()
        if self._offset < self._file.size_bytes:
            raise httpx2.RemoteProtocolError("the answer ended before the file did")

    def _took(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self._offset += len(chunk)
        self._meter.advance(len(chunk))

    def _start_over(self, out: IO[bytes]) -> None:
        """The server sends the file from its first byte, whatever was asked."""
        out.seek(0)
        out.truncate()
        self._offset = 0
        self._digest = new_digest(self._file)
        self._meter.restart("downloading")

    def _damaged(self, happened: str) -> DamagedDownload:
        return DamagedDownload(
            self._tried,
            f"{happened} It was damaged or changed on the way, and nothing of it is kept.",
            "Run the same command again. If it happens again, a proxy or the mirror in "
            "HF_ENDPOINT changes files.",
        )


def _goes_on_at(response: httpx2.Response, offset: int) -> bool:
    stated = response.headers.get("Content-Range", "")
    return response.status_code == 206 and stated.startswith(f"bytes {offset}-")


def new_digest(file: RemoteFile) -> "Digest":
    """What a checksum of the Hub is made with: SHA-256, or for a small file git's SHA-1."""
    if len(file.checksum) == 64:
        return hashlib.sha256()
    return hashlib.sha1(f"blob {file.size_bytes}\0".encode(), usedforsecurity=False)
