"""The interleaved run, with contestants that answer from a script."""

import io
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from specchat.bench.engine_side import Measured
from specchat.bench.progress import Progress, duration
from specchat.bench.prompts import Prompt, Question, questions, read_prompt_sets
from specchat.bench.runner import WARM_UP_TOKENS, Run, turn_order
from specchat.errors import InvalidSetting
from specchat.speculation.settings import SamplingSettings

GREEDY = SamplingSettings(temperature=0, seed=5)
SAMPLED = SamplingSettings(temperature=1, seed=5)
ASKED = [
    Question(name, number, Prompt(f"{name} {number}"))
    for number in (1, 2)
    for name in ("chat", "code")
]


class Scripted:
    """Says the same of every prompt, and writes down what it was asked."""

    def __init__(self, name: str, log: list[tuple[str, str, int | None, int]], text: str) -> None:
        self.name = name
        self._log = log
        self._text = text

    async def answer(self, prompt: Prompt, sampling: SamplingSettings, max_tokens: int) -> Measured:
        self._log.append((self.name, prompt.text, sampling.seed, max_tokens))
        return measured(self._text)


def measured(text: str, *, ended: bool = False, prompt_tokens: int = 9) -> Measured:
    return Measured(
        text=text,
        tokens=tuple(text.encode()),
        finish_reason="stop" if ended else "length",
        prompt_tokens=prompt_tokens,
        emitted=len(text),
        decode_s=1.0,
        tokens_per_second=float(len(text)),
        drafted=0,
        accepted=0,
    )


async def run_of(
    texts: dict[str, str], sampling: SamplingSettings = GREEDY, repetitions: int = 2
) -> tuple[Run, list[tuple[str, str, int | None, int]]]:
    log: list[tuple[str, str, int | None, int]] = []
    run = Run(
        [Scripted(name, log, text) for name, text in texts.items()],
        ASKED,
        sampling=sampling,
        max_tokens=16,
        repetitions=repetitions,
        progress=Progress(io.StringIO()),
    )
    await run.warm_up()
    warm_up, log[:] = log[:], []
    assert [entry[3] for entry in warm_up] == [WARM_UP_TOKENS] * len(texts)
    await run.measure()
    return run, log


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_every_turn_has_everyone_and_everyone_comes_first_equally_often(count: int) -> None:
    orders = [turn_order(count, turn) for turn in range(2 * count)]

    assert all(sorted(order) == list(range(count)) for order in orders)
    assert set(Counter(order[0] for order in orders).values()) == {2}


def test_two_contestants_alternate() -> None:
    assert [turn_order(2, turn) for turn in range(4)] == [[0, 1], [1, 0], [1, 0], [0, 1]]


def test_nobody_always_comes_after_the_same_one() -> None:
    before: dict[int, set[int]] = {}
    for turn in range(10):
        for earlier, later in pairwise(turn_order(5, turn)):
            before.setdefault(later, set()).add(earlier)

    assert all(len(earlier) > 1 for earlier in before.values())


async def test_all_answer_a_prompt_before_the_next_one_comes() -> None:
    run, log = await run_of({"plain": "a", "ngram:3": "a", "auto": "a"})

    turns = [log[at : at + 3] for at in range(0, len(log), 3)]
    assert [turn[0][1] for turn in turns] == 2 * [question.prompt.text for question in ASKED]
    assert all({entry[1] for entry in turn} == {turn[0][1]} for turn in turns)
    assert {entry[3] for entry in log} == {16}
    assert [(each.set, each.prompt, each.repetition) for each in run.answers[::3]] == [
        (question.set, question.number, repetition) for repetition in (1, 2) for question in ASKED
    ]


async def test_all_variants_of_a_turn_share_its_seed_and_turns_have_different_ones() -> None:
    _, log = await run_of({"plain": "a", "auto": "a"}, SAMPLED)

    seeds = [entry[2] for entry in log]
    assert seeds == [5 + turn for turn in range(8) for _ in range(2)]


async def test_a_greedy_text_that_differs_is_told_with_its_place() -> None:
    run, _ = await run_of({"plain": "the same", "auto": "the sane", "ngram:3": "the same"})

    assert {each.variant for each in run.differences} == {"auto"}
    assert len(run.differences) == 8
    difference = run.differences[0]
    assert (difference.set, difference.prompt, difference.repetition) == ("chat", 1, 1)
    assert (difference.token, difference.plain_text, difference.text) == (6, "me", "ne")


async def test_sampled_texts_are_not_compared() -> None:
    run, _ = await run_of({"plain": "one", "auto": "other"}, SAMPLED)

    assert run.differences == []


async def test_an_answer_that_goes_on_where_plain_ended_differs() -> None:
    run, _ = await run_of({"plain": "abc", "auto": "abcd"}, repetitions=1)

    assert [each.token for each in run.differences] == [3] * 4


def test_progress_tells_the_time_left_and_is_short_in_a_pipe() -> None:
    out = io.StringIO()
    progress = Progress(out)
    for percent in range(101):
        progress.phase("loading the target", f"{percent}%")
    progress.begin()
    for done in range(200):
        progress.step(done, 200, "chat 1, plain")
    progress.close()

    lines = out.getvalue().splitlines()
    assert lines[0] == "loading the target"
    assert len(lines) == 10
    assert lines[-1] == " 90 %, 180 of 200 answers, 0 s left, chat 1, plain"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_is_one_line_that_goes_away() -> None:
    out = Terminal()
    progress = Progress(out)
    progress.phase("loading the target", "50%")
    progress.step(1, 2, "chat 1, plain")
    progress.close()

    assert "\n" not in out.getvalue()
    assert "loading the target 50%" in out.getvalue()
    assert out.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (89, "89 s"), (125, "2 min"), (3599, "1 h 0 min"), (5000, "1 h 23 min")],
)
def test_durations_are_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_there_are_seven_sets_of_at_least_eight_prompts() -> None:
    sets = read_prompt_sets()

    names = [each.name for each in sets]
    assert names == ["chat", "chinese", "code", "extract", "reason", "rewrite", "story"]
    assert all(len(each.prompt) >= 8 for each in sets)
    texts = [prompt.text for each in sets for prompt in each.prompt]
    assert len(set(texts)) == len(texts)
    for name in ("rewrite", "extract"):
        [found] = read_prompt_sets([name])
        assert all(80 <= len(prompt.text.split()) <= 250 for prompt in found.prompt)


def test_a_prompt_becomes_a_conversation() -> None:
    conversation = Prompt("\nHello\n", system="Be brief.").conversation

    assert [(turn.role, turn.content) for turn in conversation] == [
        ("system", "Be brief."),
        ("user", "Hello"),
    ]
    assert len(Prompt("Hello").conversation) == 1


def test_sets_take_turns(tmp_path: Path) -> None:
    for name, count in [("a", 3), ("b", 1)]:
        prompts = "\n".join(f'[[prompt]]\ntext = "{name}{n}"' for n in range(count))
        (tmp_path / f"{name}.toml").write_text(f'name = "{name}"\ntitle = "T"\n{prompts}\n')
    sets = read_prompt_sets(["b", "a"], tmp_path)

    assert [question.prompt.text for question in questions(sets)] == ["b0", "a0", "a1", "a2"]
    assert [question.prompt.text for question in questions(sets, 1)] == ["b0", "a0"]


def test_an_unknown_set_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidSetting, match=r"'poems'.*chat, chinese, code"):
        read_prompt_sets(["poems"])
