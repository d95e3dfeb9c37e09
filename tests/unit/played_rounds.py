"""Rounds played against a length controller, with a clock of their own."""

from collections.abc import Callable

import numpy as np

from specchat.speculation.adaptive import AdaptiveLength
from specchat.speculation.confidence import Calibration
from specchat.speculation.controller import LengthController, Outcome
from specchat.speculation.costs import CostTable

LONGEST = 15

Guess = Callable[[int], tuple[float, bool]]
"""For a place in the draft, the model's confidence and whether the target agrees."""


class Costs:
    """Milliseconds that calls really take.

    Args:
        verify: of the target, by number of tokens; a line between those given.
        step: of the draft model for a token or two.
        reading: of the draft model for each token more in the same call.
        jitter: standard deviation of the logarithm of a call's time.
        disturbed: the share of calls that take 2 to 8 times as long.
        marking: of a round with a draft, whatever is kept.
        going_back: besides, where a guess is refused.
    """

    def __init__(
        self,
        verify: dict[int, float],
        step: float,
        *,
        reading: float = 0.0,
        jitter: float = 0.0,
        disturbed: float = 0.0,
        marking: float = 0.0,
        going_back: float = 0.0,
    ) -> None:
        self.known = verify
        self.step = step
        self._reading = reading
        self._jitter = jitter
        self._disturbed = disturbed
        self._marking, self._going_back = marking, going_back
        self._random = np.random.default_rng(1)
        self._verify = np.interp(np.arange(LONGEST + 2), list(verify), list(verify.values()))

    def verify(self, n_tokens: int) -> float:
        """On average."""
        return float(self._verify[n_tokens])

    def verifying(self, n_tokens: int) -> float:
        """This time."""
        return self.verify(n_tokens) * self._noise()

    def drafting(self, n_tokens: int) -> float:
        """This time."""
        return (self.step + self._reading * max(0, n_tokens - 2)) * self._noise()

    def stepping_back(self, drafted: int, accepted: int) -> float:
        """On average."""
        if not drafted:
            return 0.0
        return self._marking + (self._going_back if accepted < drafted else 0.0)

    def controller(self, longest: int = LONGEST) -> AdaptiveLength:
        """One that was told these costs once, as after measuring them."""
        verify = CostTable()
        for n_tokens, milliseconds in self.known.items():
            verify.add(n_tokens, milliseconds)
        controller = AdaptiveLength(longest, verify)
        controller.spent("model", 1, self.step)
        return controller

    def _noise(self) -> float:
        noise = float(self._random.lognormal(0, self._jitter)) if self._jitter else 1.0
        if self._disturbed and self._random.random() < self._disturbed:
            noise *= float(self._random.uniform(2, 8))
        return noise


def play_round(
    controller: LengthController,
    costs: Costs,
    guess: Guess,
    *,
    limit: int = LONGEST,
    pending: int = 1,
    n_past: int = 100,
) -> Outcome:
    """One round of a model that drafts, told to the controller as the decoder tells it."""
    spent = 0.0
    guesses: list[bool] = []
    if controller.begin(limit) and controller.start("model", None, pending):
        goes_on = True
        while goes_on:
            feed = 1 if guesses else pending
            milliseconds = costs.drafting(feed)
            controller.spent("model", feed, milliseconds)
            spent += milliseconds
            confidence, agrees = guess(len(guesses))
            guesses.append(agrees)
            goes_on = controller.go_on(confidence)
            assert len(guesses) <= limit
    accepted = [*guesses, False].index(False)
    verify, back = costs.verifying(len(guesses) + 1), costs.stepping_back(len(guesses), accepted)
    outcome = Outcome(
        len(guesses),
        accepted,
        accepted + 1,
        spent + verify + back,
        verify,
        n_past,
        step_back_ms=back,
    )
    controller.finish(outcome)
    return outcome


def teach(
    calibration: Calibration, acceptance: float, *, confidence: float = 0.5, times: int = 1000
) -> float:
    """Let it see about this share of tokens kept, evenly spread; the mean it believes then."""
    for _ in range(times):
        calibration.learn(confidence, calibration.mean < acceptance)
    return calibration.mean


def always(confidence: float, agrees: bool) -> Guess:
    """The same guess at every place."""
    return lambda place: (confidence, agrees)
