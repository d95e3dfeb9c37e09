"""Where specchat keeps its own files. `SPECCHAT_HOME` puts all of them under one folder."""

import os
from pathlib import Path


def log_folder() -> Path:
    """The folder of the engine's logs; it is made when missing."""
    return _folder("log")


def data_folder() -> Path:
    """The folder of what is worth keeping; it is made when missing."""
    return _folder("data")


def config_folder() -> Path:
    """The folder of what a person sets up; it is made when missing."""
    return _folder("config")


def cache_folder() -> Path:
    """The folder of things that can be made again; it is made when missing."""
    return _folder("cache")


def write_whole(file: Path, data: bytes) -> None:
    """Put the bytes in place of the file at once: nobody reads half of them.

    Raises:
        OSError: the system refuses.
    """
    unfinished = file.with_name(f"{file.name}.{os.getpid()}")
    unfinished.write_bytes(data)
    unfinished.replace(file)


def _folder(kind: str) -> Path:
    home = os.environ.get("SPECCHAT_HOME")
    if home:
        folder = Path(home).expanduser() / kind
    else:
        from platformdirs import PlatformDirs

        folders = PlatformDirs("specchat", appauthor=False)
        folder = Path(
            {
                "log": folders.user_log_dir,
                "cache": folders.user_cache_dir,
                "config": folders.user_config_dir,
                "data": folders.user_data_dir,
            }[kind]
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder
