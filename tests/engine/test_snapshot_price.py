"""What snapshots take of a call is measured at the first start; the plain rate is without it."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

import psutil
import pytest

from specchat.engine.costs import known_costs
from specchat.engine.protocol import Message, Plan
from specchat.engine.snapshot_price import snapshots_ms, without_snapshots
from specchat.engine.stored_costs import last_costs
from specchat.errors import ContextTooLarge
from specchat.llama.context import CELL_STEP, Context
from specchat.llama.library import AbortFlag, Library
from specchat.llama.model import Model
from specchat.neighbours import Watch
from specchat.speculation.controller import BASELINE_KEPT
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from support.gguf_models import byte_ids
from support.hybrid_models import HYBRIDS
from support.speaking import Speaker
from support.tiny_models import write_random

PLAIN = SpeculationSettings(drafter="none", draft_length=0)
SAMPLING = SamplingSettings(temperature=0, logit_bias=dict.fromkeys(byte_ids("ab"), 60.0))
DRAFTED = SpeculationSettings(drafter="ngram", draft_length=3)
PRICE_S = 0.004
"""Many times what a round of these models takes."""


class Idle(Watch):
    """A machine without other programs."""

    def others(self) -> float:
        return 0.0


@pytest.fixture
def hybrid(library: Library, tmp_path: Path) -> Path:
    return write_random(library, tmp_path / "hybrid.gguf", HYBRIDS["qwen35"])


@pytest.fixture
def abort(library: Library) -> AbortFlag:
    return AbortFlag(library)


@pytest.fixture
def target(library: Library, hybrid: Path, abort: AbortFlag) -> Iterator[Context]:
    model = Model(library, hybrid)
    context = Context(model, n_ctx=1024, n_outputs=9, abort=abort, n_threads=1, n_snapshots=8)
    yield context
    context.close()
    model.close()


@pytest.fixture
def dear_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of contexts with snapshots take longer, as those of large states do."""
    real = Context.decode

    def decode(self: Context, *arguments: object, **named: object) -> None:
        end = perf_counter() + PRICE_S * (self.memory.kind == "snapshots")
        while perf_counter() < end:
            pass
        real(self, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Context, "decode", decode)


@pytest.mark.usefixtures("dear_snapshots")
def test_the_price_is_what_a_call_with_snapshots_takes_longer(
    target: Context, abort: AbortFlag
) -> None:
    made: list[Context] = []

    def make() -> Context:
        other = without_snapshots(target, "f16", abort)
        assert other is not None
        made.append(other())
        return made[-1]

    price = snapshots_ms(target, make, budget_s=10.0)
    [other] = made
    assert price == pytest.approx(PRICE_S * 1e3, rel=0.5)
    assert (other.memory.n_snapshots, other.n_ctx) == (0, CELL_STEP)
    assert other.handle is None
    assert target.tokens == []


def test_without_time_or_memory_for_it_the_price_is_unknown(
    target: Context, abort: AbortFlag, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory() -> Context:
        raise ContextTooLarge("Tried.", "Did not work.", "Ask for less.")

    make = without_snapshots(target, "f16", abort)
    assert make is not None
    assert snapshots_ms(target, make, budget_s=0.0) is None
    assert snapshots_ms(target, no_memory, budget_s=10.0) is None
    memory = psutil.virtual_memory()._replace(available=2**20)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    assert without_snapshots(target, "f16", abort) is None


def test_a_target_that_keeps_no_snapshots_has_no_price(
    library: Library, target: Context, abort: AbortFlag
) -> None:
    plain = Context(target.model, n_ctx=256, n_outputs=1, abort=abort, n_threads=1)
    assert without_snapshots(plain, "f16", abort) is None
    plain.close()


def test_the_price_is_stored_with_the_costs(target: Context, abort: AbortFlag) -> None:
    make = without_snapshots(target, "f16", abort)
    costs = known_costs(target, None, 8, lambda _: None, Idle, make)
    assert costs.snapshots_ms is not None
    assert known_costs(target, None, 8, lambda _: None, Idle, make) == costs
    unpriced = known_costs(target, None, 8, lambda _: None, Idle)
    assert unpriced.snapshots_ms is None
    assert [each for _, each in last_costs(5)] == [unpriced, costs]


@pytest.mark.usefixtures("dear_snapshots")
def test_an_answer_is_held_against_decoding_without_snapshots(
    library: Library, hybrid: Path
) -> None:
    speaker = Speaker(library, hybrid, plan=Plan(n_ctx=1024, n_threads=1))
    question = Message("user", "once upon a time there was a fox")
    answer = partial(speaker.answer, question, sampling=SAMPLING, max_tokens=BASELINE_KEPT)
    plain = answer(speculation=PLAIN)
    figures = plain.figures
    assert figures.snapshots_s > 0.5 * PRICE_S * BASELINE_KEPT
    assert figures.tokens_per_second == BASELINE_KEPT / figures.decode_s < 1 / PRICE_S
    # Of the same rounds, since no more of them are kept.
    assert figures.plain_tokens_per_second == pytest.approx(figures.plain_answer_per_second)
    [alarm] = [each for each in plain.alarms if each.kind == "slower_than_plain"]
    assert "--draft-length 0" in alarm.help
    drafted = answer(speculation=DRAFTED).figures
    assert drafted.drafted > 0
    assert drafted.tokens_per_second is not None
    assert drafted.plain_tokens_per_second is not None
    assert drafted.plain_tokens_per_second > 1 / PRICE_S  # no call with snapshots is as quick
    assert drafted.speed_up == drafted.tokens_per_second / drafted.plain_tokens_per_second
    speaker.session.close()


def test_where_nothing_is_to_be_drafted_no_snapshots_are_kept(
    library: Library, hybrid: Path
) -> None:
    speaker = Speaker(library, hybrid, plan=Plan(n_ctx=1024, n_threads=1, max_draft_length=0))
    assert speaker.context.memory.n_snapshots == 0
    speaker.session.close()
