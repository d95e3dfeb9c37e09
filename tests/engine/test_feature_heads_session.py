"""A session names and measures any head that it is given, or leaves it out in words.

What a head guesses is the concern of test_eagle3, test_block and test_mtp, and that it changes no
text that of test_restless.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from specchat.engine.drafter_names import DrafterName
from specchat.engine.protocol import Message, Plan
from specchat.errors import UnsupportedModel
from specchat.llama.library import Library
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from support.head_recipes import TARGETS
from support.heads import (
    write_block,
    write_eagle3,
)
from support.orderly_models import recipe, write_orderly
from support.pointed_heads import write_pointed_dflash, write_pointed_eagle3
from support.speaking import Speaker

PLAN = Plan(n_ctx=1024, n_threads=1, max_draft_length=8, measure_costs=False, draft_required=True)
QUESTION = Message("user", "abcdefgh")
TOKENS = 40
SEEDED = SamplingSettings(temperature=0.8, top_k=5, seed=3)


def _few(library: Library, path: Path) -> Path:
    return write_eagle3(library, path, n_known=12)


def _block(kind: str) -> Callable[[Library, Path], Path]:
    return lambda library, path: write_block(library, path, kind)


HEADS: dict[str, tuple[DrafterName, Callable[[Library, Path], Path]]] = {
    "eagle3": ("eagle3", write_pointed_eagle3),
    "eagle3, few tokens": ("eagle3", _few),
    "dflash": ("dflash", write_pointed_dflash),
    "dspark": ("dspark", _block("dspark")),
    "dspark, apart": ("dspark", _block("dspark, apart")),
}


@pytest.fixture
def target(library: Library, tmp_path: Path) -> Path:
    return write_orderly(library, tmp_path / "target.gguf", TARGETS["dense"])


@pytest.fixture(params=HEADS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def head(kind: str, library: Library, tmp_path: Path) -> Path:
    return HEADS[kind][1](library, tmp_path / "head.gguf")


def test_what_is_loaded_is_named_and_its_calls_are_measured(
    library: Library, target: Path, head: Path, kind: str
) -> None:
    name = HEADS[kind][0]
    plan = Plan(n_ctx=1024, n_threads=1, max_draft_length=8)
    speaker = Speaker(library, target, head, plan)
    loaded = speaker.session.loaded()
    assert loaded.draft is not None
    assert loaded.draft.architecture == ("eagle3" if name == "eagle3" else "dflash")
    assert loaded.drafter == f"ngram+{name}"
    auto = SpeculationSettings(drafter="model", rule="coupled")
    plain = SpeculationSettings(drafter="none", draft_length=0, rule="coupled")
    said, expected = (
        speaker.answer(QUESTION, sampling=SEEDED, speculation=each, max_tokens=TOKENS)
        for each in (auto, plain)
    )
    assert said.tokens == expected.tokens
    speaker.session.close()


@pytest.mark.parametrize("kind", ["eagle3", "dspark"])
def test_a_head_of_another_target_is_left_out_with_a_notice_or_refused(
    library: Library, tmp_path: Path, head: Path
) -> None:
    wide = recipe("qwen3", block_count=4, embedding_length=128)
    other = write_orderly(library, tmp_path / "wide.gguf", wide)
    speaker = Speaker(library, other, head, Plan(n_ctx=1024, n_threads=1, measure_costs=False))
    loaded = speaker.session.loaded()
    assert (loaded.drafter, loaded.draft) == ("ngram", None)
    [notice] = [each for each in loaded.notices if each.kind == "unsupported_model"]
    assert "made for a target of width 64, and this one has 128" in notice.message
    speaker.session.close()
    with pytest.raises(UnsupportedModel):
        Speaker(library, other, head, PLAN)
