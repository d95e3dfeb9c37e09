"""A quantised KV cache changes what the model says a little; drafting changes nothing more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat.engine.protocol import Message, Plan
from specchat.llama.library import Library
from specchat.speculation.settings import SpeculationSettings
from support.speaking import Speaker

pytestmark = pytest.mark.real_model

PLAN = Plan(n_ctx=2048, measure_costs=False, cache_type="q8_0")
PLAIN = SpeculationSettings(drafter="none")
QUESTIONS = [
    "Write a haiku about the sea.",
    "用中文介绍一下北京。",
    "Repeat after me: red green blue red green blue red green blue",
]


@pytest.fixture(scope="module")
def speaker(library: Library, smollm2_path: Path, worse_path: Path) -> Iterator[Speaker]:
    """SmolLM2 with a worse draft."""
    speaker = Speaker(library, smollm2_path, worse_path, PLAN)
    yield speaker
    speaker.session.close()


@pytest.mark.parametrize("question", QUESTIONS)
def test_drafting_does_not_change_a_greedy_answer(speaker: Speaker, question: str) -> None:
    plain = speaker.answer(Message("user", question), speculation=PLAIN, max_tokens=32)
    for drafter in ("model", "ngram", "auto"):
        drafting = SpeculationSettings(drafter=drafter, draft_length=4)
        drafted = speaker.answer(Message("user", question), speculation=drafting, max_tokens=32)
        assert drafted.tokens == plain.tokens


def test_a_second_turn_is_what_it_would_be_after_a_cold_start(
    speaker: Speaker, library: Library, smollm2_path: Path
) -> None:
    question, more = Message("user", "Name three colours."), Message("user", "Which is warm?")
    first = speaker.answer(question, max_tokens=30)
    turns = (question, Message("assistant", first.text), more)
    second = speaker.answer(*turns, max_tokens=30)
    assert second.figures.reused_tokens >= first.figures.prompt_tokens

    cold = Speaker(library, smollm2_path, plan=PLAN)
    assert cold.answer(*turns, max_tokens=30).tokens == second.tokens
    cold.session.close()
