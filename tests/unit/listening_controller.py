"""A length controller that does as it is told and writes down what it was asked."""

from specchat.speculation.controller import Baseline, Outcome, Reason, Source


class Listener:
    """Wants a number of tokens a round.

    Args:
        wanted: tokens; 0 refuses to start.
        pays: whether the model could ever pay.
        gains: what each source would win.
    """

    def __init__(
        self, wanted: int, *, pays: bool = True, gains: dict[Source, float] | None = None
    ) -> None:
        self.wanted = wanted
        self.pays = pays
        self.gains: dict[Source, float] = gains or {"model": 1.0, "ngram": 1.0}
        self.baseline = Baseline()
        self.reason = Reason("plain")
        self.gains_asked: list[tuple[Source, float | None, int]] = []
        self.starts: list[tuple[Source, float | None, int]] = []
        self.confidences: list[float] = []
        """What it was told after each token of the last draft."""

    def break_even(self, source: Source) -> float | None:
        return None

    def could_pay(self, source: Source) -> bool:
        return self.pays if source == "model" else True

    def begin(self, limit: int, pending: int = 0) -> bool:
        return limit > 0

    def gain(self, source: Source, confidence: float | None, pending: int) -> float:
        self.gains_asked.append((source, confidence, pending))
        return self.gains[source]

    def start(self, source: Source, confidence: float | None, pending: int) -> bool:
        self.starts.append((source, confidence, pending))
        self.confidences = []
        return self.wanted > 0

    def go_on(self, confidence: float) -> bool:
        self.confidences.append(confidence)
        return len(self.confidences) < self.wanted

    def spent(self, source: Source, n_tokens: int, milliseconds: float, *, guess: int = 1) -> None:
        pass

    def finish(self, outcome: Outcome) -> None:
        pass
