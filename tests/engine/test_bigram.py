"""Exact statements about the whole real stack, on models whose next-token table is known."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from specchat.llama.context import Context, Outputs
from specchat.llama.library import Library
from specchat.llama.model import Model
from specchat.speculation.decoder import Round
from specchat.speculation.drafters.base import Drafter
from specchat.speculation.drafters.chain import ChainDrafter
from specchat.speculation.drafters.model import ModelDrafter
from specchat.speculation.drafters.ngram import NgramDrafter
from specchat.speculation.settings import RuleChoice, SamplingSettings
from support.gguf_models import Table, byte_ids, disturbed, random_table, write_bigram
from support.speaking import make_context, make_model_drafter, said, speak

LETTERS = "abcdefgh"
PLAIN_SOFTMAX = SamplingSettings(temperature=1, top_k=0, top_p=1, min_p=0)
PROMPT = byte_ids("abcdabcd")
N_CTX = 1024
ANSWERS, ANSWER_TOKENS = 20, 500

Probabilities = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def table() -> Table:
    return random_table(0, LETTERS)


@pytest.fixture(scope="module")
def draft_table(table: Table) -> Table:
    return disturbed(table, 1, LETTERS, by=1.0)


@pytest.fixture(scope="module")
def target(
    library: Library, table: Table, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Context]:
    model = Model(library, write_bigram(tmp_path_factory.mktemp("bigram") / "target.gguf", table))
    context = make_context(model, n_ctx=N_CTX)
    yield context
    context.close()
    model.close()


@pytest.fixture(scope="module")
def model_drafter(
    library: Library,
    target: Context,
    draft_table: Table,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ModelDrafter]:
    path = write_bigram(tmp_path_factory.mktemp("bigram") / "draft.gguf", draft_table)
    model = Model(library, path)
    drafter = make_model_drafter(target.model, model, n_ctx=N_CTX)
    yield drafter
    drafter.close()
    model.close()


@pytest.fixture(params=["model", "ngram", "chain"])
def drafter(request: pytest.FixtureRequest, model_drafter: ModelDrafter) -> Drafter:
    if request.param == "model":
        return model_drafter
    return (
        NgramDrafter() if request.param == "ngram" else ChainDrafter(NgramDrafter(), model_drafter)
    )


def softmax(row: npt.NDArray[np.float32]) -> Probabilities:
    weights = np.exp(row.astype(np.float64) - row.max())
    result: Probabilities = weights / weights.sum()
    return result


def test_the_logits_are_the_table(target: Context, table: Table) -> None:
    target.rollback(0)
    ids = byte_ids("abc")
    target.decode(ids, Outputs.ALL)
    np.testing.assert_allclose(target.rows(3), table[ids], atol=1e-3)


@pytest.mark.parametrize("draft_length", [1, 2, 3, 5, 8, 16])
def test_greedy_speculative_text_is_the_plain_text(
    target: Context, drafter: Drafter, draft_length: int
) -> None:
    plain = speak(target, None, PROMPT, tokens=200, draft_length=0)
    drafted = speak(target, drafter, PROMPT, tokens=200, draft_length=draft_length)
    assert said(drafted) == said(plain)
    assert len(drafted) < len(plain)


def test_greedy_text_follows_the_table(target: Context, table: Table) -> None:
    tokens = said(speak(target, NgramDrafter(), PROMPT, tokens=50, draft_length=4))
    before = [PROMPT[-1], *tokens[:-1]]
    assert tokens == [int(table[token].argmax()) for token in before]


def sampled_answers(
    target: Context, drafter: Drafter, rule: RuleChoice, sampling: SamplingSettings
) -> list[list[Round]]:
    """10,000 tokens in answers of 500, each of its own seed."""
    return [
        speak(
            target,
            drafter,
            PROMPT,
            tokens=ANSWER_TOKENS,
            draft_length=3,
            sampling=msgspec.structs.replace(sampling, seed=seed),
            rule=rule,
        )
        for seed in range(ANSWERS)
    ]


def assert_law(answers: list[list[Round]], law: dict[int, Probabilities]) -> None:
    """Chi-square of all transitions: after each letter the letters have these probabilities."""
    counts: Counter[tuple[int, int]] = Counter()
    for rounds in answers:
        counts.update(pairwise([PROMPT[-1], *said(rounds)]))
    assert counts.total() == ANSWERS * ANSWER_TOKENS
    assert sum(step.accepted for rounds in answers for step in rounds) > 1_000
    statistic, freedom = 0.0, 0
    for start, expected_law in law.items():
        observed = np.array([counts[start, token] for token in byte_ids(LETTERS)], np.float64)
        expected = expected_law * observed.sum()
        possible = expected > 0
        assert observed[~possible].sum() == 0
        difference = observed[possible] - expected[possible]
        statistic += float((difference**2 / expected[possible]).sum())
        freedom += int(possible.sum()) - 1
    assert stats.chi2.sf(statistic, freedom) > 0.001


@pytest.mark.parametrize("rule", ["token", "block", "coupled"])
@pytest.mark.parametrize("drafter", ["model", "ngram"], indirect=True)
def test_sampled_text_has_the_law_of_the_table(
    target: Context, drafter: Drafter, table: Table, rule: RuleChoice
) -> None:
    answers = sampled_answers(target, drafter, rule, PLAIN_SOFTMAX)
    assert_law(answers, {start: softmax(table[start])[ids()] for start in ids()})


@pytest.mark.parametrize("rule", ["token", "block", "coupled"])
def test_sampled_text_has_the_law_that_the_settings_leave(
    target: Context, model_drafter: Drafter, table: Table, rule: RuleChoice
) -> None:
    """top-k, top-p, min-p and a penalty that reaches one token back."""
    sampling = SamplingSettings(
        temperature=0.9, top_k=6, top_p=0.9, min_p=0.05, presence_penalty=1.0, penalty_window=1
    )
    answers = sampled_answers(target, model_drafter, rule, sampling)
    assert_law(answers, {start: law_after(table, start, sampling) for start in ids()})


def ids() -> list[int]:
    return byte_ids(LETTERS)


def law_after(table: Table, start: int, sampling: SamplingSettings) -> Probabilities:
    """The law of the next letter, worked out stage by stage on the whole row."""
    logits = table[start].astype(np.float64)
    logits[start] -= sampling.presence_penalty
    order = np.argsort(-logits)[: sampling.top_k]
    chances = np.exp(logits[order] - logits[order[0]])
    chances /= chances.sum()
    kept = int((chances.cumsum() >= sampling.top_p).argmax()) + 1
    kept = min(kept, int((chances >= sampling.min_p * chances[0]).sum()))
    weights = np.exp(logits[order[:kept]] / sampling.temperature)
    law = np.zeros(len(logits))
    law[order[:kept]] = weights / weights.sum()
    result: Probabilities = law[ids()]
    return result


@pytest.mark.parametrize("draft_length", [1, 3, 8])
def test_coupled_draws_say_the_same_with_any_draft_and_none(
    target: Context, drafter: Drafter, draft_length: int
) -> None:
    seeded = msgspec.structs.replace(PLAIN_SOFTMAX, seed=5)
    texts = [
        said(
            speak(
                target,
                who,
                PROMPT,
                tokens=300,
                draft_length=length,
                sampling=seeded,
                rule="coupled",
            )
        )
        for who, length in ((None, 0), (drafter, draft_length))
    ]
    assert texts[0] == texts[1]


def test_log_probabilities_are_those_of_the_table(
    target: Context, model_drafter: Drafter, table: Table
) -> None:
    rounds = speak(
        target,
        model_drafter,
        PROMPT,
        tokens=200,
        draft_length=3,
        sampling=SamplingSettings(temperature=0.5, presence_penalty=1, seed=1),
        with_log_probabilities=True,
    )
    told = [value for step in rounds for value in step.log_probabilities or ()]
    transitions = pairwise([PROMPT[-1], *said(rounds)])
    expected = [float(np.log(softmax(table[start])[token])) for start, token in transitions]
    np.testing.assert_allclose(told, expected, atol=1e-3)


def test_acceptance_is_the_overlap_of_both_laws(
    target: Context, model_drafter: Drafter, table: Table, draft_table: Table
) -> None:
    """A token drafted after t is kept with probability sum min(p, q) over the rows of t."""
    answers = sampled_answers(target, model_drafter, "token", PLAIN_SOFTMAX)
    overlap = {
        start: float(np.minimum(softmax(table[start]), softmax(draft_table[start])).sum())
        for start in byte_ids(LETTERS)
    }
    expected = [
        overlap[start] for rounds in answers for start in tokens_before_tested(rounds, PROMPT[-1])
    ]
    accepted = sum(step.accepted for rounds in answers for step in rounds)
    deviation = np.sqrt(sum(chance * (1 - chance) for chance in expected))
    assert len(expected) > 2_500
    assert abs(accepted - sum(expected)) < 4 * deviation
    assert 0.5 < accepted / len(expected) < 0.95


def tokens_before_tested(rounds: list[Round], last: int) -> Iterator[int]:
    """For every tested draft token the token before it."""
    for step in rounds:
        before = [last, *step.tokens]
        yield from before[: step.accepted + (step.accepted < step.drafted)]
        last = step.tokens[-1]


def test_a_model_that_drafts_for_itself_is_always_right(target: Context, library: Library) -> None:
    own = make_model_drafter(target.model, target.model, n_ctx=N_CTX)
    for sampling in (PLAIN_SOFTMAX, SamplingSettings(temperature=0)):
        rounds = speak(target, own, PROMPT, tokens=400, draft_length=4, sampling=sampling)
        assert all(step.accepted == step.drafted for step in rounds)
    own.close()


def test_top_k_leaves_only_k_letters(target: Context, model_drafter: Drafter, table: Table) -> None:
    sampling = SamplingSettings(temperature=1.5, top_k=2, top_p=1, min_p=0, seed=5)
    tokens = said(
        speak(target, model_drafter, PROMPT, tokens=500, draft_length=3, sampling=sampling)
    )
    for start, token in zip([PROMPT[-1], *tokens[:-1]], tokens, strict=True):
        assert token in np.argsort(-table[start])[:2]


def test_the_same_seed_gives_the_same_text_again(target: Context, model_drafter: Drafter) -> None:
    seeded = msgspec.structs.replace(PLAIN_SOFTMAX, seed=7)
    answers = [
        said(speak(target, model_drafter, PROMPT, tokens=300, draft_length=3, sampling=seeded))
        for _ in range(2)
    ]
    assert answers[0] == answers[1]


def test_the_context_fills_to_its_last_cell_and_no_further(
    library: Library, table: Table, tmp_path: Path
) -> None:
    model = Model(library, write_bigram(tmp_path / "small.gguf", table))
    context = make_context(model, n_ctx=256)
    rounds = speak(context, NgramDrafter(), PROMPT, tokens=10_000, draft_length=5)
    assert len(PROMPT) + len(said(rounds)) == context.n_ctx + 1  # the last one is not decoded
    assert len(context.tokens) == context.n_ctx
    context.close()
    model.close()
