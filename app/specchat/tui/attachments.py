"""Text files that go along with a message: read, measured, and put into it.

A file is read when it is attached, so that what was measured is what is sent.
"""

import os
import re
import shlex
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from specchat.errors import SpecchatError
from specchat.hub.wording import size_text
from specchat.tui.wording import visible

MAX_BYTES = 1_000_000
BYTES_A_TOKEN = 4
"""About, for Latin text."""
LONGEST_PASTED_PATHS = 4096
"""A longer text is not looked at for paths."""
MOST_PASTED_PATHS = 20

FENCE_RUN = re.compile("`{3,}")
LANGUAGE = re.compile(r"[A-Za-z0-9+#-]{1,12}")
TEXT_CONTROLS = frozenset(b"\t\n\f\r\x1b\b")
"""Control characters that texts have, with those of coloured logs."""


class NotAttached(SpecchatError):
    """A file that cannot go along with a message."""

    kind: ClassVar[str] = "not_attached"
    title: ClassVar[str] = "That file cannot be attached"


@dataclass(frozen=True)
class Attachment:
    """A text file as it was when it was attached."""

    path: Path
    name: str
    """As the message calls it."""
    text: str
    n_bytes: int

    @property
    def about_tokens(self) -> int:
        """An estimate; only the model's own vocabulary would tell."""
        return max(1, round(self.n_bytes / BYTES_A_TOKEN))

    @property
    def measure(self) -> str:
        """Its size in words."""
        return f"{size_text(self.n_bytes)}, {tokens_text(self.about_tokens)}"


def read_attachment(path: str, here: Path | None = None) -> Attachment:
    """Read a text file.

    Args:
        path: as a person writes it; `~` is the home folder.
        here: what it is relative to; the current folder.

    Raises:
        NotAttached: it is missing, a folder, no text, too large or not readable.
    """
    here = here or Path.cwd()
    tried = f"Tried to attach {visible(path)}."
    try:
        full = here / Path(path).expanduser()
        state = full.stat()
        if stat.S_ISDIR(state.st_mode):
            raise NotAttached(tried, "It is a folder.", "Attach the files in it that matter.")
        if not stat.S_ISREG(state.st_mode):
            raise NotAttached(tried, "It is no plain file.", "Copy what matters into a file.")
        with full.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise NotAttached(tried, f"{reason}.", "Look at its name, and who may read it.") from error
    if len(content) > MAX_BYTES:
        size = size_text(max(state.st_size, len(content)))
        raise NotAttached(
            tried,
            f"It has {size}; {size_text(MAX_BYTES)} is the most.",
            "Cut out the part that matters.",
        )
    return Attachment(full, name_of(full, here), _text_of(content, tried), len(content))


def name_of(path: Path, here: Path) -> str:
    """What a file is called in the message: from here, from home, or by its whole path."""
    for folder, before in ((here, ""), (Path.home(), "~/")):
        try:
            return before + path.relative_to(folder).as_posix()
        except ValueError:
            continue
    return path.as_posix()


def fenced(name: str, text: str) -> str:
    """The file as a code block with its name above it; no fence in the file closes it."""
    longest = max(map(len, FENCE_RUN.findall(text)), default=2)
    fence = "`" * (longest + 1)
    suffix = Path(name).suffix[1:]
    language = suffix if LANGUAGE.fullmatch(suffix) else ""
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{_one_line(name)}:\n\n{fence}{language}\n{text}{end}{fence}"


def message_of(text: str, attachments: Iterable[Attachment]) -> str:
    """The whole message: the files, then what was written about them."""
    parts = [fenced(attachment.name, attachment.text) for attachment in attachments]
    return "\n\n".join([*parts, text] if text else parts)


def tokens_text(count: int) -> str:
    """Such as `about 3,100 tokens`: no more exact than the estimate."""
    if count >= 100:
        digits = len(str(count)) - 2
        count = round(count, -digits)
    return f"about {count:,} token{'' if count == 1 else 's'}"


def pasted_paths(text: str, here: Path | None = None) -> Sequence[str]:
    """The files that a pasted text names, if it is nothing but paths of files that exist.

    Terminals paste the paths of files that are dropped on them: in quotes, with backslashes, as
    addresses, or bare, one after the other.
    """
    if len(text) > LONGEST_PASTED_PATHS or not text.strip():
        return ()
    here = here or Path.cwd()
    whole = _path_in(text.strip().strip("'\""))
    if _is_file(whole, here):
        return (whole,)
    try:
        words = shlex.split(text, posix=os.name != "nt")
    except ValueError:
        return ()
    paths = [_path_in(word.strip("'\"")) for word in words[: MOST_PASTED_PATHS + 1]]
    if len(paths) > MOST_PASTED_PATHS or not all(_is_file(path, here) for path in paths):
        return ()
    return tuple(paths)


def _is_file(path: str, here: Path) -> bool:
    """A lone word is no path, whatever the folder has."""
    if "\n" in path or not ("/" in path or os.sep in path):
        return False
    try:
        return (here / Path(path).expanduser()).is_file()
    except (OSError, ValueError, RuntimeError):
        return False


def _path_in(word: str) -> str:
    if not word.startswith("file://"):
        return word
    try:
        return unquote(urlsplit(word).path)
    except ValueError:
        return word


def _text_of(content: bytes, tried: str) -> str:
    """Text with newlines of one kind.

    Raises:
        NotAttached: it is none.
    """
    encoding = "utf-8-sig"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif 0 in content:
        raise NotAttached(tried, "It is a binary file.", "Only text can be attached.")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotAttached(
            tried, "It is not text in UTF-8.", "Save it as UTF-8, if it is text."
        ) from error
    if _is_binary(content) and encoding == "utf-8-sig":
        raise NotAttached(tried, "It is a binary file.", "Only text can be attached.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_binary(content: bytes) -> bool:
    """Control characters that no text has, and more than a few of them."""
    odd = sum(1 for byte in content[:4096] if byte < 0x20 and byte not in TEXT_CONTROLS)
    return odd > len(content[:4096]) // 50


def _one_line(name: str) -> str:
    return visible(name).replace("\n", " ")
