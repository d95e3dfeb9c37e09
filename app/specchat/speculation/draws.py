"""Where the randomness of a draw comes from."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from specchat.speculation.distribution import Distribution


class Draws(Protocol):
    """Draws tokens from distributions."""

    def draw(self, distribution: Distribution, position: int) -> int:
        """The token at an absolute position of the sequence."""
        ...


class RandomDraws:
    """Each draw is independent of every other."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random

    def draw(self, distribution: Distribution, position: int) -> int:
        """Whatever the position."""
        return distribution.draw(self._random.random())


class CoupledDraws:
    """The same noise for the same token at the same position, whoever draws.

    A token is drawn as the largest of log p + g, with Gumbel noise g hashed from (seed, position,
    token). Two distributions that are alike then mostly agree on the token, and what is drawn
    depends on nothing but the distribution, the position and the seed (Gumbel-max coupling; Daliri,
    Musco and Suresh 2024, arXiv 2408.07978).
    """

    def __init__(self, seed: int) -> None:
        self._seed = np.uint64(seed)

    def draw(self, distribution: Distribution, position: int) -> int:
        """The token with the largest perturbed log probability."""
        noise = -np.log(-np.log(self._uniforms(distribution.ids, position)))
        with np.errstate(divide="ignore"):  # a token without probability stays at -inf
            scores = np.log(distribution.probabilities) + noise
        return int(distribution.ids[scores.argmax()])

    def _uniforms(self, ids: npt.NDArray[np.int64], position: int) -> npt.NDArray[np.float64]:
        """One number in the open interval (0, 1) for each id."""
        with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is what mixes
            key = _mix(self._seed + GOLDEN * np.uint64(position + 1))
            bits = _mix(ids.astype(np.uint64) * GOLDEN + key)
        return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(value: npt.NDArray[np.uint64] | np.uint64) -> npt.NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    mixed = np.asarray(value, np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
