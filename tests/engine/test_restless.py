"""Whatever drafts for whatever target: a restless conversation has the plain text.

Each row is one session in which more than 500 tokens are written, with drafts of 1 to 8 tokens,
greedy and coupled, and stops, repetitions, changed questions and answers gone on with in between.
Targets that keep a state, with a draft model, are in test_recurrent.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from gguf import GGMLQuantizationType

from specchat.engine.protocol import Message
from specchat.llama.library import Library
from specchat.speculation.settings import DrafterChoice, RuleChoice, SpeculationSettings
from support.aborting import AbortInside
from support.head_recipes import MTP_RECIPES, TARGETS
from support.heads import (
    write_assistant,
    write_block,
    write_eagle3,
    write_mtp,
    write_sidecar,
    write_without_heads,
)
from support.orderly_models import LETTERS, write_orderly
from support.restless import (
    PLAN,
    assert_a_restless_conversation_is_plain,
    assert_its_state_is_one_from_scratch,
    samplings,
)
from support.speaking import Speaker

Write = Callable[[Library, Path], Path]
Bits = GGMLQuantizationType | None
MODEL: DrafterChoice = "model"
NONE: DrafterChoice = "none"
KNOWN = 12
BEYOND_A_WINDOW = LETTERS * 18
"""Longer than a window of 32 tokens with a micro-batch, rounded up to whole steps of a cache."""
IN_BITS = GGMLQuantizationType.Q8_0
WORSE = GGMLQuantizationType.Q4_0
"""Of a draft model with its target's weights: often right."""


def target_of(name: str, in_bits: Bits = IN_BITS) -> Write:
    return lambda library, path: write_orderly(library, path, TARGETS[name], in_bits=in_bits)


def with_heads(kind: str, in_bits: Bits = IN_BITS) -> Write:
    return lambda library, path: write_mtp(library, path, kind, in_bits=in_bits)


def without_heads(kind: str, in_bits: Bits = IN_BITS) -> Write:
    return lambda library, path: write_without_heads(library, path, kind, in_bits=in_bits)


def half_as_much(library: Library, path: Path) -> Path:
    """A draft with a window, whose layers add less: in few bits rounding would grow too large."""
    edits = {"ffn_down.weight": lambda weights: np.float32(0.5) * weights}
    return write_orderly(library, path, TARGETS["windows"], edits=edits)


def block(kind: str) -> Write:
    return lambda library, path: write_block(library, path, kind)


HEADS: dict[str, Write] = {
    "eagle3": write_eagle3,
    "eagle3, few tokens": lambda library, path: write_eagle3(library, path, n_known=KNOWN),
    "eagle3, after the last layer": lambda library, path: write_eagle3(
        library, path, n_known=KNOWN, layers=(1, 2, 4)
    ),
    "dflash": block("dflash"),
    "dspark": block("dspark"),
    "dspark, apart": block("dspark, apart"),
}
ON: dict[str, tuple[str, ...]] = {
    "eagle3": ("llama", "hybrid"),
    "eagle3, few tokens": ("llama", "dense", "windows", "hybrid", "mixture", "checkpoints"),
    "eagle3, after the last layer": ("hybrid", "mixture, windows"),
    "dflash": ("llama", "dense", "windows", "hybrid", "mixture"),
    "dspark": ("llama", "dense", "windows", "hybrid", "mixture", "checkpoints"),
    "dspark, apart": ("mixture, windows", "checkpoints"),
}
"""Each head on each kind of cache; what differs between two of a kind on a few."""


class Row(NamedTuple):
    """What drafts for what."""

    target: Write
    draft: Write | None = None
    """None: the heads in the target's own file."""


ROWS: dict[str, Row] = {
    **{
        f"{head} on {target}": Row(target_of(target), HEADS[head])
        for head, targets in ON.items()
        for target in targets
    },
    **{f"mtp, {kind}": Row(with_heads(kind)) for kind in MTP_RECIPES},
    "mtp sidecar, one head, hybrid": Row(
        without_heads("one head, hybrid"),
        lambda library, path: write_sidecar(library, path, "one head, hybrid"),
    ),
    "mtp, shared cells": Row(target_of("windows"), write_assistant),
    **{
        f"model on {name}": Row(target_of(name), target_of(name, WORSE))
        for name in ("llama", "dense", "windows", "mixture")
    },
    **{
        f"model on {kind}": Row(without_heads(kind), without_heads(kind, WORSE))
        for kind in ("one head", "two heads")
    },
}
WINDOW_ALONE: dict[str, Row] = {
    "mtp, shared cells": Row(target_of("windows", None), write_assistant),
    "mtp": Row(with_heads("two heads, windows", None)),
    "eagle3": Row(target_of("windows", None), HEADS["eagle3, few tokens"]),
    "dspark": Row(target_of("mixture, windows", None), HEADS["dspark"]),
    "model": Row(target_of("windows", None), half_as_much),
}
"""In F32: sums in another order move their logits least."""
SMALL = msgspec.structs.replace(PLAN, n_ctx=256)
FULL: dict[str, Row] = {
    name: ROWS[name]
    for name in (
        "mtp, one head, hybrid",
        "mtp, two heads",
        "mtp, shared cells",
        "eagle3, few tokens on dense",
        "dflash on dense",
        "dspark on windows",
        "model on llama",
    )
}
BROKEN_OFF = (
    "mtp, two heads",
    "mtp, one head, checkpoints",
    "eagle3, few tokens on hybrid",
    "dflash on dense",
    "model on llama",
)
SELDOM_RIGHT = "eagle3 on "
"""With its target's own output matrix."""


@pytest.mark.parametrize("name", ROWS)
def test_its_text_is_the_plain_text(library: Library, tmp_path: Path, name: str) -> None:
    tally = assert_a_restless_conversation_is_plain(
        library, *written(ROWS[name], library, tmp_path)
    )
    assert tally.by_model > (0 if name.startswith(SELDOM_RIGHT) else 20)


@pytest.mark.parametrize("name", WINDOW_ALONE)
def test_so_it_is_where_layers_keep_no_more_than_their_window(
    library: Library, tmp_path: Path, name: str
) -> None:
    """What comes back to an earlier place finds its window gone, and starts over."""
    tally = assert_a_restless_conversation_is_plain(
        library,
        *written(WINDOW_ALONE[name], library, tmp_path),
        plan=msgspec.structs.replace(PLAN, whole_window_cache=False),
        question=BEYOND_A_WINDOW,
        rounds_otherwise=True,
    )
    assert tally.by_model > 20


def written(row: Row, library: Library, folder: Path) -> tuple[Path, Path | None]:
    """The files of a target and of what drafts."""
    target = row.target(library, folder / "target.gguf")
    return target, row.draft and row.draft(library, folder / "draft.gguf")


@pytest.mark.parametrize("name", FULL)
def test_its_text_is_the_plain_text_to_the_last_cell_of_the_context(
    library: Library, tmp_path: Path, name: str
) -> None:
    """A draft near the end is shorter than was asked for, and what comes after is right again.

    The shortest question is one token: the target has decoded nothing when it is first guessed.
    """
    target, draft = written(FULL[name], library, tmp_path)
    warm, alone = Speaker(library, target, draft, SMALL), Speaker(library, target, plan=SMALL)
    _, varied, *_, sampled = samplings(LETTERS)
    accepted = 0
    for length in (8, 5, 3):
        long = Message("user", LETTERS * 10 + LETTERS[:length])
        for sampling, question, most in (
            (varied, long, None),
            (sampled, long, None),
            (varied, Message("user", LETTERS), 30),
            (varied, Message("user", LETTERS[length]), 10),
        ):
            rule: RuleChoice = "greedy" if sampling.is_greedy else "coupled"
            said, expected = (
                speaker.answer(
                    question,
                    sampling=sampling,
                    speculation=SpeculationSettings(
                        drafter=drafter, draft_length=length, rule=rule
                    ),
                    max_tokens=most,
                )
                for speaker, drafter in ((warm, MODEL), (alone, NONE))
            )
            assert said.tokens == expected.tokens
            assert said.context_full == expected.context_full == (most is None)
            accepted += said.figures.accepted
    assert accepted > 20
    assert_its_state_is_one_from_scratch(
        warm, lambda: Speaker(library, target, draft, SMALL), LETTERS
    )
    for speaker in (warm, alone):
        speaker.session.close()


@pytest.mark.parametrize("name", BROKEN_OFF)
def test_a_decode_that_was_broken_off_leaves_nothing_in_what_drafts(
    library: Library, tmp_path: Path, name: str
) -> None:
    """In any call: while a prompt is read, or the head reads it, or guesses, or is tested."""
    target, draft = written(ROWS[name], library, tmp_path)
    abort = AbortInside(library)
    warm = Speaker(library, target, draft, PLAN, abort=abort)
    speculation = SpeculationSettings(drafter=MODEL, draft_length=3)

    def answer(number: int) -> str:
        question = Message("user", f"{LETTERS[number]}-{LETTERS * 16}")
        return warm.answer(question, speculation=speculation, max_tokens=8).finish_reason

    before = abort.asked
    assert answer(0) == "length"
    asks = abort.asked - before
    for number in range(1, 12):
        abort.at(number * asks // 13)
        assert answer(number) == "cancelled"
        assert_its_state_is_one_from_scratch(
            warm, lambda: Speaker(library, target, draft, PLAN), LETTERS
        )
    warm.session.close()
