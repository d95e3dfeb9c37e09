"""Comparing two texts that may part where two tokens tie to rounding."""

from collections.abc import Sequence

import numpy as np

from specchat.llama.context import Context, Outputs
from specchat.speculation.draws import CoupledDraws
from specchat.speculation.sampling import Sampler
from specchat.speculation.settings import SamplingSettings

ROUNDING = 1e-3
"""Logits of this model class carry about this much rounding between kernels of different width."""


def assert_same_greedy_text(
    target: Context, prompt: Sequence[int], plain: Sequence[int], drafted: Sequence[int]
) -> None:
    """Equal to the end, or parted at a near tie, which is then printed with its gap."""
    for index, (mine, theirs) in enumerate(zip(plain, drafted, strict=True)):
        if mine != theirs:
            before = [*prompt, *plain[:index]]
            assert_tied(target, before, mine, theirs, SamplingSettings(temperature=0))
            return


def assert_tied(
    target: Context, before: Sequence[int], mine: int, theirs: int, sampling: SamplingSettings
) -> None:
    """After these tokens either may be said, by rows of the target that are read anew.

    Args:
        sampling: greedy, or sampled as coupled.
    """
    target.rollback(0)
    for _ in target.prefill(before[:-1]):
        pass
    target.decode(before[-1:], Outputs.LAST)
    row, sampler = target.rows(1), Sampler(sampling)
    if sampling.is_greedy:
        sampler.picks(row, before, ())  # which writes penalties into it
        scores = dict(enumerate(row[0].tolist()))
    else:
        [law] = sampler.distributions(row, before, ())
        uniforms = CoupledDraws(sampling.seed or 0)._uniforms(law.ids, len(before))
        drawn = np.log(law.probabilities) - np.log(-np.log(uniforms))
        scores = dict(zip(law.ids.tolist(), drawn.tolist(), strict=True))
    gap = abs(scores[mine] - scores[theirs])
    print(f"parted after {len(before)} tokens: {mine} or {theirs}, {gap:.2e} apart")
    assert gap < ROUNDING, f"texts part after {len(before)} tokens without a tie: gap {gap:.3f}"
