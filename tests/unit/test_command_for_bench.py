"""The command that measures what is loaded."""

import shlex

from specchat.cli import bench
from specchat.engine.protocol import Load, Pair, Plan
from specchat.tui.bench_command import bench_command


def test_it_names_the_files() -> None:
    load = Load(Pair("/models/big one.gguf", "small.gguf"))

    assert bench_command(load) == (
        "specchat bench --target '/models/big one.gguf' --draft small.gguf"
    )
    assert bench_command(Load(Pair("a.gguf"))) == "specchat bench --target a.gguf"


def test_it_is_a_command_that_specchat_understands() -> None:
    plan = Plan(
        n_ctx=4096,
        n_threads=3,
        n_gpu_layers=12,
        rpc=("host:50052",),
        cache_type="q8_0",
        draft_cache_type="q4_0",
        experts_in_ram=True,
    )
    words = shlex.split(bench_command(Load(Pair("a.gguf", "b.gguf"), plan)))

    context = bench.make_context("bench", words[2:])
    expected = {
        "target": "a.gguf",
        "draft": "b.gguf",
        "ctx": 4096,
        "threads": 3,
        "gpu_layers": 12,
        "rpc": ("host:50052",),
        "cache_type": "q8_0",
        "draft_cache_type": "q4_0",
        "experts_in_ram": True,
    }
    assert {name: context.params[name] for name in expected} == expected
