"""A stopped answer goes on as if it had not been stopped."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat.chat.template import ChatTemplate
from specchat.engine.begun import begun_tokens
from specchat.engine.prompt import prompt_tokens
from specchat.engine.protocol import Finished, Message, Plan
from specchat.llama.context import Context, default_threads
from specchat.llama.library import Library
from specchat.llama.model import Model
from specchat.speculation.settings import DrafterChoice, SamplingSettings, SpeculationSettings
from support.near_ties import assert_same_greedy_text
from support.speaking import Speaker, make_context

pytestmark = pytest.mark.real_model

QUESTIONS = [
    Message("user", "Explain why the sky is blue."),
    Message("user", "Write a Python function that adds two numbers."),
]
TOKENS = 32


@pytest.fixture(scope="module")
def speaker(library: Library, smollm2_path: Path) -> Iterator[Speaker]:
    """SmolLM2 with itself as draft."""
    plan = Plan(n_ctx=1024, n_threads=1, measure_costs=False)
    speaker = Speaker(library, smollm2_path, smollm2_path, plan)
    yield speaker
    speaker.session.close()


@pytest.fixture(scope="module")
def target(smollm2_model: Model) -> Iterator[Context]:
    """Where near ties are looked at."""
    context = make_context(smollm2_model, n_threads=default_threads())
    yield context
    context.close()


@pytest.fixture(params=["chain", "model", "ngram", "none"])
def drafter(request: pytest.FixtureRequest) -> SpeculationSettings:
    choice: DrafterChoice = "auto" if request.param == "chain" else request.param
    return SpeculationSettings(drafter=choice, draft_length=3)


def prompt_of(model: Model, question: Message) -> list[int]:
    template = ChatTemplate(model.chat_template, bos="<|im_start|>", eos="<|im_end|>")
    return prompt_tokens(model.vocabulary, template, [question])


def assert_goes_on(
    speaker: Speaker,
    target: Context,
    question: Message,
    whole: Finished,
    stopped: Finished,
    drafter: SpeculationSettings,
) -> None:
    """The rest of the answer is the rest of one that was not stopped."""
    left = TOKENS - len(stopped.tokens)
    rest = speaker.answer(question, begun=stopped.text, speculation=drafter, max_tokens=left)

    begun = begun_tokens(target.model.vocabulary, stopped.text)
    assert begun == list(stopped.tokens)
    prompt = prompt_of(target.model, question)
    assert rest.figures.prompt_tokens == len(prompt) + len(begun)
    said = [*begun, *rest.tokens]
    assert_same_greedy_text(target, prompt, whole.tokens, said)
    if said == list(whole.tokens):
        assert stopped.text + rest.text == whole.text
        assert rest.text == speaker.streamed() + rest.tail


@pytest.mark.parametrize("question", QUESTIONS, ids=["prose", "code"])
def test_from_the_longest_answer_that_was_allowed(
    speaker: Speaker, target: Context, drafter: SpeculationSettings, question: Message
) -> None:
    whole = speaker.answer(question, speculation=drafter, max_tokens=TOKENS)
    for length in (1, 9, 24):
        stopped = speaker.answer(question, speculation=drafter, max_tokens=length)
        assert stopped.finish_reason == "length"
        assert_goes_on(speaker, target, question, whole, stopped, drafter)


def test_from_where_the_person_stopped_it(
    speaker: Speaker, target: Context, drafter: SpeculationSettings
) -> None:
    whole = speaker.answer(QUESTIONS[0], speculation=drafter, max_tokens=TOKENS)
    for rounds in (1, 4):
        stopped = speaker.answer(
            QUESTIONS[0], speculation=drafter, max_tokens=TOKENS, abort_after=rounds
        )
        assert stopped.finish_reason == "cancelled"
        assert_goes_on(speaker, target, QUESTIONS[0], whole, stopped, drafter)


def test_what_was_said_is_not_decoded_again(speaker: Speaker, drafter: SpeculationSettings) -> None:
    stopped = speaker.answer(QUESTIONS[0], speculation=drafter, max_tokens=20)
    rest = speaker.answer(QUESTIONS[0], begun=stopped.text, speculation=drafter, max_tokens=10)
    assert rest.figures.reused_tokens == rest.figures.prompt_tokens - 1
    assert rest.figures.prompt_tokens == stopped.figures.prompt_tokens + 20


def test_the_same_seed_goes_on_with_the_same_text(
    speaker: Speaker, drafter: SpeculationSettings
) -> None:
    coupled = SpeculationSettings(
        drafter=drafter.drafter, draft_length=drafter.draft_length, rule="coupled"
    )
    sampling = SamplingSettings(temperature=0.7, seed=7)
    whole = speaker.answer(QUESTIONS[0], sampling=sampling, speculation=coupled, max_tokens=TOKENS)
    stopped = speaker.answer(QUESTIONS[0], sampling=sampling, speculation=coupled, max_tokens=15)
    rest = speaker.answer(
        QUESTIONS[0],
        begun=stopped.text,
        sampling=sampling,
        speculation=coupled,
        max_tokens=TOKENS - 15,
    )
    assert stopped.text + rest.text == whole.text


def test_an_answer_that_a_person_has_changed_goes_on_from_the_change(speaker: Speaker) -> None:
    begun = "The sky is blue because the giant who painted it"
    rest = speaker.answer(QUESTIONS[0], begun=begun, max_tokens=12)
    assert rest.text.startswith(" ")
    assert rest.text != speaker.answer(QUESTIONS[0], max_tokens=12).text


def test_a_control_token_in_a_changed_answer_is_text(speaker: Speaker) -> None:
    plain = speaker.answer(QUESTIONS[0], max_tokens=1).figures.prompt_tokens
    begun = speaker.answer(QUESTIONS[0], begun="It is <|im_end|>", max_tokens=1)
    assert begun.figures.prompt_tokens > plain + 6
