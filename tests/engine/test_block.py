"""Block drafters draft for their target: their guesses are of use, their state always right.

That they change no text is shown in test_restless.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from specchat.errors import UnsupportedModel
from specchat.llama.extension import bind_extension
from specchat.llama.feature_heads import make_block_context
from specchat.llama.library import AbortFlag, Library
from specchat.llama.model import Model
from specchat.speculation.adaptive import AdaptiveLength
from specchat.speculation.controller import Outcome, Reach
from specchat.speculation.costs import CostTable
from support.feature_statements import (
    PROMPT,
    MakeRig,
    assert_its_state_is_always_right,
)
from support.gguf_models import random_table, write_bigram
from support.head_recipes import TARGETS
from support.heads import (
    BLOCK,
    assert_acceptance_is_the_overlap,
    feature_rig,
    make_target,
    write_block,
)
from support.orderly_models import write_orderly
from support.speaking import speak

KINDS = ["dflash", "dspark", "dspark, apart"]


@pytest.fixture(scope="module", params=TARGETS)
def model(
    request: pytest.FixtureRequest, library: Library, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Model]:
    path = tmp_path_factory.mktemp("block") / "target.gguf"
    model = Model(library, write_orderly(library, path, TARGETS[request.param]))
    yield model
    model.close()


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def head(kind: str, library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path = tmp_path_factory.mktemp("block") / "head.gguf"
    head = Model(library, write_block(library, path, kind), is_head=True)
    yield head
    head.close()


def rigs(model: Model, head: Model, kind: str) -> MakeRig:
    return partial(feature_rig, model, head, kind)


@pytest.mark.parametrize("model", ["dense", "hybrid"], indirect=True)
def test_its_state_is_that_of_one_that_reads_the_whole_text_at_once(
    model: Model, head: Model, kind: str
) -> None:
    assert_its_state_is_always_right(rigs(model, head, kind))


@pytest.mark.parametrize(
    ("model", "kind"), [*(("dense", kind) for kind in KINDS), ("windows", "dspark")], indirect=True
)
def test_acceptance_is_the_overlap_of_both_laws(model: Model, head: Model, kind: str) -> None:
    with rigs(model, head, kind)() as rig:
        assert_acceptance_is_the_overlap(rig.target, rig.drafter, PROMPT, answers=4, length=3)


@pytest.mark.parametrize("model", ["dense"], indirect=True)
def test_a_block_is_no_longer_than_it_was_trained_for(model: Model, head: Model, kind: str) -> None:
    with rigs(model, head, kind)() as rig:
        rounds = speak(rig.target, rig.drafter, PROMPT, tokens=100, draft_length=16)
    assert max(step.drafted for step in rounds) == (BLOCK if kind == "dspark" else BLOCK - 1)


@pytest.mark.parametrize("model", ["dense"], indirect=True)
def test_a_confidence_head_tells_how_sure_it_is(model: Model, head: Model, kind: str) -> None:
    """What the controller hears are other numbers than the drawn tokens' probabilities."""

    class Listening(AdaptiveLength):
        heard: list[float]

        def go_on(self, confidence: float) -> bool:
            self.heard.append(confidence)
            return super().go_on(confidence)

    costs = CostTable()
    costs.add(1, 10.0)
    costs.add(8, 10.1)
    with rigs(model, head, kind)() as rig:
        controller = Listening(8, costs, reach=rig.drafter.reach)
        controller.heard = []
        rounds = speak(
            rig.target, rig.drafter, PROMPT, tokens=50, draft_length=0, controller=controller
        )
    assert any(step.drafted for step in rounds)
    assert all(0 < confidence < 1 for confidence in controller.heard)
    near_half = [abs(confidence - 0.5) < 0.49 for confidence in controller.heard]
    if kind != "dflash":
        assert all(near_half)  # random weights are never sure


def test_further_guesses_of_a_block_cost_nothing() -> None:
    """With one call for all of them, the controller tests as many as pay at the target."""
    lengths = {}
    for at_once in (False, True):
        costs = CostTable()
        costs.add(1, 10.0)
        costs.add(9, 11.0)
        controller = AdaptiveLength(8, costs, reach=Reach(longest=8, at_once=at_once))
        for _ in range(20):
            controller.begin(8)
            if not controller.start("model", None, 1):
                controller.finish(Outcome(0, 0, 1, 10.0, 10.0, 100))
                continue
            controller.spent("model", 1, 6.0)
            drafted = 1
            while controller.go_on(0.75) and drafted < 8:
                if not at_once:
                    controller.spent("model", 1, 6.0)
                drafted += 1
            controller.finish(Outcome(drafted, drafted - 1, drafted, 30.0, 11.0, 100))
        lengths[at_once] = drafted
    assert lengths[True] > lengths[False]


def test_a_drafter_for_another_target_is_refused_in_words(library: Library, tmp_path: Path) -> None:
    head = Model(library, write_block(library, tmp_path / "head.gguf", "dflash"), is_head=True)
    model = Model(library, write_bigram(tmp_path / "bigram.gguf", random_table(0, "abcd")))
    target = make_target(model)
    with pytest.raises(UnsupportedModel) as refused:
        make_block_context(
            head,
            target,
            bind_extension(library),
            abort=AbortFlag(library),
            is_dspark=False,
            has_confidence=False,
        )
    assert "It reads layers [1, 2, 3] of its target, and this one has 1." in refused.value.happened
    target.close()
    model.close()
    head.close()
