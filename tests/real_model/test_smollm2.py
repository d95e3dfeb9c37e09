"""Speculation on a real language model is lossless."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat.chat.template import ChatTemplate
from specchat.engine.prompt import prompt_tokens
from specchat.engine.protocol import Message
from specchat.llama.context import Context, default_threads
from specchat.llama.library import Library
from specchat.llama.model import Model
from specchat.speculation.drafters.base import Drafter
from specchat.speculation.drafters.ngram import NgramDrafter
from specchat.speculation.settings import SamplingSettings
from support.near_ties import assert_same_greedy_text
from support.speaking import make_context, make_model_drafter, said, speak

pytestmark = pytest.mark.real_model

PROMPTS = [
    "Write a haiku about the sea.",
    "Explain in one sentence why the sky is blue.",
    "用中文介绍一下北京。",
    "请把这句话翻译成英文:今天天气很好。",
    "Write a Python function that adds two numbers.",
    "def fibonacci(n):\n    # finish this function",
    "Reply only with emoji: 🎉🐱🚀",
    "What does 👩‍💻 mean? Answer with more emoji 🙂.",
    "Repeat after me: red green blue red green blue red green blue",
    '{"name": "Ada", "born": 1815} Write two more records like this.',
    "List the numbers from one to twenty.",
    "Erzähle einen kurzen Witz über Füchse.",
]
TOKENS = 24


@pytest.fixture(scope="module")
def target(smollm2_model: Model) -> Iterator[Context]:
    context = make_context(smollm2_model, n_threads=default_threads())
    yield context
    context.close()


@pytest.fixture(scope="module")
def own_drafter(smollm2_model: Model) -> Iterator[Drafter]:
    drafter = make_model_drafter(smollm2_model, smollm2_model, n_threads=default_threads())
    yield drafter
    drafter.close()


@pytest.fixture(scope="module")
def worse_drafter(library: Library, smollm2_model: Model, worse_path: Path) -> Iterator[Drafter]:
    model = Model(library, worse_path)
    drafter = make_model_drafter(smollm2_model, model, n_threads=default_threads())
    yield drafter
    drafter.close()
    model.close()


def prompt_of(model: Model, text: str) -> list[int]:
    template = ChatTemplate(model.chat_template, bos="<|im_start|>", eos="<|im_end|>")
    return prompt_tokens(model.vocabulary, template, [Message("user", text)])


@pytest.fixture(scope="module")
def plain_texts(target: Context) -> dict[str, list[int]]:
    return {
        text: said(
            speak(target, None, prompt_of(target.model, text), tokens=TOKENS, draft_length=0)
        )
        for text in PROMPTS
    }


@pytest.mark.parametrize("draft_length", range(1, 9))
def test_as_its_own_draft_it_accepts_everything_and_says_the_same(
    target: Context,
    own_drafter: Drafter,
    plain_texts: dict[str, list[int]],
    draft_length: int,
) -> None:
    for text in PROMPTS:
        rounds = speak(
            target,
            own_drafter,
            prompt_of(target.model, text),
            tokens=TOKENS,
            draft_length=draft_length,
        )
        assert all(step.accepted == step.drafted for step in rounds)
        assert said(rounds) == plain_texts[text]


@pytest.mark.parametrize(
    "sampling",
    [
        SamplingSettings(seed=1),
        SamplingSettings(temperature=1.2, top_k=0, top_p=1, min_p=0, seed=2),
        SamplingSettings(repetition_penalty=1.3, frequency_penalty=0.2, seed=3),
    ],
    ids=["default", "open", "penalties"],
)
def test_as_its_own_draft_it_accepts_everything_when_sampling(
    target: Context, own_drafter: Drafter, sampling: SamplingSettings
) -> None:
    for text in PROMPTS[:4]:
        rounds = speak(
            target,
            own_drafter,
            prompt_of(target.model, text),
            tokens=TOKENS,
            draft_length=4,
            sampling=sampling,
        )
        assert sum(step.drafted for step in rounds) > 0
        assert all(step.accepted == step.drafted for step in rounds)


@pytest.mark.parametrize("draft_length", [2, 5])
def test_with_a_worse_draft_the_greedy_text_stays(
    target: Context,
    worse_drafter: Drafter,
    plain_texts: dict[str, list[int]],
    draft_length: int,
) -> None:
    refused = 0
    for text in PROMPTS:
        prompt = prompt_of(target.model, text)
        rounds = speak(target, worse_drafter, prompt, tokens=TOKENS, draft_length=draft_length)
        assert_same_greedy_text(target, prompt, plain_texts[text], said(rounds))
        refused += sum(step.accepted < step.drafted for step in rounds)
    assert refused > 0  # the draft is worse


def test_with_ngram_drafts_the_greedy_text_stays(
    target: Context, plain_texts: dict[str, list[int]]
) -> None:
    drafter, accepted = NgramDrafter(), 0
    for text in PROMPTS:
        prompt = prompt_of(target.model, text)
        rounds = speak(target, drafter, prompt, tokens=TOKENS, draft_length=4)
        assert said(rounds) == plain_texts[text]
        accepted += sum(step.accepted for step in rounds)
    assert accepted > 0


def test_with_penalties_the_greedy_text_stays(target: Context, own_drafter: Drafter) -> None:
    sampling = SamplingSettings(temperature=0, repetition_penalty=1.3, presence_penalty=0.5)
    prompt = prompt_of(target.model, PROMPTS[8])
    plain = speak(target, None, prompt, tokens=40, draft_length=0, sampling=sampling)
    drafted = speak(target, own_drafter, prompt, tokens=40, draft_length=4, sampling=sampling)
    assert said(drafted) == said(plain)
    unpenalised = speak(target, None, prompt, tokens=40, draft_length=0)
    assert said(unpenalised) != said(plain)
