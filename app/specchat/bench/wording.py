"""What a report says in words: who drafts, and the reasons of the controller for many rounds."""

from specchat.bench.record import Record
from specchat.engine.drafter_names import WITHOUT_NGRAMS, what_drafts
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


def draft_words(record: Record) -> str:
    """The draft: `small.gguf`, `head.gguf (EAGLE-3 head)`, `its MTP head`; empty without one."""
    kind, what = WITHOUT_NGRAMS.get(record.drafter, record.drafter), what_drafts(record.drafter)
    if record.draft is None:
        return f"its {what}" if kind not in ("ngram", "none") else ""
    return record.draft.file if kind in ("model", "ngram") else f"{record.draft.file} ({what})"
