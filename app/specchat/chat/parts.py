"""Where in an answer the guesses land: figures of its thinking, its words and its code."""

import msgspec
from msgspec.structs import replace

from specchat.chat.reasoning import KINDS, Kind, Splitter, Tags
from specchat.speculation.metrics import Figures


class PartFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Totals over the rounds of one kind of text. The names are those of docs/numbers.md."""

    rounds: int = 0
    emitted: int = 0
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    decode_s: float = 0.0

    @property
    def acceptance(self) -> float | None:
        """accepted / tested; None while nothing was tested."""
        return self.accepted / self.tested if self.tested else None

    @property
    def tokens_per_second(self) -> float | None:
        """emitted / decode seconds; None before the first round."""
        return self.emitted / self.decode_s if self.decode_s > 0 else None


class PartMeter:
    """Follows one answer. A round counts for the part in which its text begins.

    Args:
        opened: the tags that the prompt left open.
    """

    def __init__(self, opened: Tags | None = None) -> None:
        self.splitter = Splitter(opened)
        self._parts = {kind: PartFigures() for kind in KINDS}
        self._last = Figures()

    def add(self, text: str, figures: Figures) -> Kind:
        """Take a round's new text and the running totals after it; the kind it counted for."""
        kind, last = self.splitter.kind, self._last
        part = self._parts[kind]
        self._parts[kind] = replace(
            part,
            rounds=part.rounds + figures.rounds - last.rounds,
            emitted=part.emitted + figures.emitted - last.emitted,
            drafted=part.drafted + figures.drafted - last.drafted,
            tested=part.tested + figures.tested - last.tested,
            accepted=part.accepted + figures.accepted - last.accepted,
            decode_s=part.decode_s + figures.decode_s - last.decode_s,
        )
        self._last = figures
        self.splitter.add(text)
        return kind

    @property
    def parts(self) -> dict[Kind, PartFigures]:
        """The kinds that came up so far."""
        return {kind: part for kind, part in self._parts.items() if part.rounds}
