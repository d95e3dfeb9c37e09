"""llama.cpp's own account of the memory it would take, without taking it."""

import ctypes
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from specchat.llama.context import GPU_BATCH
from specchat.llama.library import Library, open_library
from specchat.llama.rpc import add_servers
from specchat.pairing.memory_estimate import CacheType

BREAKDOWN = "_Z26llama_get_memory_breakdownPK13llama_context"
"""`llama_get_memory_breakdown` (src/llama-ext.h) as GCC and Clang on Linux name it."""
LOAD_MODE_NONE = 0
TYPES: dict[CacheType, int] = {"f16": 1, "q4_0": 2, "q8_0": 8}
"""`enum ggml_type` (ggml.h)."""


class _Map(ctypes.Structure):
    """A `std::map` of libstdc++."""

    _fields_ = (
        ("compare", ctypes.c_size_t),
        ("colour", ctypes.c_size_t),
        ("root", ctypes.c_void_p),
        ("leftmost", ctypes.c_void_p),
        ("rightmost", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
    )


@dataclass(frozen=True)
class Taken:
    """Bytes on one device."""

    weights: int
    kv: int
    compute: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.weights + self.kv + self.compute


def can_tell(library: Library) -> bool:
    """Whether this build's account can be read from Python."""
    return hasattr(library.api._lib, BREAKDOWN)


class NativeModel:
    """A model that llama.cpp has laid out but not loaded. Use it in a `with` statement."""

    def __init__(self, library: Library, path: Path, *, n_gpu_layers: int = -1) -> None:
        self._library = library
        params = library.api.llama_model_default_params()
        params.no_alloc = True
        params.load_mode = LOAD_MODE_NONE
        params.n_gpu_layers = n_gpu_layers
        mark = library.log.mark()
        self._model = library.api.llama_model_load_from_file(str(path).encode(), params)
        assert self._model, library.log.errors(mark)

    def __enter__(self) -> "NativeModel":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._library.api.llama_model_free(self._model)

    def taken(
        self,
        *,
        n_ctx: int,
        batch: tuple[int, int],
        n_outputs: int,
        cache_type: CacheType = "f16",
        whole_window_cache: bool = True,
        n_snapshots: int = 0,
    ) -> dict[str, Taken]:
        """What a context would take with its model, by device.

        Args:
            batch: tokens to a decode call, and to a micro-batch.
        """
        api = self._library.api
        params = api.llama_context_default_params()
        params.n_ctx = n_ctx
        params.n_batch, params.n_ubatch = batch
        params.n_outputs_max = n_outputs
        params.type_k = params.type_v = TYPES[cache_type]
        params.swa_full = whole_window_cache
        params.n_rs_seq = n_snapshots
        mark = self._library.log.mark()
        context = api.llama_init_from_model(self._model, params)
        has_state = api.llama_model_is_recurrent(self._model) or api.llama_model_is_hybrid(
            self._model
        )
        if has_state and not api.llama_n_rs_seq(context):  # as the engine's contexts then are
            api.llama_free(context)
            params.n_seq_max, params.kv_unified = 2, True
            context = api.llama_init_from_model(self._model, params)
        assert context, self._library.log.errors(mark)
        found = breakdown(self._library, context)
        api.llama_free(context)
        return by_device(found)


def taken_by(library: Library, context: Any) -> Taken:
    """What a context and its model take of main memory."""
    return by_device(breakdown(library, context))["CPU"]


def by_device(found: dict[str, tuple[int, int, int]]) -> dict[str, Taken]:
    """What several buffers of a device take together."""
    devices: dict[str, Taken] = {}
    for buffer, numbers in found.items():
        # CPU_REPACK is main memory too.
        device = "CPU" if buffer.startswith("CPU") else buffer
        old = devices.get(device, Taken(0, 0, 0))
        devices[device] = Taken(
            old.weights + numbers[0], old.kv + numbers[1], old.compute + numbers[2]
        )
    return devices


def breakdown(library: Library, context: Any) -> dict[str, tuple[int, int, int]]:
    """Bytes of weights, of caches and for computing, by the name of the buffer."""
    name = library.function("ggml_backend_buft_name", ctypes.c_char_p, ctypes.c_void_p)
    tell = library.function(BREAKDOWN, _Map, ctypes.c_void_p)
    found: dict[str, tuple[int, int, int]] = {}

    def walk(node: int | None) -> None:
        if node:
            # colour, parent, left, right, key, and the three numbers
            _, _, left, right, key, *numbers = (ctypes.c_size_t * 8).from_address(node)
            walk(left)
            found[name(key).decode()] = (numbers[0], numbers[1], numbers[2])
            walk(right)

    walk(tell(context).root)
    return found


def main(path: str, layers: str, n_ctx: str, *servers: str) -> None:
    """Print what each device would hold with so many layers on the servers, as JSON."""
    library = open_library()
    add_servers(library, servers)
    answers = []
    for n_gpu_layers in layers.split(","):
        with NativeModel(library, Path(path), n_gpu_layers=int(n_gpu_layers)) as model:
            answers.append(model.taken(n_ctx=int(n_ctx), batch=GPU_BATCH, n_outputs=17))
    print(msgspec.json.encode(answers).decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
