"""A conversation that is stopped, repeated, changed and gone on with: the text stays the plain one.

What a drafter remembers goes wrong where something is taken back, so that one session goes through
all of it, again and again, with every draft length, and is compared with a target that has neither
drafter nor memory.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from specchat.engine.protocol import Finished, Message, Plan
from specchat.llama.library import Library
from specchat.speculation.reading import read_prompt
from specchat.speculation.settings import (
    DrafterChoice,
    RuleChoice,
    SamplingSettings,
    SpeculationSettings,
)
from support.aborting import AbortInside
from support.gguf_models import byte_ids
from support.heads import assert_same_draft, draft_after
from support.near_ties import assert_tied
from support.orderly_models import LETTERS
from support.speaking import Speaker

PLAN = Plan(n_ctx=1024, n_threads=1, max_draft_length=8, measure_costs=False, draft_required=True)
ANSWER = 50
"""Tokens of an answer that nobody stops."""
ROUNDS = 2
"""How often everything below is dealt out, each time in another order."""
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8)
CHOICES: tuple[DrafterChoice, ...] = (
    *("model", "model", "model", "model"),
    *("auto", "auto", "auto"),
    "ngram",
)
"""The drafter alone, beside n-grams so that it is idle in some rounds, and idle for an answer."""
STOPS = ("after a round", "inside a decode", "inside a decode", None, None, None, None, None)
Step = Literal["next", "again", "edit", "go on"]
STEPS: tuple[Step, ...] = ("next", "next", "next", "again", "edit", "edit", "go on", "go on")
"""What is asked after an answer."""


@dataclass
class Tally:
    """What a conversation came to."""

    emitted: int = 0
    drafted: int = 0
    accepted: int = 0
    by_model: int = 0
    """Accepted guesses that were not n-grams'."""
    tested: int = 0
    reused: int = 0
    replayed: int = 0

    def add(self, finished: Finished) -> None:
        """One more answer."""
        figures = finished.figures
        self.emitted += len(finished.tokens)
        self.drafted += figures.drafted
        self.accepted += figures.accepted
        self.by_model += figures.accepted - figures.accepted_ngram
        self.tested += figures.tested
        self.reused += figures.reused_tokens
        self.replayed += figures.replayed


def samplings(letters: str) -> tuple[SamplingSettings, ...]:
    """Greedy in circles, greedy without, and sampled; of these letters alone, and without end.

    Nothing is cut off: beside a cut a token may come or go by rounding, and ties with no other.
    """
    bias = dict.fromkeys(byte_ids(letters), 60.0)
    circles = SamplingSettings(temperature=0, logit_bias=bias)
    varied = SamplingSettings(temperature=0, frequency_penalty=0.4, logit_bias=bias)
    sampled = SamplingSettings(temperature=0.8, top_k=0, top_p=1, min_p=0, seed=7, logit_bias=bias)
    return (circles, varied, varied, varied, *[sampled] * 4)


def assert_a_restless_conversation_is_plain(
    library: Library,
    target: Path,
    draft: Path | None,
    *,
    plan: Plan = PLAN,
    question: str = "abcdefgh",
    letters: str = LETTERS,
    rounds_otherwise: bool = False,
) -> Tally:
    """Every answer is that of the target alone from a cold start, however it came about.

    Twice on the way what drafts is compared with one that reads the whole text now.

    Args:
        draft: a model or a head; None: the heads in the target's own file.
        question: the first one.
        letters: what is written.
        rounds_otherwise: the target's sums are in another order than those of a cold start, so that
            texts may part where two tokens tie.
    """
    abort = AbortInside(library)
    warm = Speaker(library, target, draft, plan, abort=abort)
    alone = Speaker(library, target, plan=ALONE)
    random = np.random.default_rng(len(question))
    turns, begun, asks, tally = [Message("user", question)], "", 0, Tally()
    for number, (length, choice, sampling, stop, step) in enumerate(_dealt(random, letters)):
        rule: RuleChoice = "greedy" if sampling.is_greedy else "coupled"
        before = abort.asked
        if stop == "inside a decode":
            abort.at(int(random.integers(1, asks + 2)))
        said = warm.answer(
            *turns,
            begun=begun,
            sampling=sampling,
            speculation=SpeculationSettings(drafter=choice, draft_length=length, rule=rule),
            max_tokens=ANSWER,
            abort_after=int(random.integers(1, 9)) if stop == "after a round" else None,
        )
        abort.at(0)
        expected = _from_a_cold_start(alone, turns, begun, sampling, len(said.tokens))
        if rounds_otherwise and said.tokens != expected:
            _assert_parted_at_a_tie(alone, said.tokens, expected, sampling)
        else:
            assert said.tokens == expected, (number, length, choice)
        assert said.finish_reason == "cancelled" or len(said.tokens) == ANSWER
        if stop is None:
            asks = abort.asked - before
            assert len(said.tokens) == ANSWER
        tally.add(said)
        turns, begun = _asked(step, turns, begun + said.text, number, random)
        if (number + 1) % len(LENGTHS) == 0:
            assert_its_state_is_one_from_scratch(
                warm, lambda: Speaker(library, target, draft, plan), letters
            )
    for speaker in (warm, alone):
        speaker.session.close()
    assert tally.emitted >= 500
    assert 0 < tally.accepted < tally.tested
    assert tally.reused > 0
    return tally


ALONE = Plan(
    n_ctx=PLAN.n_ctx,
    n_threads=1,
    max_draft_length=0,
    measure_costs=False,
    built_in_heads=False,
)


def _dealt(
    random: np.random.Generator, letters: str
) -> Iterator[tuple[int, DrafterChoice, SamplingSettings, str | None, Step]]:
    """For each answer a length, a drafter, a sampling, a way to stop, and what comes after it."""
    for _ in range(ROUNDS):
        decks = LENGTHS, CHOICES, samplings(letters), STOPS, STEPS
        orders = [random.permutation(len(LENGTHS)) for _ in decks]
        for places in zip(*orders, strict=True):
            length, choice, sampling, stop, step = (
                deck[place] for deck, place in zip(decks, places, strict=True)
            )
            yield length, choice, sampling, stop, step


def _asked(
    step: Step, turns: list[Message], said: str, number: int, random: np.random.Generator
) -> tuple[list[Message], str]:
    """The conversation to answer next, and what of its answer stands already."""
    match step:
        case "next":
            return [*turns, Message("assistant", said), Message("user", f"-and-{number}")], ""
        case "again":
            return turns, ""
        case "go on":
            return turns, said
        case "edit":
            kept = 2 * int(random.integers(0, 1 + len(turns) // 2))
            content = turns[kept].content
            changed = f"{content[: len(content) // 2]}-or-{number}"
            return [*turns[:kept], Message("user", changed)], ""


def _from_a_cold_start(
    alone: Speaker,
    turns: Sequence[Message],
    begun: str,
    sampling: SamplingSettings,
    n_tokens: int,
) -> tuple[int, ...]:
    """The first tokens of the plain answer."""
    if n_tokens == 0:
        return ()
    alone.forget()
    rule: RuleChoice = "greedy" if sampling.is_greedy else "coupled"
    plain = SpeculationSettings(drafter="none", draft_length=0, rule=rule)
    return alone.answer(
        *turns, begun=begun, sampling=sampling, speculation=plain, max_tokens=n_tokens
    ).tokens


def _assert_parted_at_a_tie(
    alone: Speaker,
    said: Sequence[int],
    expected: Sequence[int],
    sampling: SamplingSettings,
) -> None:
    index = next(at for at, token in enumerate(expected) if token != said[at])
    prompt = alone.context.tokens[: len(alone.context.tokens) + 1 - len(expected)]
    before = [*prompt, *expected[:index]]
    assert_tied(alone.context, before, said[index], expected[index], sampling)


def assert_its_state_is_one_from_scratch(
    warm: Speaker, make: Callable[[], Speaker], letters: str
) -> None:
    """After what the target holds and two tokens more, both guess the same."""
    ids = [*warm.context.tokens, *byte_ids(letters[:2])]
    fresh = make()
    for speaker in (warm, fresh):
        for _ in read_prompt(speaker.context, ids[:-1]):
            pass
    assert_same_draft(draft_after(warm.drafter, ids, 4), draft_after(fresh.drafter, ids, 4))
    fresh.session.close()
