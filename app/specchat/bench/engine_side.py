"""The engine's process as it is measured: one answer after the other, round by round."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from specchat.bench.problems import EngineFailed
from specchat.bench.prompts import Prompt
from specchat.bench.variants import Variant
from specchat.engine.client import EngineClient
from specchat.engine.protocol import (
    Event,
    Failed,
    Finished,
    FinishReason,
    Generate,
    Load,
    Loaded,
    LoadProgress,
    Round,
)
from specchat.speculation.controller import ReasonKind
from specchat.speculation.metrics import Figures
from specchat.speculation.settings import SamplingSettings


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One answer, before it has a place in the record."""

    text: str
    tokens: tuple[int, ...]
    finish_reason: FinishReason
    prompt_tokens: int
    emitted: int
    decode_s: float
    tokens_per_second: float | None
    drafted: int
    accepted: int
    rule: str | None = None
    figures: Figures | None = None
    """All of the engine's figures; llama-server has none of these."""
    lengths: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    reasons: dict[ReasonKind, int] = field(default_factory=dict)


class EngineLink:
    """A loaded engine that answers prompts, each as a conversation of its own."""

    def __init__(self, client: EngineClient) -> None:
        self.client = client
        self._events: AsyncIterator[Event] = client.events()
        self._last_id = 0

    async def load(self, load: Load, progress: Callable[[str, str], None]) -> Loaded:
        """Load the pair.

        Raises:
            EngineFailed: it cannot be loaded.
        """
        await self.client.send(load)
        async for event in self._events:
            match event:
                case LoadProgress():
                    progress(f"loading the {event.step}", f"{event.fraction:.0%}")
                case Loaded():
                    return event
                case Failed():
                    raise EngineFailed(event)
                case _:
                    pass
        raise AssertionError("a client's events end with Failed")

    async def answer(
        self, variant: Variant, prompt: Prompt, sampling: SamplingSettings, max_tokens: int
    ) -> Measured:
        """Answer a prompt in a variant's way.

        Raises:
            EngineFailed: it cannot be answered.
        """
        self._last_id += 1
        await self.client.send(
            Generate(
                id=self._last_id,
                conversation=prompt.conversation,
                sampling=sampling,
                speculation=variant.speculation,
                max_tokens=max_tokens,
            )
        )
        rounds: list[Round] = []
        async for event in self._events:
            match event:
                case Round():
                    rounds.append(event)
                case Finished():
                    return _measured(event, rounds)
                case Failed():
                    raise EngineFailed(event)
                case _:
                    pass
        raise AssertionError("a client's events end with Failed")


class EngineContestant:
    """A variant, decoded by the engine."""

    def __init__(self, engine: EngineLink, variant: Variant) -> None:
        self.name = variant.name
        self._engine = engine
        self._variant = variant

    async def answer(self, prompt: Prompt, sampling: SamplingSettings, max_tokens: int) -> Measured:
        """Answer a prompt.

        Raises:
            EngineFailed: it cannot be answered.
        """
        return await self._engine.answer(self._variant, prompt, sampling, max_tokens)


def _measured(finished: Finished, rounds: list[Round]) -> Measured:
    figures = finished.figures
    return Measured(
        text=finished.text,
        tokens=finished.tokens,
        finish_reason=finished.finish_reason,
        prompt_tokens=figures.prompt_tokens,
        emitted=figures.emitted,
        decode_s=figures.decode_s,
        tokens_per_second=figures.tokens_per_second,
        drafted=figures.drafted,
        accepted=figures.accepted,
        rule=finished.rule,
        figures=figures,
        lengths=tuple(step.drafted for step in rounds),
        kept=tuple(step.accepted for step in rounds),
        reasons=dict(Counter(step.reason_kind for step in rounds)),
    )
