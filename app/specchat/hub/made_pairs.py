"""The pairs that can be made from the models on this disk, each with its verdict."""

import msgspec

from specchat.hub.inventory import FoundModel, Inventory
from specchat.pairing.gguf_file import GgufFile
from specchat.pairing.verdict import Verdict, judge

LARGEST_DRAFT = 0.5
"""Of its target's bytes; a larger file is not tried as a draft."""


class MadePair(msgspec.Struct, frozen=True, kw_only=True):
    """Two models of this disk."""

    target: str
    """Names, as in the list of models."""
    draft: str
    target_path: str
    draft_path: str
    draft_share: float
    """The draft's bytes over the target's: what a guess costs, roughly."""
    verdict: Verdict


def made_pairs(inventory: Inventory) -> tuple[MadePair, ...]:
    """Every target with every smaller file: those that fit first, the largest targets first."""
    models = [model for model in inventory.models if model.path in inventory.headers]
    headers = _sharing_vocabularies(inventory.headers)
    pairs = [
        MadePair(
            target=target.name,
            draft=draft.name,
            target_path=target.path,
            draft_path=draft.path,
            draft_share=draft.size_bytes / target.size_bytes,
            verdict=judge(headers[target.path], headers[draft.path]),
        )
        for target in models
        if target.kind == "model"
        for draft in models
        if _may_draft(draft, target)
    ]
    sizes = {model.path: model.size_bytes for model in models}
    return tuple(
        sorted(
            pairs,
            key=lambda pair: (
                not pair.verdict.usable,
                -sizes[pair.target_path],
                pair.target,
                pair.draft_share,
            ),
        )
    )


def _may_draft(draft: FoundModel, target: FoundModel) -> bool:
    return draft is not target and draft.size_bytes <= LARGEST_DRAFT * target.size_bytes


def _sharing_vocabularies(headers: dict[str, GgufFile]) -> dict[str, GgufFile]:
    """The same vocabulary is one object, which makes it quick to compare and small to keep."""
    known: dict[tuple[bytes, ...], tuple[bytes, ...]] = {}
    return {
        path: msgspec.structs.replace(header, tokens=known.setdefault(header.tokens, header.tokens))
        for path, header in headers.items()
    }
