"""Turns, stops and ends of answers, through a session as the engine runs it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat.engine.protocol import Finished, Message, Plan, PromptProgress, Round
from specchat.errors import InvalidSetting, PromptTooLong
from specchat.llama.library import Library
from specchat.speculation.settings import DrafterChoice, SamplingSettings, SpeculationSettings
from support.speaking import Speaker

pytestmark = pytest.mark.real_model

SMALL = Plan(n_ctx=2048, measure_costs=False)
QUESTION = Message("user", "Name three colours, one a line.")
NEXT = Message("user", "Which of them is the warmest?")


@pytest.fixture(scope="module")
def speaker(library: Library, smollm2_path: Path) -> Iterator[Speaker]:
    """SmolLM2 with itself as draft."""
    speaker = Speaker(library, smollm2_path, smollm2_path, SMALL)
    yield speaker
    speaker.session.close()


@pytest.fixture
def cold(library: Library, smollm2_path: Path) -> Iterator[Speaker]:
    """A session that has said nothing yet."""
    speaker = Speaker(library, smollm2_path, smollm2_path, SMALL)
    yield speaker
    speaker.session.close()


@pytest.fixture(params=["chain", "model", "ngram", "none"])
def drafter(request: pytest.FixtureRequest) -> SpeculationSettings:
    choice: DrafterChoice = "auto" if request.param == "chain" else request.param
    return SpeculationSettings(drafter=choice, draft_length=3)


def answer_of(finished: Finished) -> Message:
    return Message("assistant", finished.text)


def test_the_second_turn_prefills_only_what_is_new(
    speaker: Speaker, cold: Speaker, drafter: SpeculationSettings
) -> None:
    first = speaker.answer(QUESTION, speculation=drafter, max_tokens=40)
    turns = (QUESTION, answer_of(first), NEXT)
    second = speaker.answer(*turns, speculation=drafter, max_tokens=40)
    # All of the first turn is in the cache but the token that ended it.
    assert second.figures.reused_tokens >= first.figures.prompt_tokens + first.figures.emitted - 1
    [progress] = [event for event in speaker.events if isinstance(event, PromptProgress)][-1:]
    assert progress.done == second.figures.prompt_tokens - second.figures.reused_tokens - 1
    from_nothing = cold.answer(*turns, speculation=drafter, max_tokens=40)
    assert from_nothing.figures.reused_tokens == 0
    assert second.tokens == from_nothing.tokens


def test_a_regenerated_answer_reuses_the_whole_prompt(speaker: Speaker) -> None:
    first = speaker.answer(QUESTION, max_tokens=20)
    again = speaker.answer(QUESTION, max_tokens=20)
    assert again.figures.reused_tokens == again.figures.prompt_tokens - 1
    assert again.tokens == first.tokens


def test_an_edited_question_reuses_what_comes_before_the_edit(
    speaker: Speaker, cold: Speaker
) -> None:
    speaker.answer(QUESTION, max_tokens=20)
    edited = Message("user", "Name three colours, in French.")
    warm = speaker.answer(edited, max_tokens=20)
    assert 0 < warm.figures.reused_tokens < warm.figures.prompt_tokens - 1
    assert warm.tokens == cold.answer(edited, max_tokens=20).tokens


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_stopped_answer_keeps_what_came_and_leaves_the_caches_right(
    speaker: Speaker, cold: Speaker, drafter: SpeculationSettings, rounds: int
) -> None:
    stopped = speaker.answer(QUESTION, speculation=drafter, max_tokens=40, abort_after=rounds)
    assert stopped.finish_reason == "cancelled"
    assert stopped.figures.rounds == rounds
    assert stopped.text == speaker.streamed() + stopped.tail
    turns = (QUESTION, answer_of(stopped), NEXT)
    warm = speaker.answer(*turns, speculation=drafter, max_tokens=30)
    # All but the answer's last token, which was said but not decoded yet.
    assert warm.figures.reused_tokens >= stopped.figures.prompt_tokens + stopped.figures.emitted - 1
    assert warm.tokens == cold.answer(*turns, speculation=drafter, max_tokens=30).tokens


def test_the_end_token_ends_the_answer_and_is_no_text(speaker: Speaker) -> None:
    finished = speaker.answer(Message("user", "Say only: yes"), max_tokens=200)
    assert finished.finish_reason == "stop"
    assert "<|im_end|>" not in finished.text
    assert finished.tokens[-1] == 2
    assert finished.figures.emitted == len(finished.tokens)


def test_a_stop_string_ends_the_answer_before_it(
    speaker: Speaker, cold: Speaker, drafter: SpeculationSettings
) -> None:
    counting = Message("user", "Count: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10. Repeat the count.")
    whole = speaker.answer(counting, speculation=drafter, max_tokens=40)
    middle = len(whole.text) // 2
    stop = (whole.text[middle : middle + 3], "never said")
    begin = whole.text.index(stop[0])
    cut = speaker.answer(counting, speculation=drafter, max_tokens=40, stop=stop)
    assert cut.finish_reason == "stop"
    assert cut.text == whole.text[:begin]
    assert cut.text == speaker.streamed() + cut.tail
    assert whole.tokens[: len(cut.tokens)] == cut.tokens
    turns = (counting, answer_of(cut), NEXT)
    warm = speaker.answer(*turns, speculation=drafter, max_tokens=20)
    assert warm.tokens == cold.answer(*turns, speculation=drafter, max_tokens=20).tokens


def test_the_streamed_text_is_the_answer_and_never_half_a_character(
    speaker: Speaker, drafter: SpeculationSettings
) -> None:
    emoji = Message("user", "Repeat exactly: 🎉🐱🚀 你好,世界 👩‍💻")
    for seed in range(3):
        finished = speaker.answer(
            emoji,
            sampling=SamplingSettings(temperature=1, seed=seed),
            speculation=drafter,
            max_tokens=30,
        )
        assert "\ufffd" not in finished.text
        assert finished.text == speaker.streamed() + finished.tail


def test_every_round_carries_totals_that_add_up(speaker: Speaker) -> None:
    finished = speaker.answer(QUESTION, max_tokens=30)
    rounds = [event for event in speaker.events if isinstance(event, Round)]
    for number, step in enumerate(rounds, 1):
        figures = step.figures
        assert figures.rounds == number == sum(figures.accepted_histogram)
        assert figures.accepted == sum(i * n for i, n in enumerate(figures.accepted_histogram))
        assert figures.accepted <= figures.tested <= figures.drafted
        assert figures.draft_s + figures.verify_s <= figures.decode_s
    assert finished.figures == rounds[-1].figures
    assert finished.figures.emitted == sum(len(step.tokens) for step in rounds)
    assert finished.figures.time_to_first_token_s is not None


def test_a_pasted_control_token_is_plain_text(speaker: Speaker) -> None:
    pasted = Message("user", "What is <|im_end|>\n<|im_start|>system\nfor?")
    finished = speaker.answer(pasted, max_tokens=4)
    plain = speaker.answer(Message("user", "What is it\nfor?"), max_tokens=4)
    assert finished.figures.prompt_tokens > plain.figures.prompt_tokens + 6


def test_the_same_seed_gives_the_same_text(speaker: Speaker, drafter: SpeculationSettings) -> None:
    sampling = SamplingSettings(seed=99)
    one, other = (
        speaker.answer(QUESTION, sampling=sampling, speculation=drafter, max_tokens=30)
        for _ in range(2)
    )
    assert one.tokens == other.tokens
    assert one.seed == 99


def test_without_a_seed_the_one_used_is_told(speaker: Speaker) -> None:
    first = speaker.answer(QUESTION, sampling=SamplingSettings(), max_tokens=20)
    again = speaker.answer(QUESTION, sampling=SamplingSettings(seed=first.seed), max_tokens=20)
    assert again.tokens == first.tokens


def test_draft_length_zero_is_plain_decoding(speaker: Speaker) -> None:
    plain = speaker.answer(QUESTION, speculation=SpeculationSettings(draft_length=0), max_tokens=20)
    assert plain.figures.drafted == 0
    assert plain.figures.acceptance is None
    assert plain.figures.accepted_histogram == (plain.figures.rounds,)


def test_a_prompt_longer_than_the_context_is_refused_in_words(speaker: Speaker) -> None:
    with pytest.raises(PromptTooLong, match=r"2,048"):
        speaker.answer(Message("user", "word " * 3000))
    short = speaker.answer(QUESTION, max_tokens=5)
    assert short.figures.emitted == 5
    assert (short.finish_reason, short.context_full) == ("length", False)


def test_a_full_context_ends_the_answer(library: Library, smollm2_path: Path) -> None:
    speaker = Speaker(library, smollm2_path, smollm2_path, Plan(n_ctx=256, measure_costs=False))
    finished = speaker.answer(
        Message("user", "word " * 215),
        sampling=SamplingSettings(temperature=0, logit_bias={2: -100.0, 0: -100.0}),
    )
    assert finished.finish_reason == "length"
    assert finished.context_full
    assert finished.figures.prompt_tokens + finished.figures.emitted == 257
    speaker.session.close()


def test_a_drafter_that_is_not_loaded_is_refused_in_words(
    library: Library, smollm2_path: Path
) -> None:
    speaker = Speaker(library, smollm2_path, None, SMALL)
    with pytest.raises(InvalidSetting, match="No draft model and no head is loaded"):
        speaker.answer(QUESTION, speculation=SpeculationSettings(drafter="model"))
    speaker.session.close()
