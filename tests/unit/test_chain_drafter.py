"""The chain of a real n-gram drafter and a scripted model: who drafts, and who is credited."""

from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np
import pytest

from specchat.speculation.controller import LengthController
from specchat.speculation.distribution import Distribution
from specchat.speculation.drafters.base import Draft, Drafter
from specchat.speculation.drafters.chain import ChainDrafter
from specchat.speculation.drafters.model import ModelDrafter
from specchat.speculation.drafters.ngram import NgramDrafter
from specchat.speculation.draws import Draws, RandomDraws
from specchat.speculation.sampling import Sampler
from specchat.speculation.settings import SamplingSettings
from unit.listening_controller import Listener

REPEATING = [1, 2, 3, 4, 5, 1, 2]
"""3, 4 and 5 followed 1 and 2."""
NEW = [1, 2, 3, 4, 5, 6, 7]


class DraftsWithAModel(Drafter, Protocol):
    """What the chain uses of the drafter with a model."""

    def pending(self, ids: Sequence[int]) -> int:
        """Tokens that it has not read."""
        ...


class ScriptedModel:
    """Guesses 50, 51, ...; reads all of a sequence when it begins or drafts."""

    def __init__(self) -> None:
        self.read: list[int] = []
        self.drafted = 0
        self.began_with: list[tuple[Sampler, Draws, LengthController]] = []
        self.closed = False

    def begin(
        self,
        ids: Sequence[int],
        sampler: Sampler,
        draws: Draws,
        controller: LengthController,
    ) -> None:
        self.began_with.append((sampler, draws, controller))
        self.read = list(ids[:-1])

    def pending(self, ids: Sequence[int]) -> int:
        return len(ids) - len(self.read)

    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        self.drafted += 1
        if not controller.start("model", None, self.pending(ids)):
            return Draft()
        self.read = list(ids)
        tokens: list[int] = []
        while len(tokens) < limit:
            tokens.append(50 + len(tokens))
            if not controller.go_on(0.9):
                break
        return Draft(tokens, [Distribution.certain(token) for token in tokens], source="model")

    def rollback(self, length: int) -> None:
        del self.read[length:]

    def close(self) -> None:
        self.closed = True


class Chain:
    """A chain that has begun with a conversation, and its parts."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ngram = NgramDrafter()
        self.model = ScriptedModel()
        stand_in: DraftsWithAModel = self.model
        self.whole = ChainDrafter(self.ngram, cast("ModelDrafter", stand_in))
        self.sampler = Sampler(SamplingSettings())
        self.draws = RandomDraws(np.random.default_rng(0))
        self.controller = Listener(3)
        self.whole.begin(ids, self.sampler, self.draws, self.controller)


def test_a_believed_match_goes_before_the_model() -> None:
    chain = Chain(REPEATING)
    controller = Listener(3, gains={"ngram": 2.0, "model": 1.5})
    draft = chain.whole.draft(REPEATING, 8, controller)

    assert draft == Draft([3, 4, 5], source="ngram")
    assert chain.model.drafted == 0


def test_a_match_that_is_not_believed_leaves_the_round_to_the_model() -> None:
    controller = Listener(3, gains={"ngram": 1.0, "model": 1.5})
    draft = Chain(REPEATING).whole.draft(REPEATING, 8, controller)

    assert draft.tokens == [50, 51, 52]
    assert draft.source == "model"
    assert draft.distributions is not None


def test_between_equals_the_free_one_drafts() -> None:
    controller = Listener(3, gains={"ngram": 1.0, "model": 1.0})

    assert Chain(REPEATING).whole.draft(REPEATING, 8, controller).source == "ngram"


def test_without_a_match_the_model_drafts_and_nothing_is_weighed() -> None:
    controller = Listener(2)
    draft = Chain(NEW).whole.draft(NEW, 8, controller)

    assert draft.source == "model"
    assert controller.gains_asked == []


def test_each_source_is_weighed_by_what_is_known_of_it() -> None:
    chain = Chain(REPEATING)
    ids = [*REPEATING, 3, 4, 5]
    controller = Listener(3)
    found = NgramDrafter()
    found.begin(ids, chain.sampler, chain.draws, controller)
    match = found.match(ids)
    assert match is not None
    chain.whole.draft(ids, 8, controller)

    # The model has not read the last of the conversation nor the three tokens since.
    assert controller.gains_asked == [("ngram", match[1], 1), ("model", None, 4)]


@pytest.mark.parametrize("ids", [REPEATING, NEW], ids=["match", "no-match"])
def test_a_model_that_could_not_pay_is_not_asked(ids: list[int]) -> None:
    chain = Chain(ids)
    controller = Listener(3, pays=False, gains={"ngram": -1.0, "model": 1.0})
    draft = chain.whole.draft(ids, 8, controller)

    assert chain.model.drafted == 0
    assert all(source == "ngram" for source, _, _ in [*controller.starts, *controller.gains_asked])
    assert draft.tokens == ([3, 4, 5] if ids == REPEATING else [])


@pytest.mark.parametrize("gains", [(2.0, 1.0), (1.0, 2.0)], ids=["ngram", "model"])
def test_whoever_drafts_keeps_to_the_limit(gains: tuple[float, float]) -> None:
    controller = Listener(5, gains={"ngram": gains[0], "model": gains[1]})

    assert len(Chain(REPEATING).whole.draft(REPEATING, 2, controller).tokens) == 2


@pytest.mark.parametrize("gains", [(2.0, 1.0), (1.0, 2.0)], ids=["ngram", "model"])
def test_a_draft_that_is_not_started_has_no_source(gains: tuple[float, float]) -> None:
    controller = Listener(0, gains={"ngram": gains[0], "model": gains[1]})

    assert Chain(REPEATING).whole.draft(REPEATING, 2, controller) == Draft()


def test_both_get_ready_with_the_settings_of_the_answer() -> None:
    chain = Chain(REPEATING)

    assert chain.model.began_with == [(chain.sampler, chain.draws, chain.controller)]
    assert chain.model.read == REPEATING[:-1]
    assert chain.ngram.match(REPEATING) is not None


def test_both_forget_what_was_refused() -> None:
    chain = Chain(NEW)
    chain.whole.draft([*NEW, 1, 2, 9], 8, Listener(3))
    chain.whole.rollback(7)
    ids = [*NEW, 1, 2]

    assert chain.model.pending(ids) == 2
    match = chain.ngram.match(ids)
    assert match is not None
    assert match[0] == 2
    draft = chain.whole.draft(ids, 1, Listener(1, gains={"ngram": 1.0, "model": 0.0}))
    assert draft == Draft([3], source="ngram")


def test_an_idle_ngram_drafter_knows_what_the_model_drafted_for() -> None:
    chain = Chain([1, 2])
    by_model = Listener(1, gains={"ngram": 0.0, "model": 1.0})
    chain.whole.draft([1, 2, 3, 4], 1, by_model)
    by_ngram = Listener(2, gains={"ngram": 1.0, "model": 0.0})

    assert chain.whole.draft([1, 2, 3, 4, 1, 2], 2, by_ngram) == Draft([3, 4], source="ngram")


def test_closing_the_chain_closes_the_model() -> None:
    chain = Chain(NEW)
    chain.whole.close()

    assert chain.model.closed
