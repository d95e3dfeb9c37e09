"""Trained heads that nobody named: in the target's own file, or in a file beside it."""

from collections.abc import Callable
from typing import NamedTuple

from specchat.pairing.drafter_type import DraftKind
from specchat.pairing.gguf_file import GgufFile
from specchat.pairing.head_fit import draft_kind
from specchat.pairing.head_shape import shape_of_built_in_heads, shape_of_draft
from specchat.pairing.shape import ModelShape


class Heads(NamedTuple):
    """Heads that draft for a target."""

    kind: DraftKind
    shape: ModelShape
    file: GgufFile | None
    """None: they are in the target's own file."""


def heads_of(
    target: GgufFile, beside: Callable[[], GgufFile | None], *, own: bool = True
) -> Heads | None:
    """Those in the target's file before those beside it.

    Args:
        beside: looks for a head in a file of its own; asked only where it is needed.
        own: those in the target's file may draft.
    """
    shape = shape_of_built_in_heads(target) if own else None
    if shape is not None:
        return Heads("mtp", shape, None)
    file = beside()
    return None if file is None else Heads(draft_kind(file), shape_of_draft(file), file)
