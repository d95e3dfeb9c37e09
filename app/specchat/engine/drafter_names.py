"""What drafters are called in events, in JSON, in the store and on the screen."""

from typing import Literal

DrafterName = Literal[
    "chain", "model", "ngram", "none",
    "ngram+mtp", "mtp",
    "ngram+eagle3", "eagle3",
    "ngram+dflash", "dflash",
    "ngram+dspark", "dspark",
]  # fmt: skip
"""Who drafts: n-grams of the conversation and the draft model (`chain`) or heads that were trained
for the target (`ngram+mtp` and so on), or one of them alone."""

WITHOUT_NGRAMS: dict[DrafterName, DrafterName] = {
    "chain": "model",
    "ngram+mtp": "mtp",
    "ngram+eagle3": "eagle3",
    "ngram+dflash": "dflash",
    "ngram+dspark": "dspark",
}
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
