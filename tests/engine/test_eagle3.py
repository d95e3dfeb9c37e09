"""EAGLE-3 heads draft for their target: their guesses are of use, their state is always right.

That they change no text is shown in test_restless.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from specchat.errors import UnsupportedModel
from specchat.llama.extension import bind_extension
from specchat.llama.feature_heads import make_eagle_context
from specchat.llama.library import AbortFlag, Library
from specchat.llama.model import Model
from support.feature_statements import (
    PROMPT,
    MakeRig,
    assert_its_state_is_always_right,
)
from support.gguf_models import byte_ids
from support.head_recipes import TARGETS
from support.heads import (
    assert_acceptance_is_the_overlap,
    draft_after,
    feature_rig,
    make_target,
    write_eagle3,
    write_mtp,
)
from support.orderly_models import LETTERS, recipe, write_orderly

KNOWN = 12


@pytest.fixture(scope="module", params=TARGETS)
def model(
    request: pytest.FixtureRequest, library: Library, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Model]:
    path = tmp_path_factory.mktemp("eagle3") / "target.gguf"
    model = Model(library, write_orderly(library, path, TARGETS[request.param]))
    yield model
    model.close()


@pytest.fixture(scope="module", params=[None, KNOWN], ids=["every token", "few tokens"])
def head(
    request: pytest.FixtureRequest, library: Library, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Model]:
    path = tmp_path_factory.mktemp("eagle3") / "head.gguf"
    head = Model(library, write_eagle3(library, path, n_known=request.param), is_head=True)
    yield head
    head.close()


def rigs(model: Model, head: Model) -> MakeRig:
    return partial(feature_rig, model, head, "eagle3")


@pytest.mark.parametrize("model", ["dense", "hybrid"], indirect=True)
def test_its_state_is_that_of_a_head_that_reads_the_whole_text_at_once(
    model: Model, head: Model
) -> None:
    assert_its_state_is_always_right(rigs(model, head))


@pytest.mark.parametrize(
    ("model", "head"), [("dense", None), ("dense", KNOWN), ("hybrid", KNOWN)], indirect=True
)
def test_acceptance_is_the_overlap_of_both_laws(model: Model, head: Model) -> None:
    with rigs(model, head)() as rig:
        assert_acceptance_is_the_overlap(rig.target, rig.drafter, PROMPT, answers=4, length=2)


def test_a_head_that_knows_few_tokens_guesses_no_others(library: Library, tmp_path: Path) -> None:
    model = Model(library, write_orderly(library, tmp_path / "target.gguf", TARGETS["dense"]))
    few = write_eagle3(library, tmp_path / "head.gguf", n_known=KNOWN)
    head = Model(library, few, is_head=True)
    with feature_rig(model, head, "eagle3") as rig:
        for _ in rig.target.prefill(PROMPT[:-1]):
            pass
        draft = draft_after(rig.drafter, PROMPT, 4)
    assert draft.distributions is not None
    for row in draft.distributions:
        likely = row.ids[row.probabilities > 0]
        assert np.isin(likely, byte_ids(LETTERS)[:KNOWN]).all()
    head.close()
    model.close()


def test_a_text_of_one_token_is_not_drafted_for(library: Library, tmp_path: Path) -> None:
    """There is no state before it."""
    model = Model(library, write_orderly(library, tmp_path / "target.gguf", TARGETS["dense"]))
    head = Model(library, write_eagle3(library, tmp_path / "head.gguf"), is_head=True)
    with feature_rig(model, head, "eagle3") as rig:
        assert draft_after(rig.drafter, PROMPT[:1], 4).tokens == []
    head.close()
    model.close()


def test_a_head_for_another_target_is_refused_in_words(library: Library, tmp_path: Path) -> None:
    head = Model(library, write_eagle3(library, tmp_path / "head.gguf"), is_head=True)
    others = {
        "of glm4moe": write_mtp(library, tmp_path / "glm.gguf", "one head"),
        "a target of width 64, and this one has 128.": write_orderly(
            library, tmp_path / "wide.gguf", recipe("qwen3", block_count=4, embedding_length=128)
        ),
        "reads layers [1, 2, 3] of its target, and this one has 2.": write_orderly(
            library, tmp_path / "short.gguf", recipe("qwen3", block_count=2)
        ),
    }
    for words, path in others.items():
        model = Model(library, path)
        target = make_target(model)
        with pytest.raises(UnsupportedModel) as refused:
            make_eagle_context(head, target, bind_extension(library), abort=AbortFlag(library))
        assert words in refused.value.happened
        target.close()
        model.close()
    head.close()
