"""Who drafts for a pair on a machine: its own drafter, unless it cannot run or is known to lose."""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from specchat.architectures import LATENT_ATTENTION
from specchat.pairing.abilities import THIS_VERSION, Abilities
from specchat.pairing.backends import backend_of
from specchat.pairing.catalog import CatalogModel, CatalogPair, DraftType
from specchat.pairing.drafter_type import number
from specchat.pairing.gguf_file import GgufFile
from specchat.pairing.machine import Machine
from specchat.pairing.measured import Measured

SMALL_TARGET_B = 3.5
"""Models of "3B" have up to 3.3 billion parameters."""
CORES_TO_SPARE = 8
"""Of a CPU that has more arithmetic than a plain round needs."""

HEADS: dict[DraftType, str] = {
    "mtp": "MTP head",
    "eagle3": "EAGLE-3 head",
    "dflash": "DFlash head",
    "dspark": "DSpark head",
}


class TargetFacts(NamedTuple):
    """What decides whether a draft pays for a target."""

    params_b: float
    mixture: bool
    architecture: str

    @classmethod
    def of_model(cls, model: CatalogModel) -> "TargetFacts":
        """By the catalog."""
        return cls(model.params_b, model.mixture, model.architecture)

    @classmethod
    def of_file(cls, file: GgufFile) -> "TargetFacts":
        """By a header."""
        n_weights = sum(math.prod(tensor.shape) for tensor in file.tensors)
        return cls(n_weights / 1e9, number(file, "expert_count") > 0, file.architecture)


class Drafting(msgspec.Struct, frozen=True, kw_only=True):
    """Who guesses, and why not the one in the catalog, if so."""

    drafter: DraftType | Literal["none"]
    length: int | None = None
    """Tokens to begin with; None leaves it to the controller."""
    reasons: tuple[str, ...] = ()


def choose_drafting(
    pair: CatalogPair,
    target: CatalogModel,
    machine: Machine,
    measured: Measured | None = None,
    abilities: Abilities = THIS_VERSION,
) -> Drafting:
    """The pair's own drafter where it can run and is not known to lose, else n-grams.

    Args:
        measured: what this machine has shown; it counts for more than what others saw.
    """
    if target.architecture in abilities.plain_only:
        return Drafting(
            drafter="none",
            reasons=("Decoded plainly: this version cannot draft for layers with a state.",),
        )
    kind = pair.draft.type
    own = Drafting(drafter=kind, length=pair.draft.length)
    if kind == "ngram":
        return own
    shown = measured.speed_up if measured is not None and measured.drafter == kind else None
    if shown is not None and shown < 1:
        return _ngrams(
            f"Its draft lost on this machine, {shown:.2f} times the plain speed: "
            f"n-grams guess instead."
        )
    if shown is None:
        for reason in losing(kind, TargetFacts.of_model(target), machine):
            return _ngrams(reason)
    if kind not in abilities.drafters:
        name = HEADS.get(kind, kind)
        return _ngrams(f"This version cannot run its {name} yet: n-grams guess instead.")
    return own


def losing(kind: DraftType, target: TargetFacts, machine: Machine) -> Iterator[str]:
    """Why a draft model or a head is expected to be slower than plain decoding.

    Measured by others: heads of Qwen3.5 0.58 times at 0.8B, 0.82 at 2B, n-grams on a CPU 1.10 to
    1.19 (unslothai/unsloth, studio/backend/core/inference/llama_cpp.py); a draft model on a CPU
    (llama.cpp PR 10455); MTP on Metal (llama.cpp issues 23752 and 23011); mixtures on a CPU
    (byteshape.com/blogs/Qwen3.6-35B-A3B); MTP with latent attention at half the speed (the first).
    """
    backend = backend_of(machine)
    if target.params_b <= SMALL_TARGET_B:
        yield (
            "A draft would lose: a target of 3B or less is too quick for one. "
            "n-grams guess instead."
        )
    if backend == "metal" and kind == "mtp":
        yield "Its MTP head would lose: on Metal they were slower. n-grams guess instead."
    if kind == "mtp" and target.architecture in LATENT_ATTENTION:
        yield (
            "Its MTP head would lose: with latent attention it halved the speed. "
            "n-grams guess instead."
        )
    if backend != "cpu":
        return
    if kind == "model":
        yield (
            "Its draft model would lose: a CPU has no arithmetic to spare. n-grams guess instead."
        )
    if target.mixture:
        yield (
            "Its head would lose: on a CPU every guess reads other experts. n-grams guess instead."
        )
    if machine.physical_cores < CORES_TO_SPARE:
        yield (
            f"Its head would lose: {machine.physical_cores} cores have no arithmetic to spare. "
            f"n-grams guess instead."
        )


def _ngrams(reason: str) -> Drafting:
    return Drafting(drafter="ngram", reasons=(reason,))
