"""Driving the decoder and a session in the test's own process."""

from collections.abc import Callable, Sequence
from pathlib import Path

from specchat.engine import protocol as events
from specchat.engine.protocol import Event, Finished, Generate, Load, Message, Pair, Plan
from specchat.engine.session import Session
from specchat.llama.context import Context
from specchat.llama.library import AbortFlag, Library
from specchat.llama.model import Model
from specchat.speculation.controller import FixedLength, LengthController
from specchat.speculation.decoder import Decoder, Round
from specchat.speculation.drafters.base import Drafter, ModelLikeDrafter
from specchat.speculation.drafters.model import ModelDrafter
from specchat.speculation.sampling import Sampler
from specchat.speculation.settings import RuleChoice, SamplingSettings, SpeculationSettings

GREEDY = SamplingSettings(temperature=0)
THREE = SpeculationSettings(draft_length=3)
MAX_DRAFT_LENGTH = 16


def make_context(
    model: Model, *, n_ctx: int = 2048, n_outputs: int | None = None, n_threads: int = 1
) -> Context:
    """A context as the engine makes it, but for the threads: with tiny models others only wait."""
    return Context(
        model,
        n_ctx=n_ctx,
        n_outputs=1 + MAX_DRAFT_LENGTH if n_outputs is None else n_outputs,
        n_threads=n_threads,
        abort=AbortFlag(model.library),
    )


def make_model_drafter(
    target: Model, draft: Model, *, n_ctx: int = 2048, n_threads: int = 1
) -> ModelDrafter:
    """A draft model with its own cache."""
    context = make_context(draft, n_ctx=n_ctx, n_outputs=1, n_threads=n_threads)
    return ModelDrafter(context, target.vocabulary.n_tokens)


def speak(
    target: Context,
    drafter: Drafter | None,
    prompt: Sequence[int],
    *,
    tokens: int,
    draft_length: int,
    sampling: SamplingSettings = GREEDY,
    rule: RuleChoice = "auto",
    controller: LengthController | None = None,
    with_log_probabilities: bool = False,
) -> list[Round]:
    """The rounds of one answer; a controller goes before a draft length."""
    decoder = Decoder(
        target,
        drafter,
        Sampler(sampling),
        SpeculationSettings(rule=rule).effective_rule(sampling),
        controller or FixedLength(draft_length),
        sampling.seed or 0,
        with_log_probabilities=with_log_probabilities,
    )
    for _ in decoder.prefill(prompt):
        pass
    return list(decoder.rounds(tokens))


def said(rounds: Sequence[Round]) -> list[int]:
    """The tokens of all rounds."""
    return [token for step in rounds for token in step.tokens]


class Speaker:
    """A session in this process, with the events of its last answer kept."""

    def __init__(
        self,
        library: Library,
        target: Path,
        draft: Path | None = None,
        plan: Plan | None = None,
        *,
        abort: AbortFlag | None = None,
    ) -> None:
        self.abort = abort or AbortFlag(library)
        self.events: list[Event] = []
        self._answers = 0
        pair = Pair(str(target), None if draft is None else str(draft))
        load = Load(pair, plan or Plan(measure_costs=False))
        self.session = Session(library, load, self.abort, lambda make: self.events.append(make()))

    def answer(
        self,
        *conversation: Message,
        begun: str = "",
        sampling: SamplingSettings = GREEDY,
        speculation: SpeculationSettings = THREE,
        max_tokens: int | None = None,
        stop: tuple[str, ...] = (),
        log_probabilities: bool = False,
        abort_after: int | None = None,
    ) -> Finished:
        """The finished answer; with `abort_after`, the flag is set after that many rounds."""
        self._answers += 1
        self.events.clear()
        rounds = 0

        def emit(make: Callable[[], Event]) -> None:
            nonlocal rounds
            event = make()
            self.events.append(event)
            rounds += isinstance(event, events.Round)
            if rounds == abort_after:
                self.abort.set()

        request = Generate(
            id=self._answers,
            conversation=conversation,
            begun=begun,
            sampling=sampling,
            speculation=speculation,
            max_tokens=max_tokens,
            stop=stop,
            log_probabilities=log_probabilities,
        )
        try:
            self.session.answer(request, emit)
        finally:
            self.abort.clear()
        finished = self.events[-1]
        assert isinstance(finished, Finished)
        return finished

    @property
    def context(self) -> Context:
        """The target's cache."""
        assert self.session._context is not None
        return self.session._context

    @property
    def drafter(self) -> ModelLikeDrafter:
        """What drafts beside n-grams."""
        assert self.session._draft is not None
        return self.session._draft.drafter

    def forget(self) -> None:
        """Empty the target's cache: the next answer is one from a cold start."""
        self.context.rollback(0)

    def streamed(self) -> str:
        """The text that came round by round."""
        return "".join(event.text for event in self.events if isinstance(event, events.Round))
