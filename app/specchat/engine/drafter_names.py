"""What drafters are called in events, in JSON, in the store and on the screen."""

from typing import Literal

from specchat.pairing.drafter_type import DraftKind

DrafterName = Literal[
    "chain", "model", "ngram", "none",
    "ngram+mtp", "mtp",
    "ngram+eagle3", "eagle3",
    "ngram+dflash", "dflash",
    "ngram+dspark", "dspark",
]  # fmt: skip
"""Who drafts: n-grams of the conversation and the draft model (`chain`) or heads that were trained
for the target (`ngram+mtp` and so on), or one of them alone."""

WITH_NGRAMS: dict[DraftKind, DrafterName] = {
    "model": "chain",
    "mtp": "ngram+mtp",
    "eagle3": "ngram+eagle3",
    "dflash": "ngram+dflash",
    "dspark": "ngram+dspark",
}
"""What drafts, when n-grams draft beside it."""
WITHOUT_NGRAMS: dict[DrafterName, DraftKind] = {name: kind for kind, name in WITH_NGRAMS.items()}
"""Who drafts alone of those that draft beside n-grams."""

_HEADS: dict[DrafterName, str] = {
    "mtp": "MTP head",
    "eagle3": "EAGLE-3 head",
    "dflash": "DFlash head",
    "dspark": "DSpark head",
}


def what_drafts(name: DrafterName) -> str:
    """What drafts beside n-grams, for a sentence: `draft model`, `MTP head`."""
    return _HEADS.get(WITHOUT_NGRAMS.get(name, name), "draft model")
