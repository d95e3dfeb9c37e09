"""Targets that keep a state draft like any other, and say what they would say from a cold start."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from gguf import GGMLQuantizationType

from specchat.engine.protocol import (
    Event,
    Finished,
    Generate,
    Load,
    Message,
    Pair,
    Plan,
    PromptProgress,
)
from specchat.engine.session import Session
from specchat.llama.context import CPU_BATCH, Context, Outputs
from specchat.llama.library import AbortFlag, Library
from specchat.llama.memory import ContextMemory
from specchat.llama.model import Model
from specchat.pairing.shape import MOST_SNAPSHOTS
from specchat.speculation.drafters.model import ModelDrafter
from specchat.speculation.settings import DrafterChoice, SamplingSettings, SpeculationSettings
from support.aborting import AbortInside
from support.engine_process import ask
from support.gguf_models import byte_ids
from support.heads import assert_acceptance_is_the_overlap
from support.hybrid_models import HYBRIDS, WITH_SNAPSHOTS
from support.memory_recipes import recipe
from support.often_right import OftenRight
from support.restless import assert_a_restless_conversation_is_plain
from support.speaking import Speaker, said, speak
from support.tiny_models import write_random

PLAN = Plan(n_ctx=1024, n_threads=1, max_draft_length=8, measure_costs=False)
FEW_LETTERS = "abcdefgh"
LETTERS = dict.fromkeys(byte_ids(FEW_LETTERS), 60.0)
"""With so few letters a text often says again what it said before, and never ends."""
GREEDY = SamplingSettings(temperature=0, logit_bias=LETTERS)
QUESTION = Message("user", "once-upon-a-time-there-was-a-fox")
NEXT = Message("user", "-and-a-hen.")
TOKENS = 40
LONG = 300
Save = Callable[[ContextMemory, int], None]
RIGHT = {3: 0.6, 7: 0.9, 8: 0.0}
"""How often a drafter is right, by how much it drafts."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hybrids")


@pytest.fixture(scope="module")
def paths(library: Library, folder: Path) -> dict[str, Path]:
    """A tiny random model of each architecture."""
    return {
        name: write_random(library, folder / f"{name}.gguf", each) for name, each in HYBRIDS.items()
    }


@pytest.fixture(scope="module")
def draft_paths(library: Library, folder: Path) -> dict[str, Path]:
    """The same weights in fewer bits: often right, and a model with a state as well."""
    return {
        name: write_random(
            library,
            folder / f"{name}-draft.gguf",
            replace(each, quantisation=GGMLQuantizationType.Q4_0),
        )
        for name, each in HYBRIDS.items()
    }


@pytest.fixture
def speaker(library: Library, paths: dict[str, Path]) -> Iterator[Speaker]:
    speaker = Speaker(library, paths["mamba"], plan=PLAN)
    yield speaker
    speaker.session.close()


@pytest.fixture
def cold(library: Library, paths: dict[str, Path]) -> Iterator[Speaker]:
    """A session that has said nothing yet."""
    speaker = Speaker(library, paths["mamba"], plan=PLAN)
    yield speaker
    speaker.session.close()


def plain(rule: str = "auto") -> SpeculationSettings:
    """Nothing is drafted."""
    return SpeculationSettings(
        drafter="none", draft_length=0, rule="coupled" if rule == "coupled" else "auto"
    )


def drafting(drafter: DrafterChoice, length: int) -> SpeculationSettings:
    return SpeculationSettings(drafter=drafter, draft_length=length)


def answer_of(finished: Finished) -> Message:
    return Message("assistant", finished.text)


def context_of(model: Model, n_snapshots: int = 8) -> Context:
    """Of one thread: with more, attention of a single token sums in another order."""
    return Context(
        model,
        n_ctx=512,
        n_outputs=9,
        abort=AbortFlag(model.library),
        n_threads=1,
        n_snapshots=n_snapshots,
    )


@pytest.mark.parametrize("name", HYBRIDS)
def test_greedy_text_is_the_plain_one_whatever_is_drafted_and_kept(
    library: Library, paths: dict[str, Path], name: str
) -> None:
    """Drafts that are mostly, never, and now and then right."""
    model = Model(library, paths[name])
    context = context_of(model)
    prompt = byte_ids(QUESTION.content)
    settings = SamplingSettings(temperature=0, logit_bias={2: -100.0})
    expected = said(speak(context, None, prompt, tokens=LONG, draft_length=0, sampling=settings))
    kept = replayed = 0
    for length, right in RIGHT.items():
        drafter = OftenRight([*prompt, *expected], right, seed=length)
        rounds = speak(
            context, drafter, prompt, tokens=LONG, draft_length=length, sampling=settings
        )
        assert said(rounds) == expected
        kept += sum(step.accepted for step in rounds)
        replayed += sum(step.replayed for step in rounds)
    assert kept > LONG
    assert (replayed == 0) == (name in WITH_SNAPSHOTS)
    context.close()
    model.close()


@pytest.mark.parametrize("name", HYBRIDS)
def test_every_answer_of_a_restless_conversation_is_that_of_a_cold_start(
    library: Library, paths: dict[str, Path], draft_paths: dict[str, Path], name: str
) -> None:
    """Next turns, the same again, changed messages and stops; greedy and sampled (coupled)."""
    tally = assert_a_restless_conversation_is_plain(
        library, paths[name], draft_paths[name], letters=FEW_LETTERS
    )
    assert tally.by_model > 20
    assert (tally.replayed == 0) == (name in WITH_SNAPSHOTS)


def test_acceptance_is_the_overlap_of_the_laws_of_two_models_with_a_state(
    library: Library, paths: dict[str, Path], draft_paths: dict[str, Path]
) -> None:
    """Rows of the target and of the draft, both worked out apart."""
    target, draft = Model(library, paths["qwen35"]), Model(library, draft_paths["qwen35"])
    context, drafts = context_of(target), context_of(draft, n_snapshots=0)
    drafter = ModelDrafter(drafts, target.vocabulary.n_tokens)
    assert_acceptance_is_the_overlap(
        context, drafter, byte_ids(QUESTION.content), answers=4, length=3, draft_model=draft
    )
    context.close()
    drafter.close()
    draft.close()
    target.close()


def test_it_loads_without_a_notice_and_says_how_it_steps_back(
    library: Library, paths: dict[str, Path]
) -> None:
    for name, stepping_back in (("mamba", "checkpoints"), ("qwen35", "snapshots")):
        speaker = Speaker(library, paths[name], plan=PLAN)
        loaded = speaker.session.loaded()
        assert loaded.target.architecture == name
        assert (loaded.drafter, loaded.stepping_back) == ("ngram", stepping_back)
        assert [notice.kind for notice in loaded.notices] == ["no_template"]
        speaker.session.close()


def test_an_answer_tells_what_was_decoded_again_and_how_long_stepping_back_took(
    speaker: Speaker,
) -> None:
    finished = speaker.answer(
        QUESTION, sampling=GREEDY, speculation=drafting("ngram", 4), max_tokens=200
    )
    figures = finished.figures
    assert figures.tested > figures.accepted > 0
    assert figures.replayed > 0
    assert 0 < figures.step_back_s < figures.decode_s


def test_the_length_that_is_chosen_by_itself_changes_no_text(
    speaker: Speaker, cold: Speaker
) -> None:
    auto = speaker.answer(
        QUESTION, sampling=GREEDY, speculation=SpeculationSettings(), max_tokens=LONG
    )
    expected = cold.answer(QUESTION, sampling=GREEDY, speculation=plain(), max_tokens=LONG)
    assert auto.tokens == expected.tokens
    assert auto.figures.drafted > 0


def test_no_draft_is_longer_than_the_snapshots_that_can_take_it_back(
    library: Library, paths: dict[str, Path]
) -> None:
    plan = Plan(n_ctx=1024, n_threads=1, max_draft_length=16, measure_costs=False)
    speaker = Speaker(library, paths["qwen35"], plan=plan)
    finished = speaker.answer(
        QUESTION, sampling=GREEDY, speculation=drafting("ngram", 16), max_tokens=200
    )
    assert len(finished.figures.accepted_histogram) == 1 + MOST_SNAPSHOTS
    assert finished.figures.accepted > 0
    speaker.session.close()


@pytest.mark.parametrize("name", ["mamba", "qwen35", "falcon-h1"])
def test_a_draft_models_state_after_many_rounds_is_one_built_from_scratch(
    library: Library, paths: dict[str, Path], draft_paths: dict[str, Path], name: str
) -> None:
    target, draft = Model(library, paths[name]), Model(library, draft_paths[name])
    context, drafts = context_of(target), context_of(draft, n_snapshots=0)
    drafter = ModelDrafter(drafts, target.vocabulary.n_tokens)
    rounds = speak(
        context, drafter, byte_ids(QUESTION.content), tokens=LONG, draft_length=4, sampling=GREEDY
    )
    tested = sum(min(step.accepted + 1, step.drafted) for step in rounds)
    assert 0 < sum(step.accepted for step in rounds) < tested
    tokens = list(drafts.tokens)
    drafts.decode([100], Outputs.LAST)
    row = drafts.rows(1)[0].copy()
    drafts.rollback(0)
    for _ in drafts.prefill(tokens):
        pass
    drafts.decode([100], Outputs.LAST)
    np.testing.assert_array_equal(drafts.rows(1)[0], row)
    context.close()
    drafter.close()
    draft.close()
    target.close()


def test_a_model_with_a_state_drafts_for_one_with_a_plain_cache(
    library: Library, folder: Path, draft_paths: dict[str, Path]
) -> None:
    llama = recipe("llama", n_layer=2, n_embd=64, heads=(4, 2), n_ff=96)
    path = write_random(library, folder / "llama.gguf", llama)
    plan = msgspec.structs.replace(PLAN, draft_required=True)
    speaker = Speaker(library, path, draft_paths["mamba"], plan)
    loaded = speaker.session.loaded()
    assert (loaded.drafter, loaded.stepping_back) == ("chain", "cache")
    said_now = speaker.answer(
        QUESTION, sampling=GREEDY, speculation=drafting("model", 3), max_tokens=LONG
    )
    alone = speaker.answer(QUESTION, sampling=GREEDY, speculation=plain(), max_tokens=LONG)
    assert said_now.tokens == alone.tokens
    assert 0 < said_now.figures.accepted < said_now.figures.tested
    speaker.session.close()


def test_saved_states_of_target_and_draft_keep_to_the_budget_of_each(
    library: Library,
    paths: dict[str, Path],
    draft_paths: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memories: list[ContextMemory] = []

    def save(memory: ContextMemory, length: int, real: Save = ContextMemory.save) -> None:
        real(memory, length)
        if memory not in memories:
            memories.append(memory)

    monkeypatch.setattr(ContextMemory, "save", save)
    plan = msgspec.structs.replace(PLAN, saved_states_bytes=100_000, draft_saved_states_bytes=1)
    speaker = Speaker(library, paths["mamba"], draft_paths["mamba"], plan)
    for number in range(4):
        question = Message("user", f"{QUESTION.content}{number}")
        speaker.answer(question, speculation=drafting("model", 3), max_tokens=4)
    target, draft = memories
    assert len(target.checkpoints) > 1
    assert target.saved_bytes <= 100_000
    assert len(draft.checkpoints) == 1
    speaker.session.close()


def test_the_answer_is_the_one_of_a_fresh_state_fed_token_by_token(
    library: Library, paths: dict[str, Path], speaker: Speaker
) -> None:
    """Greedy text worked out without the decoder."""
    finished = speaker.answer(QUESTION, max_tokens=10)
    model = Model(library, paths["mamba"])
    context = Context(model, n_ctx=256, n_outputs=1, abort=AbortFlag(library))
    expected: list[int] = []
    for token in byte_ids(QUESTION.content):
        context.decode([token], Outputs.LAST)
    while len(expected) < 10:
        expected.append(int(context.rows(1)[0].argmax()))
        context.decode(expected[-1:], Outputs.LAST)
    assert list(finished.tokens) == expected
    context.close()
    model.close()


def test_a_prompt_that_goes_on_reuses_the_state_and_equals_a_cold_start(
    speaker: Speaker, cold: Speaker
) -> None:
    speaker.answer(QUESTION, max_tokens=1)  # said, but not decoded: the state is the question
    longer = Message("user", QUESTION.content + NEXT.content)
    warm = speaker.answer(longer, max_tokens=TOKENS)
    assert warm.figures.reused_tokens == len(QUESTION.content)
    assert warm.tokens == cold.answer(longer, max_tokens=TOKENS).tokens


def test_a_turn_after_an_answer_equals_a_cold_start(speaker: Speaker, cold: Speaker) -> None:
    first = speaker.answer(QUESTION, max_tokens=TOKENS)
    turns = (QUESTION, answer_of(first), NEXT)
    assert (
        speaker.answer(*turns, max_tokens=TOKENS).tokens
        == cold.answer(*turns, max_tokens=TOKENS).tokens
    )


def test_an_answer_given_again_equals_a_cold_start(speaker: Speaker, cold: Speaker) -> None:
    expected = cold.answer(QUESTION, max_tokens=TOKENS)
    for _ in range(3):
        again = speaker.answer(QUESTION, max_tokens=TOKENS)
        assert again.tokens == expected.tokens
        assert again.figures.reused_tokens in (0, len(QUESTION.content) - 1)
    assert again.figures.reused_tokens > 0


@pytest.mark.parametrize("rounds", [1, 7])
def test_after_a_stopped_answer_the_next_one_equals_a_cold_start(
    speaker: Speaker, cold: Speaker, rounds: int
) -> None:
    stopped = speaker.answer(QUESTION, max_tokens=TOKENS, abort_after=rounds)
    assert stopped.finish_reason == "cancelled"
    assert stopped.figures.emitted == rounds
    again = speaker.answer(QUESTION, max_tokens=TOKENS)
    expected = cold.answer(QUESTION, max_tokens=TOKENS)
    assert again.tokens == expected.tokens
    assert expected.tokens[:rounds] == stopped.tokens


def test_after_a_stop_between_two_batches_of_the_prompt_what_was_read_stays(
    speaker: Speaker, cold: Speaker
) -> None:
    long = Message("user", "a-long-story-" * 50)
    batches = 0

    def stop_after_one_batch(event: Event) -> None:
        nonlocal batches
        batches += isinstance(event, PromptProgress) and event.done > 0
        if batches == 1:
            speaker.abort.set()

    stopped = outcome_of(speaker.session, ask(1, long.content), stop_after_one_batch)
    speaker.abort.clear()
    assert (stopped.finish_reason, stopped.text) == ("cancelled", "")
    warm = speaker.answer(long, max_tokens=TOKENS)
    assert 0 < warm.figures.reused_tokens == stopped.n_past < warm.figures.prompt_tokens - 1
    assert warm.tokens == cold.answer(long, max_tokens=TOKENS).tokens


def test_after_a_stop_inside_a_decode_the_next_answer_equals_a_cold_start(
    library: Library, paths: dict[str, Path], cold: Speaker
) -> None:
    """What is left is what was marked before that call, or saved; never half a step."""
    long = "a-long-story-" * 30  # several batches, of several micro-batches each
    abort = AbortInside(library)
    session = Session(library, Load(Pair(str(paths["mamba"])), PLAN), abort, lambda make: None)
    before = abort.asked
    outcome_of(session, ask(1, f"01-{long}", max_tokens=TOKENS, sampling=GREEDY))
    asks = abort.asked - before
    left = set()
    for number, place in enumerate(range(5, asks, asks // 20), 2):
        story = f"{number:02}-{long}"  # shares nothing with the last one
        expected = cold.answer(Message("user", story), max_tokens=TOKENS, sampling=GREEDY)
        abort.at(place)
        request = ask(number, story, max_tokens=TOKENS, sampling=GREEDY)
        stopped = outcome_of(session, request)
        assert stopped.finish_reason == "cancelled"
        assert stopped.tokens == expected.tokens[: len(stopped.tokens)]
        again = outcome_of(session, request)
        assert again.tokens == expected.tokens
        assert again.figures.reused_tokens == min(stopped.n_past, len(story) - 1)
        left.add(min(stopped.n_past, len(story) - 1))
    assert {0, CPU_BATCH[0]} < left
    session.close()


def outcome_of(
    session: Session, request: Generate, listen: Callable[[Event], None] = lambda event: None
) -> Finished:
    """The finished answer of a session."""
    events: list[Event] = []

    def emit(make: Callable[[], Event]) -> None:
        events.append(make())
        listen(events[-1])

    session.answer(request, emit)
    finished = events[-1]
    assert isinstance(finished, Finished)
    return finished
