"""The rounds of an answer: what each brought, and where its time went."""

import zlib
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec

from specchat.chat.reasoning import KINDS, Kind
from specchat.speculation.controller import Source

MOST_ROUNDS = 8_192
"""Rounds of one answer that are kept, the last ones: some 80 kB."""
TICK_S = 1e-5
"""What times are kept in; the screen shows tenths of a millisecond."""
SOURCES: tuple[Source | None, ...] = (None, "ngram", "model")
"""Stored by their place here."""
LARGEST = 1 << 24
"""Bytes of columns that are still taken for ours."""


class AnswerRound(NamedTuple):
    """One round. Times are in seconds."""

    text: str
    kind: Kind
    drafted: int
    accepted: int
    emitted: int
    source: Source | None
    reason: str
    draft_s: float
    verify_s: float
    own_s: float

    @property
    def total_s(self) -> float:
        """All of its time."""
        return self.draft_s + self.verify_s + self.own_s


class Rounds(NamedTuple):
    """Rounds of one answer in order."""

    rounds: Sequence[AnswerRound]
    start: int = 0
    """Characters of the answer before the text of the first of them."""
    prefill_s: float = 0.0
    """From the request to the start of the first round; where the answer went on, of each time."""


class _Columns(msgspec.Struct, frozen=True, array_like=True):
    """All as long as each other, but `reasons`."""

    start: int
    prefill_s: float
    lengths: tuple[int, ...]
    """Characters of each round's text."""
    kinds: bytes
    drafted: bytes
    accepted: bytes
    emitted: bytes
    sources: bytes
    reasons: tuple[str, ...]
    reason_of: tuple[int, ...]
    draft: tuple[int, ...]
    verify: tuple[int, ...]
    own: tuple[int, ...]


def encode_rounds(rounds: Rounds) -> bytes:
    """About eight bytes a round. Texts are left out: they are the answer's."""
    surplus = max(0, len(rounds.rounds) - MOST_ROUNDS)
    dropped, kept = rounds.rounds[:surplus], rounds.rounds[surplus:]
    reasons = {reason: place for place, reason in enumerate(dict.fromkeys(r.reason for r in kept))}
    columns = _Columns(
        start=rounds.start + sum(len(each.text) for each in dropped),
        prefill_s=rounds.prefill_s,
        lengths=tuple(len(each.text) for each in kept),
        kinds=bytes(KINDS.index(each.kind) for each in kept),
        drafted=bytes(each.drafted for each in kept),
        accepted=bytes(each.accepted for each in kept),
        emitted=bytes(each.emitted for each in kept),
        sources=bytes(SOURCES.index(each.source) for each in kept),
        reasons=tuple(reasons),
        reason_of=tuple(reasons[each.reason] for each in kept),
        draft=tuple(_ticks(each.draft_s) for each in kept),
        verify=tuple(_ticks(each.verify_s) for each in kept),
        own=tuple(_ticks(each.own_s) for each in kept),
    )
    return zlib.compress(msgspec.msgpack.encode(columns), 6)


def decode_rounds(data: bytes, text: str) -> Rounds:
    """What `encode_rounds` wrote.

    Args:
        text: the whole answer.

    Raises:
        ValueError: something else did.
    """
    try:
        packed = zlib.decompressobj().decompress(data, LARGEST)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    columns = msgspec.msgpack.decode(packed, type=_Columns)
    ends = list(accumulate(columns.lengths, initial=columns.start))
    rounds = [
        AnswerRound(
            text=text[ends[index] : ends[index + 1]],
            kind=KINDS[columns.kinds[index]],
            drafted=columns.drafted[index],
            accepted=columns.accepted[index],
            emitted=columns.emitted[index],
            source=SOURCES[columns.sources[index]],
            reason=columns.reasons[columns.reason_of[index]],
            draft_s=columns.draft[index] * TICK_S,
            verify_s=columns.verify[index] * TICK_S,
            own_s=columns.own[index] * TICK_S,
        )
        for index in range(len(columns.lengths))
    ]
    return Rounds(rounds, columns.start, columns.prefill_s)


def _ticks(seconds: float) -> int:
    return max(0, round(seconds / TICK_S))
