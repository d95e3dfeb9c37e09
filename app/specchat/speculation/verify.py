"""Which drafted tokens are kept. All rules are lossless: the text has the target's own law.

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


def verify_picks(drafted: Sequence[int], picks: Sequence[int]) -> Verdict:
    """Keep while the draft is what the target picks: the rules `greedy` and `coupled`.

    Guarantee: the text is what the target picks alone, token by token. With picks of the most
    likely token that is its greedy text; with coupled draws it has the target's law and depends
    on the seed alone, not on the draft.

    Args:
        drafted: k tokens.
        picks: k + 1 tokens, one of each row.
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


def verify_block(
    drafted: Sequence[int],
    target: Sequence[Distribution],
    draft: Sequence[Distribution] | None,
    uniform: Callable[[], float],
) -> Verdict:
    """Judge the draft as a whole: keep the longest prefix that one of k tests lets through.

    With w_0 = 1, w_i = min(1, w_{i-1} p_i(d_i) / q_i(d_i)) and S_i the sum of
    max(w_i p_{i+1} - q_{i+1}, 0), a prefix of length i < k passes with probability
    S_i / (S_i + 1 - w_i), and the whole draft with w_k. After a prefix of i < k tokens the next one
    is drawn from max(w_i p_{i+1} - q_{i+1}, 0), normalised.

    Guarantee: the text has the target's law, for any draft and any draft length that depends on
    the drafted tokens alone, and no fewer tokens are kept than by `verify_token` in expectation
    (Sun et al. 2024, Block Verification Accelerates Speculative Decoding, arXiv 2403.10444).

    The arguments are those of `verify_token`.
    """
    proposals = [Distribution.certain(token) for token in drafted] if draft is None else draft
    weight, accepted, weight_kept = 1.0, 0, 1.0
    last = len(drafted)
    for length, token in enumerate(drafted, 1):
        row, proposal = target[length - 1], proposals[length - 1]
        weight = min(1.0, weight * row.probability(token) / proposal.probability(token))
        if length == last:
            passes = weight
        else:
            left = target[length].excess(proposals[length], weight).sum()
            # With nothing left both rows are equal: what comes after decides.
            passes = left / (left + 1.0 - weight) if left + 1.0 - weight > 0 else 1.0
        if uniform() < passes:
            accepted, weight_kept = length, weight
    if accepted == last:
        return Verdict(accepted, target[last].draw(uniform()))
    residual = target[accepted].minus(proposals[accepted], weight_kept)
    return Verdict(accepted, residual.draw(uniform()))
