"""What has to hold of every drafter that reads the inputs of its target's layers."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import msgspec

from specchat.speculation.settings import SamplingSettings
from support.gguf_models import byte_ids
from support.heads import (
    PLAIN_SOFTMAX,
    Rig,
    assert_same_draft,
    draft_after,
)
from support.speaking import said, speak

PROMPT = byte_ids("abcdefgh")
OTHER = byte_ids("abcdponm")
"""What comes after its first token is the same, and still means something else."""
TOKENS = 200
GREEDY = SamplingSettings(temperature=0)
SEEDED = msgspec.structs.replace(PLAIN_SOFTMAX, temperature=0.8, top_k=5, seed=7)

MakeRig = Callable[[], AbstractContextManager[Rig]]


def assert_its_state_is_always_right(make_rig: MakeRig) -> None:
    """After an answer, one given again, edits, and many rounds without it."""
    with make_rig() as rig:
        text = said(speak(rig.target, rig.drafter, PROMPT, tokens=100, draft_length=3))
        _assert_as_fresh(rig, make_rig, [*PROMPT, *text])
        speak(rig.target, rig.drafter, PROMPT, tokens=20, draft_length=3)
        for ids in (
            PROMPT,
            [*OTHER[-1:], *PROMPT[1:]],  # of another first token all states are others
            [*PROMPT, *text[:20], *OTHER],
            OTHER,
            [*OTHER, *text[:7]],
            OTHER[:3],
        ):
            for _ in speak(rig.target, None, ids, tokens=1, draft_length=0):
                pass
            _assert_as_fresh(rig, make_rig, ids)
        idle = said(speak(rig.target, None, OTHER, tokens=500, draft_length=0))
        _assert_as_fresh(rig, make_rig, [*OTHER, *idle])


def _assert_as_fresh(rig: Rig, make_rig: MakeRig, ids: Sequence[int]) -> None:
    """It drafts what one would that reads the whole text now."""
    with make_rig() as fresh:
        for _ in fresh.target.prefill(ids[:-1]):
            pass
        expected = draft_after(fresh.drafter, ids, 4)
    # The target may hold the last token already.
    rig.target.rollback(len(ids) - 1)
    for _ in rig.target.prefill(ids[len(rig.target.tokens) : -1]):
        pass
    assert_same_draft(draft_after(rig.drafter, ids, 4), expected)
