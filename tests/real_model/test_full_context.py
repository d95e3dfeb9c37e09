"""When the context fills, whole old turns leave the prompt, and nothing else changes."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from specchat.engine.protocol import Finished, Message, Plan, PromptProgress
from specchat.errors import PromptTooLong
from specchat.llama.library import Library
from specchat.speculation.settings import DrafterChoice, SamplingSettings, SpeculationSettings
from support.speaking import Speaker

pytestmark = pytest.mark.real_model

SMALL = Plan(n_ctx=256, n_threads=1, measure_costs=False)
SYSTEM = Message("system", "You answer in one short sentence.")
QUESTIONS = [
    Message("user", f"Say something about the {thing}, and why people write poems about it.")
    for thing in ("sea", "sky", "moon", "rain", "wind", "snow", "fire", "rock", "leaf", "sand")
]
NO = Message("assistant", "No.")
TOKENS = 12
ENDLESS = SamplingSettings(temperature=0, logit_bias={2: -100.0, 0: -100.0})


@pytest.fixture(scope="module")
def speaker(library: Library, smollm2_path: Path) -> Iterator[Speaker]:
    """SmolLM2 with itself as draft, in a small context."""
    speaker = Speaker(library, smollm2_path, smollm2_path, SMALL)
    yield speaker
    speaker.session.close()


@pytest.fixture(params=["chain", "model", "ngram", "none"])
def drafter(request: pytest.FixtureRequest) -> SpeculationSettings:
    choice: DrafterChoice = "auto" if request.param == "chain" else request.param
    return SpeculationSettings(drafter=choice, draft_length=3)


def told_first(speaker: Speaker) -> int:
    """What is left out, as it is told before the answer begins."""
    return next(e.left_out for e in speaker.events if isinstance(e, PromptProgress))


def test_a_chat_goes_on_beyond_the_context_as_the_shortened_one_would_from_a_cold_start(
    library: Library, smollm2_path: Path, speaker: Speaker, drafter: SpeculationSettings
) -> None:
    said: list[Message] = []
    answers: list[Finished] = []
    for question in QUESTIONS:
        said.append(question)
        finished = speaker.answer(SYSTEM, *said, speculation=drafter, max_tokens=TOKENS)
        assert told_first(speaker) == finished.left_out
        if finished.left_out > (answers[-1].left_out if answers else 0):
            cold = Speaker(library, smollm2_path, smollm2_path, SMALL)
            shortened = said[finished.left_out :]
            same = cold.answer(SYSTEM, *shortened, speculation=drafter, max_tokens=TOKENS)
            cold.session.close()
            assert shortened[0].role == "user"
            assert same.left_out == same.figures.reused_tokens == 0
            assert same.tokens == finished.tokens
        said.append(Message("assistant", finished.text))
        answers.append(finished)

    assert answers[0].left_out == 0
    cuts = sorted({finished.left_out for finished in answers})
    assert [finished.left_out for finished in answers] == sorted(f.left_out for f in answers)
    assert 2 < len(cuts) < sum(finished.left_out > 0 for finished in answers)
    for before, after in pairwise(answers):
        if after.left_out == before.left_out:
            assert after.figures.reused_tokens >= before.figures.prompt_tokens


def test_an_answer_that_fills_the_context_says_so_and_can_go_on(speaker: Speaker) -> None:
    turns = [message for question in QUESTIONS[:3] for message in (question, NO)]
    full = speaker.answer(SYSTEM, *turns, QUESTIONS[3], sampling=ENDLESS)
    assert (full.finish_reason, full.context_full) == ("length", True)
    assert full.n_past == speaker.session.loaded().n_ctx
    rest = speaker.answer(
        SYSTEM, *turns, QUESTIONS[3], begun=full.text, sampling=ENDLESS, max_tokens=20
    )
    assert rest.left_out > full.left_out
    assert rest.text
    assert not rest.context_full


def test_a_newest_question_longer_than_the_context_is_refused_in_words(speaker: Speaker) -> None:
    with pytest.raises(PromptTooLong, match="Even without its earlier messages it has"):
        speaker.answer(QUESTIONS[0], NO, Message("user", "word " * 300))


def test_a_newest_question_that_leaves_little_room_is_answered(speaker: Speaker) -> None:
    long = Message("user", "word " * 190)
    finished = speaker.answer(SYSTEM, QUESTIONS[0], NO, long, sampling=ENDLESS)
    assert finished.left_out == 2
    assert finished.context_full
    assert 190 < finished.figures.prompt_tokens < 256
