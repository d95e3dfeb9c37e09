"""The command that measures what is loaded."""

import shlex

from specchat.engine.protocol import Load


def bench_command(load: Load) -> str:
    """Such as `specchat bench --target big.gguf --draft small.gguf`, to be pasted into a shell."""
    plan = load.plan
    words = ["specchat", "bench", "--target", load.pair.target]
    if load.pair.draft:
        words += ["--draft", load.pair.draft]
    if plan.n_ctx is not None:
        words += ["--ctx", str(plan.n_ctx)]
    if plan.n_threads is not None:
        words += ["--threads", str(plan.n_threads)]
    if plan.n_gpu_layers != -1:
        words += ["--gpu-layers", str(plan.n_gpu_layers)]
    if plan.experts_in_ram:
        words.append("--experts-in-ram")
    for option, cache_type in (
        ("--cache-type", plan.cache_type),
        ("--draft-cache-type", plan.draft_cache_type),
    ):
        if cache_type != "f16":
            words += [option, cache_type]
    for address in plan.rpc:
        words += ["--rpc", address]
    return shlex.join(words)
