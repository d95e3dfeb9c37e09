"""What stepping back costs on targets that keep a state: docs/hybrid.md has the figures.

PYTHONPATH=tests .venv/bin/python tests/benchmarks/step_back_cost.py

Of random models, tiny ones and two with states as large as those of models in use: marking, coming
back, copying a state to main memory and from there, and what a plain decode call takes more where
snapshots are kept. The best of several, after a first one that is not counted.
"""

import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from specchat.llama.context import Context, Outputs
from specchat.llama.library import AbortFlag, open_library
from specchat.llama.model import Model
from support.hybrid_models import HYBRIDS, WITH_SNAPSHOTS
from support.memory_recipes import recipe
from support.tiny_models import Recipe, write_random

REPEATED = 8
CALLS, TURNS = 10, 6
GUESSES = 4
SNAPSHOTS = 8
MB = 1e6

LARGE: dict[str, Recipe] = {
    "mamba2, large": recipe(
        "mamba2",
        n_layer=16,
        n_embd=256,
        heads=(0, 0),
        n_ff=0,
        ssm__conv_kernel=4,
        ssm__inner_size=8192,
        ssm__state_size=256,
        ssm__time_step_rank=128,
        ssm__group_count=2,
    ),
    "qwen35, large": recipe(
        "qwen35",
        n_layer=24,
        n_embd=256,
        heads=(4, 2),
        n_ff=512,
        head_length=64,
        ssm__conv_kernel=4,
        ssm__inner_size=4096,
        ssm__state_size=128,
        ssm__time_step_rank=32,
        ssm__group_count=16,
        full_attention_interval=4,
        rope__dimension_sections=[8, 8, 8, 8],
    ),
}


class Case(NamedTuple):
    """A model, and the tokens in its context."""

    model: str
    recipe: Recipe
    lengths: tuple[int, ...]


TINY = ("mamba", "falcon-h1", "qwen35")
CASES = (
    *(Case(name, HYBRIDS[name], (64,) if name == "mamba" else (1024, 8192)) for name in TINY),
    *(Case(name, each, (64,)) for name, each in LARGE.items()),
)


def context_of(model: Model, n_ctx: int, n_snapshots: int = SNAPSHOTS) -> Context:
    """A context for one thread: what is measured are copies."""
    return Context(
        model,
        n_ctx=n_ctx,
        n_outputs=1 + SNAPSHOTS,
        abort=AbortFlag(model.library),
        n_threads=1,
        n_snapshots=n_snapshots,
    )


def best_s(measured: Iterator[float]) -> float:
    """The shortest of several times in seconds, without the first."""
    return min(islice(measured, 1, 1 + REPEATED))


def timed(call: Callable[[], object]) -> float:
    """Seconds."""
    started = perf_counter()
    call()
    return perf_counter() - started


def going_back(context: Context, mark_s: list[float]) -> Iterator[float]:
    """Rounds of a draft that is refused: marked, tested, taken back to before its first guess."""
    while True:
        marked = len(context.tokens)
        mark_s.append(timed(context.mark))
        context.decode([5] * (1 + GUESSES), Outputs.ALL)
        started = perf_counter()
        left = context.rollback(marked + 1)
        yield perf_counter() - started
        assert left == marked + (context.memory.kind == "snapshots")
        context.decode([5], Outputs.LAST)  # the state moves on, so that the next mark is a new one


def saving(context: Context) -> Iterator[float]:
    """A state copied to main memory, one token after the other."""
    while True:
        context.decode([5], Outputs.LAST)
        before = context.memory.copy_s
        context.save()
        yield context.memory.copy_s - before


def loading(context: Context) -> Iterator[float]:
    """The saved state copied back, after so many tokens that nothing is nearer."""
    saved = context.memory.checkpoints[-1]
    while True:
        context.decode([5], Outputs.LAST)
        context.decode([5] * (1 + GUESSES), Outputs.ALL)
        before = context.memory.copy_s
        assert context.rollback(saved) == saved
        yield context.memory.copy_s - before


def plain_calls(context: Context) -> Iterator[float]:
    """Calls of one token."""
    while True:
        yield timed(lambda: context.decode([5], Outputs.LAST))


def step_back(case: Case, model: Model) -> None:
    """A line for each length of the context."""
    for length in case.lengths:
        context = context_of(model, length + 1024)
        for _ in context.prefill([5] * length):
            pass
        mark_s: list[float] = []
        back_s = best_s(going_back(context, mark_s))
        save_s = best_s(saving(context))
        load_s = best_s(loading(context))
        size = context.memory.saved_bytes / len(context.memory.checkpoints) / MB
        print(
            f"{case.model:<15}{context.memory.kind:<12}{size:>9.2f}{length:>9,}"
            f"{min(mark_s[1:]) * 1e6:>9.1f}{back_s * 1e6:>9.1f}"
            f"{save_s * 1e6:>10.0f}{save_s * 1e3 / size:>8.2f}"
            f"{load_s * 1e6:>10.0f}{load_s * 1e3 / size:>8.2f}",
            flush=True,
        )
        context.close()


def snapshots(case: Case, model: Model) -> None:
    """Plain decoding with and without them, by turns."""
    contexts = [context_of(model, 1024, asked) for asked in (0, SNAPSHOTS)]
    best = [float("inf")] * len(contexts)
    for _ in range(TURNS):
        for place, context in enumerate(contexts):
            context.rollback(0)
            best[place] = min(best[place], *islice(plain_calls(context), CALLS))
    without, having = (seconds * 1e6 for seconds in best)
    print(
        f"{case.model:<15}{without:>12.0f}{having:>12.0f}{having / without - 1:>10.1%}", flush=True
    )
    for context in contexts:
        context.close()


def main() -> None:
    """Print a line for each model and length of the context."""
    library = open_library()
    print(
        f"{'':<15}{'':<12}{'state MB':>9}{'context':>9}{'mark us':>9}{'back us':>9}"
        f"{'save us':>10}{'ms/MB':>8}{'load us':>10}{'ms/MB':>8}"
    )
    with tempfile.TemporaryDirectory() as folder:
        models = [
            Model(library, write_random(library, Path(folder, f"{number}.gguf"), case.recipe))
            for number, case in enumerate(CASES)
        ]
        for case, model in zip(CASES, models, strict=True):
            step_back(case, model)
        print(f"\n{'us a token, K=0':<15}{'without':>12}{'8 snapshots':>12}{'price':>10}")
        for case, model in zip(CASES, models, strict=True):
            if case.recipe.architecture in WITH_SNAPSHOTS:
                snapshots(case, model)
        for model in models:
            model.close()


if __name__ == "__main__":
    main()
