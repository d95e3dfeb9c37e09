"""Marking and going back is counted, and drafting ends where it eats the gain."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import pytest
from gguf import GGMLQuantizationType

from specchat.engine.costs import adaptive, quick_costs
from specchat.llama.context import Context
from specchat.llama.library import AbortFlag, Library
from specchat.llama.memory import ContextMemory
from specchat.llama.model import Model
from specchat.speculation.controller import FixedLength, Outcome
from specchat.speculation.drafters.model import ModelDrafter
from specchat.speculation.settings import SamplingSettings
from support.gguf_models import byte_ids
from support.hybrid_models import HYBRIDS
from support.often_right import OftenRight
from support.speaking import said, speak
from support.tiny_models import write_random

SLOW_S = 0.004
"""Many times what a round of these models takes."""
GREEDY = SamplingSettings(temperature=0, logit_bias=dict.fromkeys(byte_ids("abcdefgh"), 60.0))
PROMPT = byte_ids("once-upon-a-time-there-was-a-fox")

MakeContext = Callable[[GGMLQuantizationType], Context]


@pytest.fixture
def make_context(library: Library, tmp_path: Path) -> Iterator[MakeContext]:
    """Contexts of tiny Mamba models with the same weights in so many bits."""
    made: list[Context] = []

    def make(quantisation: GGMLQuantizationType) -> Context:
        recipe = replace(HYBRIDS["mamba"], quantisation=quantisation)
        path = write_random(library, tmp_path / f"{quantisation.name}.gguf", recipe)
        model, abort = Model(library, path), AbortFlag(library)
        made.append(Context(model, n_ctx=512, n_outputs=9, abort=abort, n_threads=1))
        return made[-1]

    yield make
    for context in made:
        context.close()
        context.model.close()


@pytest.fixture
def slow_down(monkeypatch: pytest.MonkeyPatch) -> Callable[[ContextMemory, str], None]:
    """Makes a way of a memory take longer."""

    def slow_down(memory: ContextMemory, name: str) -> None:
        real = getattr(memory, name)

        def slow(*arguments: int) -> object:
            end = perf_counter() + SLOW_S
            while perf_counter() < end:
                pass
            return real(*arguments)

        monkeypatch.setattr(memory, name, slow)

    return slow_down


class Recording(FixedLength):
    """Keeps what came of the rounds."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.outcomes: list[Outcome] = []

    def finish(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


def test_a_draft_models_marks_and_steps_back_are_counted_with_the_targets(
    make_context: MakeContext, slow_down: Callable[[ContextMemory, str], None]
) -> None:
    target, drafts = (
        make_context(GGMLQuantizationType.Q8_0),
        make_context(GGMLQuantizationType.Q4_0),
    )
    for memory, name in (
        (drafts.memory, "mark"),
        (drafts.memory, "go_back"),
        (target.memory, "mark"),
    ):
        slow_down(memory, name)
    controller = Recording(3)
    rounds = speak(
        target,
        ModelDrafter(drafts, target.model.vocabulary.n_tokens),
        PROMPT,
        tokens=100,
        draft_length=3,
        sampling=GREEDY,
        controller=controller,
    )
    went_back = [step for step in rounds if step.accepted < step.drafted - 1]
    others = [step for step in rounds if step.drafted > 1 and step not in went_back]
    assert went_back
    assert others
    assert all(step.step_back_s >= 3 * SLOW_S for step in went_back)
    assert all(step.step_back_s >= 2 * SLOW_S for step in others)
    told = [outcome.step_back_ms for outcome in controller.outcomes]
    assert told == [step.step_back_s * 1e3 for step in rounds]


def test_drafting_ends_where_going_back_takes_longer_than_guesses_save(
    make_context: MakeContext, slow_down: Callable[[ContextMemory, str], None]
) -> None:
    target = make_context(GGMLQuantizationType.Q8_0)
    expected = said(speak(target, None, PROMPT, tokens=400, draft_length=0, sampling=GREEDY))
    slow_down(target.memory, "go_back")
    rounds = speak(
        target,
        OftenRight([*PROMPT, *expected], right=0.6, seed=1),
        PROMPT,
        tokens=400,
        draft_length=8,
        sampling=GREEDY,
        controller=adaptive(quick_costs(target), longest=8, replays=True),
    )
    refused = sum(step.accepted < step.drafted for step in rounds)
    assert 0 < refused < 20
