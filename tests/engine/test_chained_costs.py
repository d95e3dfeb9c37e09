"""What heads that each guess one token further cost is measured and booked call by call."""

from collections.abc import Iterator, Sequence

import pytest

from specchat.engine.costs import adaptive, known_costs
from specchat.engine.stored_costs import MeasuredCosts
from specchat.llama.context import Context, Outputs
from specchat.llama.extension import bind_extension
from specchat.llama.head import ChainedHeadContext, make_mtp_context
from specchat.llama.library import AbortFlag, Library
from specchat.llama.model import Model
from specchat.speculation.controller import FixedLength, Reach, Source
from specchat.speculation.drafters.mtp import make_mtp_drafter
from support.gguf_models import byte_ids
from support.heads import make_target, write_mtp
from support.speaking import speak

PROMPT = byte_ids("abcdefgh")
Call = tuple[int, int]
"""The head that runs, from 0, and its tokens."""


class Books(FixedLength):
    """Drafts two tokens, and keeps what it was told of the calls."""

    def __init__(self) -> None:
        super().__init__(2)
        self.told: set[Call] = set()

    def spent(self, source: Source, n_tokens: int, milliseconds: float, *, guess: int = 1) -> None:
        """The number of the guess and the tokens that were new."""
        self.told.add((guess, n_tokens))


@pytest.fixture(scope="module")
def target(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    """With two heads in its file."""
    path = write_mtp(library, tmp_path_factory.mktemp("heads") / "two.gguf", "two heads")
    target = make_target(Model(library, path, load_mtp=True))
    yield target
    target.close()
    target.model.close()


@pytest.fixture
def heads(target: Context) -> Iterator[ChainedHeadContext]:
    library = target.model.library
    extension = bind_extension(library)
    heads = make_mtp_context(target.model, target, extension, abort=AbortFlag(library))
    assert isinstance(heads, ChainedHeadContext)
    yield heads
    heads.close()


@pytest.fixture
def calls(heads: ChainedHeadContext, monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """The decode calls of the heads."""
    made: list[Call] = []
    selected, select, decode = [0], heads.select, heads.decode

    def note_head(head: int) -> None:
        selected[0] = head
        select(head)

    def note_call(tokens: Sequence[int], outputs: Outputs, *, without_row: int = 0) -> None:
        made.append((selected[0], len(tokens)))
        decode(tokens, outputs, without_row=without_row)

    monkeypatch.setattr(heads, "select", note_head)
    monkeypatch.setattr(heads, "decode", note_call)
    return made


def test_a_rehearsal_makes_the_calls_of_a_round(
    heads: ChainedHeadContext, calls: list[Call]
) -> None:
    heads.rehearse(3, Outputs.LAST)
    assert calls == [(0, 2), (1, 2), (0, 1)]  # all read two tokens, the first one guesses
    heads.rollback(0)
    calls.clear()
    heads.rehearse_guess(2)
    assert calls == [(1, 2)]


def test_in_a_round_the_calls_are_those_that_are_rehearsed_and_are_told_by_guess(
    target: Context, heads: ChainedHeadContext, calls: list[Call]
) -> None:
    books = Books()
    drafter = make_mtp_drafter(target, heads)
    rounds = speak(target, drafter, PROMPT, tokens=40, draft_length=2, controller=books)
    target.listener = None
    assert any(step.accepted for step in rounds)
    assert calls[:4] == [(0, 7), (1, 7), (0, 1), (1, 2)]
    assert {guess for guess, _ in books.told} == {1, 2}
    assert {new for guess, new in books.told if guess == 2} == {1}


def test_at_a_start_later_guesses_are_measured_apart(
    target: Context, heads: ChainedHeadContext
) -> None:
    costs = known_costs(target, heads, 2, lambda _: None)
    assert set(costs.draft) == {1, 2}
    assert set(costs.rereading) == {2}
    assert heads.tokens == []


def test_a_controller_starts_from_both() -> None:
    costs = MeasuredCosts({1: 10.0, 3: 11.0}, {1: 1.0, 2: 4.0}, rereading={2: 1.5})
    controller = adaptive(costs, 2, reach=Reach(longest=2, rereads=True))
    assert controller.drafting["model"].measured == {1: 1.0, 2: 4.0}
    assert controller.rereading.measured == {2: 1.5}
