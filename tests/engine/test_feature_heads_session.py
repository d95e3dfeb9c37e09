"""A session drafts with any head that it is given: the text is the plain one, whatever the target.

What a head guesses is the concern of test_eagle3, test_block and test_mtp; here a conversation goes
through all of the engine.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from specchat.engine.drafter_names import DrafterName
from specchat.engine.protocol import Message, Plan
from specchat.errors import UnsupportedModel
from specchat.llama.library import Library
from specchat.speculation.settings import RuleChoice, SamplingSettings, SpeculationSettings
from support.heads import (
    MIXTURE,
    STATE,
    TARGETS,
    write_block,
    write_eagle3,
)
from support.orderly_models import recipe, write_orderly
from support.pointed_heads import write_pointed_dflash, write_pointed_eagle3
from support.speaking import Speaker
from support.tiny_models import Recipe

PLAN = Plan(n_ctx=1024, n_threads=1, max_draft_length=8, measure_costs=False, draft_required=True)
QUESTION = Message("user", "abcdefgh")
TOKENS = 40
GREEDY = SamplingSettings(temperature=0)
SEEDED = SamplingSettings(temperature=0.8, top_k=5, seed=3)

EVERY_TARGET: dict[str, Recipe] = {
    **TARGETS,
    "checkpoints": recipe(
        "qwen3next",
        block_count=4,
        full_attention_interval=2,
        expert_shared_feed_forward_length=32,
        **MIXTURE,
        **STATE,
    ),
}
"""Dense, hybrid with snapshots, sliding windows, a mixture, a hybrid without snapshots."""


def _few(library: Library, path: Path) -> Path:
    return write_eagle3(library, path, n_known=12)


def _block(kind: str) -> Callable[[Library, Path], Path]:
    return lambda library, path: write_block(library, path, kind)


HEADS: dict[str, tuple[DrafterName, Callable[[Library, Path], Path]]] = {
    "eagle3": ("eagle3", write_pointed_eagle3),
    "eagle3, few tokens": ("eagle3", _few),
    "dflash": ("dflash", write_pointed_dflash),
    "dspark": ("dspark", _block("dspark")),
    "dspark, apart": ("dspark", _block("dspark, apart")),
}


def how(sampling: SamplingSettings, length: int, *, alone: bool = True) -> SpeculationSettings:
    """Drafting of a fixed length, or plain decoding, whose text depends on the seed alone."""
    rule: RuleChoice = "greedy" if sampling.is_greedy else "coupled"
    if length == 0:
        return SpeculationSettings(drafter="none", draft_length=0, rule=rule)
    return SpeculationSettings(drafter="model" if alone else "auto", draft_length=length, rule=rule)


@pytest.fixture(params=EVERY_TARGET)
def target(request: pytest.FixtureRequest, library: Library, tmp_path: Path) -> Path:
    return write_orderly(library, tmp_path / "target.gguf", EVERY_TARGET[request.param])


@pytest.fixture(params=HEADS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def head(kind: str, library: Library, tmp_path: Path) -> Path:
    return HEADS[kind][1](library, tmp_path / "head.gguf")


def test_the_text_is_the_plain_text_for_every_length(
    library: Library, target: Path, head: Path, kind: str
) -> None:
    name = HEADS[kind][0]
    speaker = Speaker(library, target, head, PLAN)
    accepted = 0
    for sampling, lengths in ((GREEDY, (1, 3, 8)), (SEEDED, range(1, 9))):
        plain = speaker.answer(
            QUESTION, sampling=sampling, speculation=how(sampling, 0), max_tokens=TOKENS
        )
        for length in lengths:
            drafted = speaker.answer(
                QUESTION, sampling=sampling, speculation=how(sampling, length), max_tokens=TOKENS
            )
            assert drafted.tokens == plain.tokens, (sampling, length)
            assert drafted.drafter == name
            accepted += drafted.figures.accepted
    assert accepted > 10
    speaker.session.close()


def test_edits_and_repetitions_go_on_as_from_a_cold_start(
    library: Library, target: Path, head: Path, kind: str
) -> None:
    """Beside n-grams, so that the head is idle in some rounds and catches up."""
    warm, cold = Speaker(library, target, head, PLAN), Speaker(library, target, head, PLAN)
    first = warm.answer(QUESTION, sampling=SEEDED, speculation=how(SEEDED, 3), max_tokens=30)
    turns = (QUESTION, Message("assistant", first.text), Message("user", "ponm"))
    edited = (Message("user", "abcdhgfe"), *turns[1:])
    for number, conversation in enumerate((turns, edited, turns[:1], turns)):
        stopped = 4 if number == 1 else None
        both = how(SEEDED, 3, alone=False)
        if stopped:
            warm.answer(
                *conversation,
                sampling=SEEDED,
                speculation=both,
                max_tokens=TOKENS,
                abort_after=stopped,
            )
        said = warm.answer(*conversation, sampling=SEEDED, speculation=both, max_tokens=TOKENS)
        expected = cold.answer(
            *conversation, sampling=SEEDED, speculation=how(SEEDED, 0), max_tokens=TOKENS
        )
        assert said.tokens == expected.tokens
        assert said.drafter == f"ngram+{HEADS[kind][0]}"
    for speaker in (warm, cold):
        speaker.session.close()


@pytest.mark.parametrize("target", ["dense"], indirect=True)
def test_what_is_loaded_is_named_and_its_calls_are_measured(
    library: Library, target: Path, head: Path, kind: str
) -> None:
    name = HEADS[kind][0]
    plan = Plan(n_ctx=1024, n_threads=1, max_draft_length=8)
    speaker = Speaker(library, target, head, plan)
    loaded = speaker.session.loaded()
    assert loaded.draft is not None
    assert loaded.draft.architecture == ("eagle3" if name == "eagle3" else "dflash")
    assert loaded.drafter == f"ngram+{name}"
    auto = SpeculationSettings(drafter="model", rule="coupled")
    plain = speaker.answer(QUESTION, sampling=SEEDED, speculation=how(SEEDED, 0), max_tokens=TOKENS)
    finished = speaker.answer(QUESTION, sampling=SEEDED, speculation=auto, max_tokens=TOKENS)
    assert finished.tokens == plain.tokens
    speaker.session.close()


@pytest.mark.parametrize("kind", ["eagle3", "dspark"])
def test_a_head_of_another_target_is_left_out_with_a_notice_or_refused(
    library: Library, tmp_path: Path, head: Path
) -> None:
    wide = recipe("qwen3", block_count=4, embedding_length=128)
    other = write_orderly(library, tmp_path / "wide.gguf", wide)
    speaker = Speaker(library, other, head, Plan(n_ctx=1024, n_threads=1, measure_costs=False))
    loaded = speaker.session.loaded()
    assert (loaded.drafter, loaded.draft) == ("ngram", None)
    [notice] = [each for each in loaded.notices if each.kind == "unsupported_model"]
    assert "made for a target of width 64, and this one has 128" in notice.message
    speaker.session.close()
    with pytest.raises(UnsupportedModel):
        Speaker(library, other, head, PLAN)
