"""A target with a few tokens more than its draft: the draft goes on where it knows none of them."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from specchat.llama.context import Outputs
from specchat.llama.library import Library
from specchat.llama.model import Model
from specchat.speculation.controller import FixedLength
from specchat.speculation.drafters.model import ModelDrafter
from specchat.speculation.draws import RandomDraws
from specchat.speculation.sampling import Sampler
from specchat.speculation.settings import RuleChoice, SamplingSettings
from support.gguf_models import N_VOCAB, NEVER, Table, byte_ids, random_table, write_bigram
from support.speaking import GREEDY, make_context, make_model_drafter, said, speak

LETTERS = "abcdefgh"
FURTHER = (N_VOCAB, N_VOCAB + 3)
PROMPT = byte_ids("abc")
PENALISED = SamplingSettings(temperature=0.8, top_k=0, top_p=1, min_p=0, repetition_penalty=1.1)


def with_further_tokens(table: Table) -> Table:
    """The same law, but two letters are followed by a token of the target's own, after which it
    goes on as after the letter."""
    size = N_VOCAB + 8
    wider = np.full((size, size), NEVER, np.float32)
    wider[:N_VOCAB, :N_VOCAB] = table
    for letter, token in zip(greedy_path(table)[1:3], FURTHER, strict=True):
        wider[token, :N_VOCAB] = table[letter]
        wider[letter, token] = wider[letter].max() + 0.5
    return wider


def greedy_path(table: Table) -> list[int]:
    """The letters that follow the prompt."""
    path = [PROMPT[-1]]
    while len(path) < 4:
        path.append(int(table[path[-1]].argmax()))
    return path


@pytest.fixture(scope="module")
def models(
    library: Library, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Model, Model]]:
    """The target and a draft that lacks its last tokens."""
    folder, table = tmp_path_factory.mktemp("sizes"), random_table(0, LETTERS)
    target = Model(library, write_bigram(folder / "target.gguf", with_further_tokens(table)))
    draft = Model(library, write_bigram(folder / "draft.gguf", table))
    yield target, draft
    target.close()
    draft.close()


@pytest.mark.parametrize("length", [1, 3, 8])
def test_the_text_is_the_plain_one_and_guesses_are_kept_after_such_a_token(
    models: tuple[Model, Model], length: int
) -> None:
    target, draft = models
    context = make_context(target)
    drafter = make_model_drafter(target, draft)
    plain = said(speak(context, None, PROMPT, tokens=200, draft_length=0))
    assert set(FURTHER) <= set(plain)

    rounds = speak(context, drafter, PROMPT, tokens=200, draft_length=length)

    assert said(rounds) == plain
    first = next(n for n, step in enumerate(rounds) if FURTHER[0] in step.tokens)
    assert any(step.accepted for step in rounds[first + 1 :])
    drafter.close()
    context.close()


@pytest.mark.parametrize("rule", ["token", "block", "coupled"])
def test_sampling_with_penalties_gets_over_such_a_token(
    models: tuple[Model, Model], rule: RuleChoice
) -> None:
    target, draft = models
    context = make_context(target)
    drafter = make_model_drafter(target, draft)

    rounds = speak(
        context, drafter, PROMPT, tokens=200, draft_length=4, sampling=PENALISED, rule=rule
    )

    assert set(FURTHER) <= set(said(rounds))
    assert sum(step.accepted for step in rounds) > 0
    drafter.close()
    context.close()


def test_a_conversation_with_such_tokens_is_not_read_again(
    models: tuple[Model, Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    target, draft = models
    own = make_context(draft, n_outputs=1)
    drafter = ModelDrafter(own, target.vocabulary.n_tokens)
    spoken = [*PROMPT, FURTHER[0], *PROMPT, FURTHER[1], *PROMPT]
    begin(drafter, spoken)
    assert len(own.tokens) == len(spoken) - 1
    assert max(own.tokens) < draft.vocabulary.n_tokens

    read: list[int] = []
    decode = own.decode

    def noted(tokens: Sequence[int], outputs: Outputs) -> None:
        read.extend(tokens)
        decode(tokens, outputs)

    monkeypatch.setattr(own, "decode", noted)
    begin(drafter, [*spoken, *PROMPT])

    assert read == [spoken[-1], *PROMPT[:-1]]
    drafter.close()


def begin(drafter: ModelDrafter, ids: list[int]) -> None:
    """As the decoder does at the start of an answer."""
    draws = RandomDraws(np.random.default_rng(0))
    drafter.begin(ids, Sampler(GREEDY), draws, FixedLength(3))
