"""The memory estimate against llama.cpp's own account of a load that takes nothing."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from specchat.llama.context import CPU_BATCH, GPU_BATCH
from specchat.llama.library import Library
from specchat.pairing.gguf_file import read_gguf
from specchat.pairing.machine import Device
from specchat.pairing.memory_estimate import CacheType, ContextSizes
from specchat.pairing.placement import PlacedModel, Use
from specchat.pairing.shape import MOST_SNAPSHOTS, ModelShape
from specchat.pairing.shape_header import shape_from_header
from support.memory_recipes import RECIPES
from support.native_memory import NativeModel, Taken, can_tell
from support.rpc_server import TESTS, running_rpc_server
from support.tiny_models import write_hollow

CONTEXTS = (2048, 8192, 32768)
N_OUTPUTS = 17
MOST_ERROR = 0.05
"""Of the whole."""
MOST_COMPUTE_ERROR = 0.2
"""Of the compute buffers alone, which are the only part that is fitted."""
MIB = 2**20


@pytest.fixture(autouse=True)
def needs_account(library: Library) -> None:
    if not can_tell(library):
        pytest.skip("llama.cpp's account can only be read on Linux, from a build with libstdc++")


@pytest.fixture(scope="module")
def table() -> Iterator[list[str]]:
    """Rows for docs/memory.md, printed at the end (pytest -s)."""
    rows = [
        "| model | micro-batch | weights | KV and states | compute | largest error of the whole |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    yield rows
    print("\n" + "\n".join(rows))


def estimate(shape: ModelShape, sizes: ContextSizes) -> Use:
    """Of a model in main memory as a whole."""
    [use] = PlacedModel(shape, (), sizes).spread(sizes.n_ctx, 0, [])
    return use


def compare(library: Library, path: Path, label: str, table: list[str]) -> None:
    """At every context length, as the engine makes contexts on a CPU and beside a GPU."""
    shape = shape_from_header(read_gguf(path))
    # It lists them twice, and maps both onto one place in the file.
    listed_twice = shape.shared_bytes if shape.architecture == "gemma4" else 0
    with NativeModel(library, path) as model:
        for batch in (CPU_BATCH, GPU_BATCH):
            pairs = []
            for n_ctx in CONTEXTS:
                [truth] = model.taken(
                    n_ctx=n_ctx, batch=batch, n_outputs=N_OUTPUTS, n_snapshots=MOST_SNAPSHOTS
                ).values()
                sizes = ContextSizes(
                    n_ctx=n_ctx,
                    n_ubatch=batch[1],
                    n_outputs=N_OUTPUTS,
                    n_snapshots=MOST_SNAPSHOTS,
                )
                use = estimate(shape, sizes)
                pairs.append((use._replace(weights=use.weights + listed_twice), truth))
            table.append(row(label, batch[1], pairs))
            for use, truth in pairs:
                assert use.weights == pytest.approx(truth.weights, rel=0.001)
                assert use.kv == truth.kv
                assert use.compute == pytest.approx(truth.compute, rel=MOST_COMPUTE_ERROR)
                assert sum(use) == pytest.approx(truth.total, rel=MOST_ERROR)


def row(label: str, n_ubatch: int, pairs: list[tuple[Use, Taken]]) -> str:
    """A line of the table, in MiB: ours where it is one number, else ours and llama.cpp's."""
    kv = " / ".join(f"{use.kv / MIB:.0f}" for use, _ in pairs)
    ours, theirs = (
        " / ".join(f"{one / MIB:.1f}" for one in numbers)
        for numbers in zip(*((use.compute, truth.compute) for use, truth in pairs), strict=True)
    )
    error = max((sum(use) / truth.total - 1 for use, truth in pairs), key=abs)
    cells = [
        label,
        str(n_ubatch),
        f"{pairs[0][0].weights / MIB:.1f}",
        kv,
        f"{ours} of {theirs}",
        f"{error:+.1%}",
    ]
    return "| " + " | ".join(cells) + " |"


@pytest.mark.parametrize("kind", RECIPES)
def test_the_estimate_is_what_llama_cpp_would_take(
    library: Library, tmp_path: Path, kind: str, table: list[str]
) -> None:
    path = write_hollow(library, tmp_path / "model.gguf", RECIPES[kind])
    compare(library, path, f"{kind} (`{RECIPES[kind].architecture}`)", table)


@pytest.mark.real_model
def test_the_estimate_of_smollm2_is_what_llama_cpp_would_take(
    library: Library, smollm2_path: Path, table: list[str]
) -> None:
    compare(library, smollm2_path, "SmolLM2 135M Q4_1", table)


@pytest.mark.real_model
def test_the_estimate_of_gemma3_is_what_llama_cpp_would_take(
    library: Library, gemma3_path: Path, table: list[str]
) -> None:
    compare(library, gemma3_path, "Gemma 3 270M Q4_K_M", table)


@pytest.mark.parametrize("cache_type", ["q8_0", "q4_0"])
def test_a_quantised_cache_is_estimated_to_the_byte(
    library: Library, tmp_path: Path, cache_type: CacheType
) -> None:
    path = write_hollow(library, tmp_path / "model.gguf", RECIPES["dense"])
    shape = shape_from_header(read_gguf(path))
    with NativeModel(library, path) as model:
        truth = model.taken(
            n_ctx=8192, batch=CPU_BATCH, n_outputs=N_OUTPUTS, cache_type=cache_type
        )["CPU"]
    sizes = ContextSizes(
        n_ctx=8192, n_ubatch=CPU_BATCH[1], n_outputs=N_OUTPUTS, cache_type=cache_type
    )
    assert estimate(shape, sizes).kv == truth.kv


@pytest.mark.parametrize("kind", [kind for kind in RECIPES if "sliding" in kind])
def test_a_cache_of_the_window_alone_is_estimated_to_the_byte(
    library: Library, tmp_path: Path, kind: str
) -> None:
    path = write_hollow(library, tmp_path / "model.gguf", RECIPES[kind])
    shape = shape_from_header(read_gguf(path))
    with NativeModel(library, path) as model:
        truth = model.taken(
            n_ctx=32768, batch=GPU_BATCH, n_outputs=N_OUTPUTS, whole_window_cache=False
        )["CPU"]
    sizes = ContextSizes(
        n_ctx=32768, n_ubatch=GPU_BATCH[1], n_outputs=N_OUTPUTS, whole_window_cache=False
    )
    use = estimate(shape, sizes)
    assert use.kv == truth.kv
    assert use.compute == pytest.approx(truth.compute, rel=MOST_COMPUTE_ERROR)


@pytest.mark.parametrize("kind", [kind for kind in RECIPES if "hybrid" in kind])
def test_snapshots_of_states_are_estimated_to_the_byte(
    library: Library, tmp_path: Path, kind: str
) -> None:
    path = write_hollow(library, tmp_path / "model.gguf", RECIPES[kind])
    shape = shape_from_header(read_gguf(path))
    with NativeModel(library, path) as model:
        truth = model.taken(n_ctx=2048, batch=CPU_BATCH, n_outputs=N_OUTPUTS, n_snapshots=8)["CPU"]
    sizes = ContextSizes(n_ctx=2048, n_ubatch=CPU_BATCH[1], n_outputs=N_OUTPUTS, n_snapshots=8)
    use = estimate(shape, sizes)
    assert use.kv == truth.kv
    assert sum(use) == pytest.approx(truth.total, rel=MOST_ERROR)


@pytest.mark.parametrize(
    ("kind", "n_servers"),
    [("dense", 1), ("sliding window, 5 of 6", 2), ("hybrid, delta net", 2)],
)
def test_layers_lie_where_llama_cpp_would_put_them(
    library: Library, tmp_path: Path, kind: str, n_servers: int
) -> None:
    """Two RPC servers with as much memory as each other stand for two cards."""
    if not library.supports_rpc:
        pytest.skip("this build of llama.cpp has no RPC: CMAKE_ARGS=-DGGML_RPC=on brings it")
    path = write_hollow(library, tmp_path / "model.gguf", RECIPES[kind])
    n_ctx, counts = 8192, (0, 3, 7, 13)
    with ExitStack() as servers:
        addresses = [servers.enter_context(running_rpc_server()).address for _ in range(n_servers)]
        layers = ",".join(str(count) for count in counts)
        command = ("-m", "support.native_memory", str(path), layers, str(n_ctx), *addresses)
        answer = subprocess.run(
            [sys.executable, *command], cwd=TESTS, capture_output=True, check=True, timeout=120
        ).stdout
    truths = msgspec.json.decode(answer, type=list[dict[str, Taken]])
    names = [f"RPC0[{address}]" for address in addresses]
    card = Device(name="", description="", kind="rpc", total_bytes=1, free_bytes=1)
    sizes = ContextSizes(n_ctx=n_ctx, n_ubatch=GPU_BATCH[1], n_outputs=N_OUTPUTS)
    model = PlacedModel(shape_from_header(read_gguf(path)), [card] * n_servers, sizes)
    for count, truth in zip(counts, truths, strict=True):
        uses = model.spread(n_ctx, count, [1] * n_servers)
        for name, use in zip([*names, "CPU"], uses, strict=True):
            assert use.weights == pytest.approx(truth[name].weights, rel=0.001, abs=1000)
            assert use.kv == truth[name].kv
            assert use.compute == pytest.approx(truth[name].compute, rel=0.35, abs=5 * MIB)
        assert sum(map(sum, uses)) == pytest.approx(
            sum(one.total for one in truth.values()), rel=MOST_ERROR
        )
