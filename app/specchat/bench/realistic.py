"""A pair with realistic costs, made from the built-in model, so that figures can be reproduced.

The target is the built-in model in 16-bit floats with every layer four times, of which three add
nothing: the same function at four times the cost. The draft is the same model, requantised to
4 bits: a draft that is often right, and a target that is worth drafting for.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

from specchat.bench.problems import PairNotBuilt
from specchat.hub.builtin import built_in_model
from specchat.paths import cache_folder

REPEAT = 4
BUILDER = (sys.executable, "-m", "specchat.bench.realistic_build")
NEEDED_BYTES = 1_200_000_000
"""The target has 1.0 GB, the draft 0.1 GB."""
TARGET, DRAFT = "smollm2-135m-x4-f16.gguf", "smollm2-135m-q4_0.gguf"
TRIED = "Tried to build the realistic pair."


class RealisticPair(NamedTuple):
    """Where the two files are."""

    target: Path
    draft: Path


def realistic_pair(progress: Callable[[str], None]) -> RealisticPair:
    """The pair in the cache folder; it is built when it is not there.

    A process of its own builds it, because llama.cpp's quantiser has to be loaded for it. Both
    files get their names when they are complete.

    Raises:
        NoModel: the built-in model is not installed.
        PairNotBuilt: the disk is too small, or the building failed.
    """
    folder = cache_folder() / "realistic-pair"
    folder.mkdir(exist_ok=True)
    pair = RealisticPair(folder / TARGET, folder / DRAFT)
    missing = [path for path in pair if not path.is_file()]
    if missing:
        source = built_in_model()
        _remove_unfinished(folder)
        _require_space(folder)
        for path in missing:
            progress(f"building {path.name}, once")
            _build(source, path)
    return pair


def _build(source: Path, path: Path) -> None:
    unfinished = path.with_suffix(f".part-{os.getpid()}")
    kind = "target" if path.name == TARGET else "draft"
    command = [*BUILDER, kind, str(source), str(unfinished)]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
        )
        if result.returncode != 0:
            lines = result.stderr.strip().splitlines()
            raise PairNotBuilt(
                TRIED,
                f"{path.name} failed: {lines[-1].rstrip('.') if lines else 'no reason was given'}.",
                "Free some memory or disk space and run it again.",
            )
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _require_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        raise PairNotBuilt(
            TRIED,
            f"It needs {NEEDED_BYTES / 1e9:.1f} GB on the disk of {folder}, where "
            f"{free / 1e9:.1f} GB are free.",
            "Free some space, or let SPECCHAT_HOME name a folder on a larger disk.",
        )


def _remove_unfinished(folder: Path) -> None:
    """What builders left behind that were killed."""
    for path in folder.glob("*.part-*"):
        number = re.search(r"\d+$", path.name)
        if number is None or not psutil.pid_exists(int(number[0])):
            path.unlink(missing_ok=True)
