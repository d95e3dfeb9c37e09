"""Comparing two greedy texts that may part where two logits tie to rounding."""

from collections.abc import Sequence

from specchat.llama.context import Context, Outputs

ROUNDING = 1e-3
"""Logits of this model class carry about this much rounding between kernels of different width."""


def assert_same_greedy_text(
    target: Context, prompt: Sequence[int], plain: Sequence[int], drafted: Sequence[int]
) -> None:
    """Equal to the end, or parted at a near tie, which is then printed with its gap."""
    for index, (mine, theirs) in enumerate(zip(plain, drafted, strict=True)):
        if mine != theirs:
            target.rollback(0)
            before = [*prompt, *plain[:index]]
            for _ in target.prefill(before[:-1]):
                pass
            target.decode(before[-1:], Outputs.LAST)
            row = target.rows(1)[0]
            gap = abs(float(row[mine]) - float(row[theirs]))
            print(f"parted at token {index}: {mine} or {theirs}, logits {gap:.2e} apart")
            assert gap < ROUNDING, f"texts part at token {index} without a tie: gap {gap:.3f}"
            return
