"""Headers that were read before, in the cache folder: a large vocabulary takes a while to parse."""

import contextlib
import hashlib
from pathlib import Path

import msgspec

from specchat.pairing.gguf_header import Header, read_header
from specchat.pairing.header_source import Source
from specchat.paths import cache_folder, write_whole

LAYOUT = 1
"""Raised whenever `Header` changes: what an older specchat wrote is then read anew."""
WORTH_KEEPING = 1 << 18
"""Bytes of a header; a smaller one is read again just as fast."""
MAX_CACHE_BYTES = 1 << 28


class Entry(msgspec.Struct, frozen=True):
    """One file of the cache."""

    layout: int
    identity: str
    size: int
    header: Header


def cached_header(source: Source) -> Header:
    """The header, from the cache if the file has the same place, size and time as then.

    Raises:
        SpecchatError: as `read_header` does.
    """
    if source.identity is None:
        return read_header(source)
    path = _place(source.identity)
    header = _kept(path, source)
    if header is None:
        header = read_header(source)
        if header.header_bytes >= WORTH_KEEPING:
            # A full disk or a folder that may not be written only costs time.
            with contextlib.suppress(OSError):
                _keep(path, Entry(LAYOUT, source.identity, source.size, header))
    return header


def _place(identity: str) -> Path:
    name = hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:32]
    return cache_folder() / "headers" / f"{name}.msgpack"


def _kept(path: Path, source: Source) -> Header | None:
    try:
        entry = msgspec.msgpack.decode(path.read_bytes(), type=Entry)
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return None
    known = (entry.layout, entry.identity, entry.size)
    return entry.header if known == (LAYOUT, source.identity, source.size) else None


def _keep(path: Path, entry: Entry) -> None:
    path.parent.mkdir(exist_ok=True)
    data = msgspec.msgpack.encode(entry)
    _make_room(path.parent, len(data))
    write_whole(path, data)


def _make_room(folder: Path, wanted: int) -> None:
    """Delete the oldest entries until this many bytes more are within bounds."""
    files = sorted(((file.stat().st_mtime, file) for file in folder.iterdir()), reverse=True)
    used = wanted
    for _, file in files:
        used += file.stat().st_size
        if used > MAX_CACHE_BYTES:
            file.unlink(missing_ok=True)
