"""A smaller copy of a model, by llama.cpp's own quantiser."""

import os
from pathlib import Path

from specchat.errors import DecodeFailed
from specchat.llama.library import Library

Q4_0 = 2
"""`LLAMA_FTYPE_MOSTLY_Q4_0` (llama.h): 4.5 bits a weight."""


def requantise(library: Library, source: Path, destination: Path, *, file_type: int = Q4_0) -> Path:
    """Write a copy with weights of another type; the source may be quantised itself.

    Args:
        file_type: `enum llama_ftype` (llama.h).

    Raises:
        DecodeFailed: llama.cpp refused the source or could not write the copy.
    """
    api = library.api
    params = api.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize = file_type, True
    params.nthread = os.cpu_count() or 1
    mark = library.log.mark()
    code = api.llama_model_quantize(str(source).encode(), str(destination).encode(), params)
    if code != 0:
        lines = library.log.errors(mark)
        detail = lines[-1].split(": ", 1)[-1].rstrip(".") if lines else f"code {code}"
        raise DecodeFailed(
            f"Tried to requantise {source.name}.",
            f"llama.cpp failed: {detail}.",
            "Check that the disk has room and that the file is a whole model.",
        )
    return destination
