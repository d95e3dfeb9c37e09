"""Our own time for a sampled round with a large vocabulary: rows, verification, draw.

Synthetic logits with the shape of a real model's: a few likely tokens over a wide floor. Run it
with `make bench` on a quiet machine.
"""

import statistics
from time import perf_counter

import numpy as np

from specchat.speculation.sampling import Logits, Sampler
from specchat.speculation.settings import SamplingSettings
from specchat.speculation.verify import verify_block, verify_token

N_VOCAB = 152_000
DRAFTED = 5
REPEATS = 200
BUDGET_US = 1000.0
"""What a sampled round may take of our own time."""

SETTINGS = {
    "top-k 40, top-p 0.95, min-p 0.05": SamplingSettings(),
    "the same with penalties": SamplingSettings(repetition_penalty=1.1, presence_penalty=0.2),
    "top-p 0.95 alone": SamplingSettings(top_k=0, min_p=0),
    "temperature 1 alone": SamplingSettings(temperature=1, top_k=0, top_p=1, min_p=0),
}


def rows_of_logits(random: np.random.Generator) -> Logits:
    """Logits of shape (DRAFTED + 1, N_VOCAB)."""
    logits = random.normal(0, 2, (DRAFTED + 1, N_VOCAB)).astype(np.float32)
    for row in logits:
        row[random.integers(0, N_VOCAB, 50)] += random.gamma(2, 4, 50).astype(np.float32)
    return logits


def measure(settings: SamplingSettings) -> tuple[float, float]:
    """Median microseconds of the target's rows, and of both rules together."""
    random = np.random.default_rng(0)
    sampler = Sampler(settings)
    context = random.integers(0, N_VOCAB, 100).tolist()
    rows_us, verify_us = [], []
    for _ in range(REPEATS // 10):
        logits = rows_of_logits(random)
        proposals = sampler.distributions(logits[:DRAFTED].copy(), context, ())
        drafted = [proposal.draw(random.random()) for proposal in proposals]
        for _ in range(10):
            fresh = logits.copy()
            started = perf_counter()
            rows = sampler.distributions(fresh, context, drafted)
            made = perf_counter()
            verify_block(drafted, rows, proposals, random.random)
            verify_token(drafted, rows, proposals, random.random)
            rows_us.append((made - started) * 1e6)
            verify_us.append((perf_counter() - made) * 1e6)
    return statistics.median(rows_us), statistics.median(verify_us)


def main() -> None:
    """Print a line for each setting."""
    print(f"microseconds, {DRAFTED} drafted, {N_VOCAB:,} tokens      rows   verification")
    for name, settings in SETTINGS.items():
        rows, verify = measure(settings)
        print(f"{name:<36}{rows:>16.0f}{verify:>12.0f}")
    print(f"budget of a round: {BUDGET_US:.0f}")


if __name__ == "__main__":
    main()
