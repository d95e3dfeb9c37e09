"""Reasons of the controller in words that fit many rounds."""

from specchat.speculation.controller import ReasonKind

REASONS: dict[ReasonKind, str] = {
    "fixed": "drafting the fixed length",
    "plain": "plain decoding",
    "predictable": "drafting: text is predictable",
    "worth": "drafting: it saves more than it costs",
    "costs_more": "not drafting: it would cost more than it saves",
    "no_match": "not drafting: nothing said before fits",
    "probing": "probing whether drafting pays again",
    "baseline": "measuring plain decoding",
}
