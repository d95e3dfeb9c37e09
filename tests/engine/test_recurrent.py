"""A target whose state cannot step back: plain decoding, and every answer as from a cold start."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

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
from specchat.errors import DraftMismatch
from specchat.llama.context import Context, Outputs
from specchat.llama.library import AbortFlag, Library
from specchat.llama.model import Model
from specchat.speculation.settings import DrafterChoice, SamplingSettings, SpeculationSettings
from support.aborting import AbortInside
from support.engine_process import ask
from support.gguf_models import byte_ids, random_table, write_bigram, write_mamba
from support.speaking import Speaker

PLAN = Plan(n_ctx=1024, measure_costs=False)
QUESTION = Message("user", "once-upon-a-time-there-was-a-fox")
NEXT = Message("user", "-and-a-hen.")
TOKENS = 40


@pytest.fixture(scope="module")
def mamba_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_mamba(tmp_path_factory.mktemp("mamba") / "mamba.gguf")


@pytest.fixture(scope="module")
def bigram_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = random_table(0, "abcdefgh")
    return write_bigram(tmp_path_factory.mktemp("bigram") / "bigram.gguf", table)


@pytest.fixture
def speaker(library: Library, mamba_path: Path) -> Iterator[Speaker]:
    speaker = Speaker(library, mamba_path, plan=PLAN)
    yield speaker
    speaker.session.close()


@pytest.fixture
def cold(library: Library, mamba_path: Path) -> Iterator[Speaker]:
    """A session that has said nothing yet."""
    speaker = Speaker(library, mamba_path, plan=PLAN)
    yield speaker
    speaker.session.close()


def answer_of(finished: Finished) -> Message:
    return Message("assistant", finished.text)


def test_it_loads_and_says_that_it_decodes_plainly(speaker: Speaker) -> None:
    loaded = speaker.session.loaded()
    assert loaded.target.architecture == "mamba"
    assert loaded.drafter == "none"
    [notice] = [notice for notice in loaded.notices if notice.kind == "plain_decoding"]
    assert "tiny mamba keeps a state that cannot step back" in notice.message
    finished = speaker.answer(QUESTION, max_tokens=TOKENS)
    assert finished.drafter == "none"
    assert finished.figures.emitted == TOKENS


@pytest.mark.parametrize("choice", ["auto", "ngram", "none"])
def test_a_draft_length_that_is_asked_for_changes_nothing(
    speaker: Speaker, cold: Speaker, choice: DrafterChoice
) -> None:
    for sampling in (SamplingSettings(temperature=0), SamplingSettings(seed=3)):
        asked = speaker.answer(
            QUESTION,
            sampling=sampling,
            speculation=SpeculationSettings(drafter=choice, draft_length=4),
            max_tokens=TOKENS,
        )
        plain = cold.answer(
            QUESTION,
            sampling=sampling,
            speculation=SpeculationSettings(drafter="none", draft_length=0),
            max_tokens=TOKENS,
        )
        assert asked.tokens == plain.tokens
        assert (asked.figures.drafted, asked.draft_length) == (0, 0)
        assert asked.figures.rounds == TOKENS


def test_the_answer_is_the_one_of_a_fresh_state_fed_token_by_token(
    library: Library, mamba_path: Path, speaker: Speaker
) -> None:
    """Greedy text worked out without the decoder."""
    finished = speaker.answer(QUESTION, max_tokens=10)
    model = Model(library, mamba_path)
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
        assert again.figures.reused_tokens == 0


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
    library: Library, mamba_path: Path, cold: Speaker
) -> None:
    long = "a-long-story-" * 30  # several batches, of several micro-batches each
    expected = cold.answer(Message("user", long), max_tokens=TOKENS)
    abort = AbortInside(library)
    session = Session(library, Load(Pair(str(mamba_path)), PLAN), abort, lambda make: None)
    before = abort.asked
    outcome_of(session, ask(1, long, max_tokens=TOKENS))
    asks = abort.asked - before
    for number, place in enumerate(range(5, asks, asks // 20), 2):
        abort.at(place)
        stopped = outcome_of(session, ask(number, long, max_tokens=TOKENS))
        assert stopped.finish_reason == "cancelled"
        assert stopped.n_past == 0  # half a step is no state
        assert stopped.tokens == expected.tokens[: len(stopped.tokens)]
        again = outcome_of(session, ask(number, long, max_tokens=TOKENS))
        assert again.tokens == expected.tokens
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


def test_a_recurrent_draft_is_refused_in_words(
    library: Library, bigram_path: Path, mamba_path: Path
) -> None:
    with pytest.raises(DraftMismatch) as refused:
        Speaker(
            library,
            bigram_path,
            mamba_path,
            Plan(n_ctx=1024, measure_costs=False, draft_required=True),
        )
    assert "mamba, keeps a state that cannot step back" in refused.value.happened
    assert "mamba.gguf for bigram.gguf" in refused.value.tried
    assert refused.value.next_step


def test_without_its_recurrent_draft_a_chat_drafts_by_ngrams(
    library: Library, bigram_path: Path, mamba_path: Path
) -> None:
    speaker = Speaker(library, bigram_path, mamba_path, PLAN)
    loaded = speaker.session.loaded()
    assert (loaded.draft, loaded.drafter) == (None, "ngram")
    assert "draft_mismatch" in [notice.kind for notice in loaded.notices]
    speaker.session.close()
