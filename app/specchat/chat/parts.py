"""Where in an answer the guesses land: figures of its thinking, its words and its code."""

from collections.abc import Mapping

import msgspec

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

    def changed(
        self, now: "PartFigures | Figures", before: "PartFigures | Figures"
    ) -> "PartFigures":
        """These and what came between two states of other totals."""
        return PartFigures(
            rounds=self.rounds + now.rounds - before.rounds,
            emitted=self.emitted + now.emitted - before.emitted,
            drafted=self.drafted + now.drafted - before.drafted,
            tested=self.tested + now.tested - before.tested,
            accepted=self.accepted + now.accepted - before.accepted,
            decode_s=self.decode_s + now.decode_s - before.decode_s,
        )


NOTHING = PartFigures()


class PartMeter:
    """Follows one answer. A round counts for the part in which its text begins; marks and blanks
    that come before all parts, for the first one.

    Args:
        opened: the tags that the prompt left open.
        begun: what the answer has said already, where it goes on.
        parts: the figures of that.
    """

    def __init__(
        self,
        opened: Tags | None = None,
        begun: str = "",
        parts: Mapping[Kind, PartFigures] | None = None,
    ) -> None:
        self.splitter = Splitter(opened)
        self.splitter.add(begun)
        self._parts = dict.fromkeys(KINDS, NOTHING) | dict(parts or {})
        self._last = Figures()

    def add(self, text: str, figures: Figures) -> Kind:
        """Take a round's new text and the running totals after it; the kind it counted for."""
        splitter = self.splitter
        kind, begins = splitter.kind, not splitter.spans
        splitter.add(text)
        if begins:
            kind = splitter.spans[0].kind if splitter.spans else splitter.kind
        self._parts[kind] = self._parts[kind].changed(figures, self._last)
        self._last = figures
        return kind

    @property
    def parts(self) -> dict[Kind, PartFigures]:
        """The kinds that came up so far."""
        return {kind: part for kind, part in self._parts.items() if part.rounds}
