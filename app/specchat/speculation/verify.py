"""Which drafted tokens are kept. Both rules are lossless: the text has the target's own law.

`p` is the target's distribution and `q` the one the draft was drawn from, both after the person's
sampling settings. Row i of the target is conditioned on the drafted tokens before position i.
"""

from collections.abc import Callable, Sequence

import msgspec

from specchat.speculation.distribution import Distribution


class Verdict(msgspec.Struct, frozen=True):
    """The first `accepted` drafted tokens are kept, then comes `token`."""

    accepted: int
    token: int


def verify_greedy(drafted: Sequence[int], picks: Sequence[int]) -> Verdict:
    """Keep while the draft is what the target would have picked.

    Guarantee: the text is the target's greedy text.

    Args:
        drafted: k tokens.
        picks: k + 1 tokens, the most likely one of each row.
    """
    accepted = 0
    for token, pick in zip(drafted, picks, strict=False):
        if token != pick:
            break
        accepted += 1
    return Verdict(accepted, picks[accepted])


def verify_token(
    drafted: Sequence[int],
    target: Sequence[Distribution],
    draft: Sequence[Distribution] | None,
    uniform: Callable[[], float],
) -> Verdict:
    """Keep a token with probability min(1, p / q); at a refusal draw from max(p - q, 0).

    Guarantee: each emitted token has the target's distribution given the text before it, whatever
    the draft (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv 2302.01318).

    Args:
        drafted: k tokens.
        target: k + 1 distributions.
        draft: k distributions, or None when every token was proposed with certainty.
        uniform: draws from [0, 1).
    """
    for index, token in enumerate(drafted):
        proposal = draft[index] if draft is not None else Distribution.certain(token)
        if uniform() * proposal.probability(token) >= target[index].probability(token):
            return Verdict(index, target[index].minus(proposal).draw(uniform()))
    return Verdict(len(drafted), target[len(drafted)].draw(uniform()))
