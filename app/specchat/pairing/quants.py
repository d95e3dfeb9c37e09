"""What the name of a quantisation says: bits a weight, and how much of a model it leaves."""

from itertools import pairwise

BITS_PER_WEIGHT = {
    "Q2_K": 3.0,
    "Q3_K": 3.9,
    "Q4_0": 4.6,
    "Q4_1": 5.0,
    "Q4_K": 4.9,
    "Q4_K_XL": 5.2,
    "Q5_K": 5.7,
    "Q6_K": 6.6,
    "Q8_0": 8.5,
    "IQ2": 2.6,
    "IQ3": 3.5,
    "IQ4": 4.4,
    "MXFP4": 4.6,
    "BF16": 16.0,
    "F16": 16.0,
    "F32": 32.0,
}
"""Of whole files, embeddings and all, as they turn out for models of 4B and more."""
KEPT_BY_BITS = ((2.0, 0.15), (2.6, 0.3), (3.5, 0.75), (3.9, 0.82), (4.4, 0.93), (4.9, 0.96))
"""The share of its parameters that a model is still worth with so many bits a weight: a rule of
thumb. Down to four bits little is lost, at three it shows, and at two a smaller model is better."""
ALL_KEPT = 8.5


def bits_per_weight(quant: str) -> float | None:
    """About how many bits a weight takes; None for a name that is not known."""
    for known in sorted(BITS_PER_WEIGHT, key=len, reverse=True):
        if known in quant.upper():
            return BITS_PER_WEIGHT[known]
    return None


def kept(quant: str) -> float:
    """The share of a model's parameters that it is worth after quantisation, 0 to 1."""
    bits = bits_per_weight(quant)
    if bits is None:
        return 1.0
    points = (*KEPT_BY_BITS, (ALL_KEPT, 1.0))
    for (low, less), (high, more) in pairwise(points):
        if bits < high:
            return less + (more - less) * max(0.0, bits - low) / (high - low)
    return 1.0
