"""A session finds the heads that a file brings, or that a file of theirs holds."""

from pathlib import Path

import pytest

from specchat.engine.protocol import Message, Plan
from specchat.errors import UnsupportedModel
from specchat.llama.library import Library
from specchat.speculation.settings import DrafterChoice, SamplingSettings, SpeculationSettings
from support.gguf_models import random_table, write_bigram
from support.heads import (
    write_assistant,
    write_gemma,
    write_mtp,
    write_sidecar,
    write_without_heads,
)
from support.speaking import Speaker

PLAN = Plan(n_ctx=2048, n_threads=1, max_draft_length=8, measure_costs=False)
QUESTION = Message("user", "abcdefgh")
SAMPLING = SamplingSettings(temperature=0.8, top_k=5, seed=3)
TOKENS = 150
PLAIN = SpeculationSettings(drafter="none", draft_length=0, rule="coupled")


def drafting(drafter: DrafterChoice = "auto", length: int = 3) -> SpeculationSettings:
    return SpeculationSettings(drafter=drafter, draft_length=length, rule="coupled")


def test_heads_in_the_targets_file_draft_beside_ngrams(library: Library, tmp_path: Path) -> None:
    speaker = Speaker(library, write_mtp(library, tmp_path / "target.gguf", "one head"), plan=PLAN)
    loaded = speaker.session.loaded()
    assert (loaded.drafter, loaded.draft) == ("ngram+mtp", None)
    choices: tuple[tuple[DrafterChoice, str], ...] = (("auto", "ngram+mtp"), ("model", "mtp"))
    for choice, name in choices:
        drafted = speaker.answer(
            QUESTION, sampling=SAMPLING, speculation=drafting(choice), max_tokens=TOKENS
        )
        assert drafted.drafter == name
        assert drafted.figures.accepted > drafted.figures.accepted_ngram
    speaker.session.close()


@pytest.mark.parametrize("kind", ["one head", "two heads", "one head, hybrid"])
def test_heads_in_a_file_of_their_own_draft_like_built_in_ones(
    library: Library, tmp_path: Path, kind: str
) -> None:
    whole = write_mtp(library, tmp_path / "whole.gguf", kind)
    target = write_without_heads(library, tmp_path / "target.gguf", kind)
    sidecar = write_sidecar(library, tmp_path / "heads.gguf", kind)
    answers = []
    for speaker in (
        Speaker(library, whole, plan=PLAN),
        Speaker(library, target, sidecar, plan=PLAN),
    ):
        finished = speaker.answer(
            QUESTION, sampling=SAMPLING, speculation=drafting("model"), max_tokens=TOKENS
        )
        answers.append((finished.tokens, finished.figures.drafted, finished.figures.accepted))
        assert finished.drafter == "mtp"
        speaker.session.close()
    assert answers[0] == answers[1]


def test_heads_that_attend_to_their_targets_cells_draft_from_their_file(
    library: Library, tmp_path: Path
) -> None:
    target = write_gemma(library, tmp_path / "target.gguf")
    heads = write_assistant(library, tmp_path / "heads.gguf")
    plan = Plan(n_ctx=2048, n_threads=1, max_draft_length=8, draft_required=True)
    speaker = Speaker(library, target, heads, plan)
    loaded = speaker.session.loaded()
    assert loaded.drafter == "ngram+mtp"
    assert loaded.draft is not None
    assert loaded.draft.architecture == "gemma4-assistant"
    plain = speaker.answer(QUESTION, sampling=SAMPLING, speculation=PLAIN, max_tokens=TOKENS)
    for length in (1, 4):
        drafted = speaker.answer(
            QUESTION, sampling=SAMPLING, speculation=drafting("model", length), max_tokens=TOKENS
        )
        assert drafted.tokens == plain.tokens
        assert drafted.figures.accepted > 20
    speaker.session.close()


def test_the_adaptive_length_asks_chained_heads_for_no_more_than_they_can_guess(
    library: Library, tmp_path: Path
) -> None:
    path = write_mtp(library, tmp_path / "target.gguf", "two heads")
    plan = Plan(n_ctx=2048, n_threads=1, max_draft_length=8)
    speaker = Speaker(library, path, plan=plan)
    auto = SpeculationSettings(drafter="model", rule="coupled")
    plain = speaker.answer(QUESTION, sampling=SAMPLING, speculation=PLAIN, max_tokens=TOKENS)
    finished = speaker.answer(QUESTION, sampling=SAMPLING, speculation=auto, max_tokens=TOKENS)
    assert finished.tokens == plain.tokens
    assert len(finished.figures.tested_at) <= 8
    assert sum(finished.figures.tested_at[2:]) == 0
    speaker.session.close()


def test_a_stopped_answer_goes_on_as_if_it_had_not_been_stopped(
    library: Library, tmp_path: Path
) -> None:
    speaker = Speaker(library, write_mtp(library, tmp_path / "target.gguf", "one head"), plan=PLAN)
    choices: tuple[DrafterChoice, ...] = ("auto", "model", "ngram", "none")
    for speculation in map(drafting, choices):
        whole, begun = (
            speaker.answer(QUESTION, sampling=SAMPLING, speculation=speculation, max_tokens=tokens)
            for tokens in (TOKENS, 61)
        )
        rest = speaker.answer(
            QUESTION,
            begun=begun.text,
            sampling=SAMPLING,
            speculation=speculation,
            max_tokens=TOKENS - 61,
        )
        assert begun.tokens + rest.tokens == whole.tokens
        assert begun.text + rest.text == whole.text
    speaker.session.close()


def test_a_header_that_promises_heads_without_tensors_is_answered_by_ngrams(
    library: Library, tmp_path: Path
) -> None:
    path = write_without_heads(library, tmp_path / "target.gguf", "one head", promised=True)
    speaker = Speaker(library, path, plan=PLAN)
    assert speaker.session.loaded().drafter == "ngram"
    assert speaker.answer(QUESTION, max_tokens=20).figures.emitted == 20
    speaker.session.close()


def test_heads_that_nobody_wants_are_not_loaded(library: Library, tmp_path: Path) -> None:
    path = write_mtp(library, tmp_path / "target.gguf", "one head")
    plan = Plan(n_ctx=2048, n_threads=1, measure_costs=False, built_in_heads=False)
    speaker = Speaker(library, path, plan=plan)
    assert speaker.session.loaded().drafter == "ngram"
    speaker.session.close()


def test_heads_of_another_target_are_left_out_with_a_notice(
    library: Library, tmp_path: Path
) -> None:
    target = write_bigram(tmp_path / "target.gguf", random_table(0, "abcd"))
    sidecar = write_sidecar(library, tmp_path / "heads.gguf", "one head")
    speaker = Speaker(library, target, sidecar, plan=PLAN)
    assert speaker.session.loaded().drafter == "ngram"
    [notice] = [n for n in speaker.session.loaded().notices if n.kind == "unsupported_model"]
    assert "does not give out the hidden states of llama" in notice.message
    speaker.session.close()
    with pytest.raises(UnsupportedModel):
        Speaker(
            library,
            target,
            sidecar,
            plan=Plan(n_ctx=2048, n_threads=1, measure_costs=False, draft_required=True),
        )
