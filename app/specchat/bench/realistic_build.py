"""Builds one file of the realistic pair: `python -m specchat.bench.realistic_build`.

It runs in a process of its own, and is the one part of the bench that knows llama.cpp.
"""

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, dequantize

from specchat.bench.realistic import REPEAT
from specchat.errors import SpecchatError
from specchat.llama.library import open_library
from specchat.llama.quantize import requantise

F16_FILE_TYPE = 1
"""`LLAMA_FTYPE_MOSTLY_F16`."""
WRITTEN_BY_THE_WRITER = (
    "general.architecture",
    "general.file_type",
    "general.quantization_version",
)
ADDS_TO_THE_STATE = ("attn_output.weight", "ffn_down.weight")
"""The last matrix of each half of a layer: with zeros there the layer passes its input on."""

Weights = npt.NDArray[np.float32]


def deepen(source: Path, destination: Path, repeat: int) -> None:
    """Write a 16-bit copy of a llama model with every layer `repeat` times, the same function.

    Of the copies of a layer only the first adds anything to the state that passes through.
    """
    reader = GGUFReader(source)
    architecture = str(reader.fields["general.architecture"].contents())
    writer = GGUFWriter(destination, architecture)
    _copy_metadata(reader, writer, architecture, repeat)
    for tensor in reader.tensors:
        shape = tuple(int(size) for size in reversed(tensor.shape))
        weights = dequantize(tensor.data, tensor.tensor_type).reshape(shape).astype(np.float32)
        _add(writer, tensor.name, weights, repeat)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _copy_metadata(reader: GGUFReader, writer: GGUFWriter, architecture: str, repeat: int) -> None:
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key in WRITTEN_BY_THE_WRITER:
            continue
        value = field.contents()
        if key == f"{architecture}.block_count":
            value = int(value) * repeat
        if field.types[0] == GGUFValueType.ARRAY:
            writer.add_array(key, value)
        else:
            writer.add_key_value(key, value, field.types[0])
    writer.add_file_type(F16_FILE_TYPE)


def _add(writer: GGUFWriter, name: str, weights: Weights, repeat: int) -> None:
    """The tensor, or its copies where it is part of a layer."""
    if weights.ndim == 1:  # llama.cpp wants norms in 32 bits
        data, kind = weights, GGMLQuantizationType.F32
    else:
        data, kind = weights.astype(np.float16), GGMLQuantizationType.F16
    if not name.startswith("blk."):
        writer.add_tensor(name, data, raw_dtype=kind)
        return
    _, layer, part = name.split(".", 2)
    silent = np.zeros_like(data) if part in ADDS_TO_THE_STATE else data
    for copy in range(repeat):
        number = int(layer) * repeat + copy
        writer.add_tensor(f"blk.{number}.{part}", silent if copy else data, raw_dtype=kind)


def main(kind: str, source: str, destination: str) -> int:
    """Build the target or the draft; the exit code."""
    try:
        if kind == "target":
            deepen(Path(source), Path(destination), REPEAT)
        else:
            requantise(open_library(), Path(source), Path(destination))
    except SpecchatError as error:
        print(error.happened, file=sys.stderr)
        return error.exit_code
    except (OSError, MemoryError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
