"""The interleaved run: every variant answers a prompt before the next prompt comes."""

from collections.abc import Sequence
from time import monotonic
from typing import Protocol

from msgspec.structs import replace

from specchat.bench.engine_side import Measured
from specchat.bench.progress import Progress
from specchat.bench.prompts import Prompt, Question
from specchat.bench.record import Answer, Difference
from specchat.bench.variants import PLAIN
from specchat.speculation.settings import SamplingSettings

WARM_UP_TOKENS = 24
EXCERPT = 40
"""Characters shown of texts that differ."""


class Contestant(Protocol):
    """Something that answers prompts and tells how fast."""

    name: str

    async def answer(self, prompt: Prompt, sampling: SamplingSettings, max_tokens: int) -> Measured:
        """Answer a prompt, with nothing before it in the conversation."""
        ...


def turn_order(count: int, turn: int) -> list[int]:
    """In which order so many contestants answer in this turn.

    Each turn begins with the next one, and when each has been first all runs backwards: nobody
    always comes first, and nobody always comes after the same one.
    """
    order = [(turn + place) % count for place in range(count)]
    return order[::-1] if turn // count % 2 else order


class Run:
    """Asks all questions of all contestants, `repetitions` times, and keeps the answers.

    Args:
        sampling: its seed is that of the first turn; each turn adds 1.
        max_tokens: length of an answer at most.
    """

    def __init__(
        self,
        contestants: Sequence[Contestant],
        questions: Sequence[Question],
        *,
        sampling: SamplingSettings,
        max_tokens: int,
        repetitions: int,
        progress: Progress,
    ) -> None:
        self.answers: list[Answer] = []
        self.differences: list[Difference] = []
        """At temperature 0 only."""
        self.warnings: list[str] = []
        self.duration_s = 0.0
        self._contestants = contestants
        self._questions = questions
        self._sampling = sampling
        self._max_tokens = max_tokens
        self._repetitions = repetitions
        self._progress = progress
        self._began = 0.0

    async def warm_up(self) -> None:
        """One short answer of each, which does not count."""
        for contestant in self._contestants:
            self._progress.phase(f"warming up: {contestant.name}")
            await contestant.answer(self._questions[0].prompt, self._sampling, WARM_UP_TOKENS)

    async def measure(self) -> None:
        """All turns. The repetitions come one after the other, each with all questions."""
        self._began = monotonic()
        self._progress.begin()
        turns = [
            (repetition, question)
            for repetition in range(1, self._repetitions + 1)
            for question in self._questions
        ]
        total = len(turns) * len(self._contestants)
        for turn, (repetition, question) in enumerate(turns):
            sampling = replace(self._sampling, seed=(self._sampling.seed or 0) + turn)
            answers: dict[str, Measured] = {}
            for place in turn_order(len(self._contestants), turn):
                contestant = self._contestants[place]
                label = f"{question.set} {question.number}, {contestant.name}"
                self._progress.step(len(self.answers), total, label)
                started_s = monotonic() - self._began
                measured = await contestant.answer(question.prompt, sampling, self._max_tokens)
                answers[contestant.name] = measured
                self.answers.append(
                    _answer(question, repetition, contestant.name, started_s, measured)
                )
            self._compare(question, repetition, answers)
        self.duration_s = monotonic() - self._began
        self._progress.close()

    def _compare(self, question: Question, repetition: int, answers: dict[str, Measured]) -> None:
        """Hold the answers of a turn against the plain one."""
        plain = answers[PLAIN]
        for name, measured in answers.items():
            if measured.prompt_tokens != plain.prompt_tokens:
                self._warn(
                    f"{name} was given other prompts: {measured.prompt_tokens} tokens instead of "
                    f"{plain.prompt_tokens} in {question.set} {question.number}."
                )
            token = first_difference(plain, measured) if self._sampling.is_greedy else None
            if token is not None:
                at = _shared(plain.text, measured.text)
                self.differences.append(
                    Difference(
                        set=question.set,
                        prompt=question.number,
                        repetition=repetition,
                        variant=name,
                        token=token,
                        plain_text=plain.text[at : at + EXCERPT],
                        text=measured.text[at : at + EXCERPT],
                    )
                )

    def _warn(self, text: str) -> None:
        name = text.split()[0]
        if not any(warning.startswith(f"{name} ") for warning in self.warnings):
            self.warnings.append(text)


def first_difference(plain: Measured, other: Measured) -> int | None:
    """Index of the first token that is not the plain answer's; None when they are the same.

    llama-server leaves the token out that ends an answer.
    """
    one, two = plain.tokens, other.tokens
    shared = _shared(one, two)
    if shared == len(one) == len(two):
        return None
    ended = plain.finish_reason == other.finish_reason == "stop"
    if ended and shared == min(len(one), len(two)) and abs(len(one) - len(two)) == 1:
        return None
    return shared


def _shared(one: Sequence[object], two: Sequence[object]) -> int:
    """How much of their beginnings is the same."""
    for place, (mine, theirs) in enumerate(zip(one, two, strict=False)):
        if mine != theirs:
            return place
    return min(len(one), len(two))


def _answer(
    question: Question, repetition: int, variant: str, started_s: float, measured: Measured
) -> Answer:
    figures = measured.figures
    return Answer(
        set=question.set,
        prompt=question.number,
        repetition=repetition,
        variant=variant,
        started_s=started_s,
        rule=measured.rule,
        finish_reason="length" if measured.finish_reason == "length" else "stop",
        prompt_tokens=measured.prompt_tokens,
        emitted=measured.emitted,
        decode_s=measured.decode_s,
        tokens_per_second=measured.tokens_per_second,
        drafted=measured.drafted,
        accepted=measured.accepted,
        tested=figures.tested if figures else None,
        rounds=figures.rounds if figures else None,
        accepted_histogram=figures.accepted_histogram if figures else (),
        tested_at=figures.tested_at if figures else (),
        draft_s=figures.draft_s if figures else None,
        verify_s=figures.verify_s if figures else None,
        draft_decode_s=figures.draft_decode_s if figures else None,
        step_back_s=figures.step_back_s if figures else None,
        replayed=figures.replayed if figures else None,
        snapshots_s=figures.snapshots_s if figures else None,
        accepted_ngram=figures.accepted_ngram if figures else None,
        lengths=measured.lengths,
        kept=measured.kept,
        reasons=measured.reasons,
    )
