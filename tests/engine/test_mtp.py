"""MTP heads draft for their target: their guesses are of use, and their state always right.

That they change no text is shown in test_restless.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from specchat.errors import UnsupportedModel
from specchat.llama.context import Aborted, Outputs
from specchat.llama.extension import bind_extension
from specchat.llama.head import make_mtp_context
from specchat.llama.hidden import HiddenStates
from specchat.llama.library import AbortFlag, Library
from specchat.llama.model import Model
from specchat.speculation.controller import FixedLength
from specchat.speculation.decoder import Decoder
from specchat.speculation.sampling import Sampler
from support.gguf_models import byte_ids, random_table, write_bigram
from support.head_recipes import MTP_RECIPES
from support.heads import (
    PLAIN_SOFTMAX,
    Rig,
    assert_acceptance_is_the_overlap,
    assert_same_draft,
    dense,
    draft_after,
    fresh_draft,
    make_target,
    mtp_rig,
    write_assistant,
    write_gemma,
    write_mtp,
)
from support.orderly_models import recipe, write_orderly
from support.speaking import said, speak

PROMPT = byte_ids("abcdefgh")
OTHER = byte_ids("abcdponm")
SHARED = "shared cells"
KINDS = ("one head", "two heads", "one head, hybrid", "one head, checkpoints", SHARED)
"""Every way to chain heads and every memory of a target; test_restless has further ones."""


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(kind: str, library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path = tmp_path_factory.mktemp("mtp") / "target.gguf"
    if kind == SHARED:
        model = Model(library, write_gemma(library, path))
    else:
        model = Model(library, write_mtp(library, path, kind), load_mtp=True)
    yield model
    model.close()


@pytest.fixture(scope="module")
def heads(
    kind: str, library: Library, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Model | None]:
    """Where they are in a file of their own."""
    if kind != SHARED:
        yield None
        return
    path = tmp_path_factory.mktemp("mtp") / "heads.gguf"
    heads = Model(library, write_assistant(library, path), is_head=True)
    yield heads
    heads.close()


@pytest.fixture(scope="module")
def rig(model: Model, heads: Model | None) -> Iterator[Rig]:
    with mtp_rig(model, heads) as rig:
        yield rig


def test_acceptance_is_the_overlap_of_both_laws(rig: Rig) -> None:
    assert_acceptance_is_the_overlap(rig.target, rig.drafter, PROMPT, answers=4, length=2)


def test_its_state_is_that_of_heads_that_read_the_whole_text_at_once(
    rig: Rig, model: Model, heads: Model | None
) -> None:
    rounds = speak(rig.target, rig.drafter, PROMPT, tokens=200, draft_length=4)
    ids = [*PROMPT, *said(rounds)]
    assert_same_draft(draft_after(rig.drafter, ids, 4), fresh_draft(model, heads, ids, 4))


def test_it_is_right_after_an_answer_is_given_again_and_after_an_edit(
    rig: Rig, model: Model, heads: Model | None
) -> None:
    first = said(speak(rig.target, rig.drafter, PROMPT, tokens=50, draft_length=3))
    again = said(speak(rig.target, rig.drafter, PROMPT, tokens=50, draft_length=3))
    assert again == first
    for prompt in (PROMPT, OTHER, [*OTHER, *first[:20]], [*OTHER, *first[:7]], OTHER[:3]):
        for _ in Decoder(
            rig.target, None, Sampler(PLAIN_SOFTMAX), "token", FixedLength(0), 0
        ).prefill(prompt):
            pass
        assert_same_draft(draft_after(rig.drafter, prompt, 3), fresh_draft(model, heads, prompt, 3))


def test_a_sequence_that_is_taken_up_again_is_decoded_from_its_last_token_at_the_earliest(
    rig: Rig, model: Model, heads: Model | None
) -> None:
    """The hidden state before the new token is gone, and one token brings it back."""
    text = said(speak(rig.target, rig.drafter, PROMPT, tokens=50, draft_length=3))
    longer = [*PROMPT, *text[:20], *OTHER]
    decoder = Decoder(rig.target, rig.drafter, Sampler(PLAIN_SOFTMAX), "token", FixedLength(0), 0)
    [(reused, _), *_] = decoder.prefill(longer)
    if not rig.target.memory.keeps_state:
        assert len(PROMPT) + 20 - 1 <= reused <= len(PROMPT) + 21
    for _ in decoder.prefill(longer):
        pass
    assert_same_draft(draft_after(rig.drafter, longer, 3), fresh_draft(model, heads, longer, 3))


def test_rounds_without_it_are_read_when_it_drafts_again(
    rig: Rig, model: Model, heads: Model | None
) -> None:
    """More of them than it keeps hidden states for."""
    text = said(speak(rig.target, rig.drafter, PROMPT, tokens=30, draft_length=3))
    ids = [*PROMPT, *text]
    idle = said(speak(rig.target, None, ids, tokens=600, draft_length=0))
    ids += idle
    assert_same_draft(draft_after(rig.drafter, ids, 4), fresh_draft(model, heads, ids, 4))


def test_an_edit_is_followed_through_many_rounds_without_it(
    rig: Rig, model: Model, heads: Model | None
) -> None:
    speak(rig.target, rig.drafter, PROMPT, tokens=30, draft_length=3)
    idle = said(speak(rig.target, None, OTHER, tokens=600, draft_length=0))
    ids = [*OTHER, *idle]
    assert_same_draft(draft_after(rig.drafter, ids, 4), fresh_draft(model, heads, ids, 4))


def test_the_second_guess_is_the_second_heads(library: Library, tmp_path: Path) -> None:
    """Worked out by hand: each head reads the whole text, then the draft before its guess."""
    model = Model(library, write_mtp(library, tmp_path / "two.gguf", "two heads"), load_mtp=True)
    expected = fresh_draft(model, None, PROMPT, 2)
    target = make_target(model)
    extension, last = bind_extension(library), len(PROMPT) - 1
    head = make_mtp_context(model, target, extension, abort=AbortFlag(library))
    hidden = HiddenStates(extension, target, every_token=True)
    target.decode(PROMPT[:-1], Outputs.NONE)
    states = np.vstack([np.zeros((1, hidden.width), np.float32), hidden.rows(last)])
    head.select(0)
    head.read(PROMPT[:-1], states[:-1], Outputs.NONE)
    head.read(PROMPT[last:], states[last:], Outputs.LAST)
    chain = np.vstack([states[last:], head.states(1)])
    head.rollback(0)
    head.select(1)
    head.read(PROMPT[:-1], states[:-1], Outputs.NONE)
    head.read([PROMPT[last], expected.tokens[0]], chain, Outputs.ALL)
    [row] = Sampler(PLAIN_SOFTMAX).distributions(head.rows(2)[-1:], (), ())
    assert expected.distributions is not None
    np.testing.assert_allclose(dense(row), dense(expected.distributions[1]), atol=1e-5)
    head.close()
    target.close()
    model.close()


def test_a_stop_while_a_prompt_is_read_leaves_nothing_out(
    model: Model, heads: Model | None
) -> None:
    prompt = [*PROMPT * 100]
    with mtp_rig(model, heads) as rig:
        batches = rig.target.prefill(prompt[:-1])
        next(batches)
        rig.target._abort.set()
        with pytest.raises(Aborted):
            next(batches)
        rig.target._abort.clear()
        for _ in rig.target.prefill(prompt[len(rig.target.tokens) : -1]):
            pass
        assert rig.target.tokens == prompt[:-1]
        assert_same_draft(draft_after(rig.drafter, prompt, 3), fresh_draft(model, heads, prompt, 3))


def test_heads_that_were_not_loaded_are_refused_in_words(library: Library, tmp_path: Path) -> None:
    """llama.cpp would end the process."""
    model = Model(library, write_mtp(library, tmp_path / "target.gguf", "one head"))
    target = make_target(model)
    with pytest.raises(UnsupportedModel) as refused:
        make_mtp_context(model, target, bind_extension(library), abort=AbortFlag(library))
    assert refused.value.tried == "Tried to draft with its own MTP heads for target.gguf."
    assert refused.value.happened == "No MTP heads were loaded."
    target.close()
    model.close()


def test_heads_for_another_target_are_refused_in_words(library: Library, tmp_path: Path) -> None:
    heads = Model(library, write_mtp(library, tmp_path / "heads.gguf", "one head"), is_head=True)
    llama = Model(library, write_bigram(tmp_path / "llama.gguf", random_table(0, "abcd")))
    wide = recipe(
        "glm4moe",
        **{
            key.replace(".", "__"): value
            for key, value in MTP_RECIPES["one head"].metadata.items()
            if key != "embedding_length"
        },
        embedding_length=128,
    )
    other = Model(library, write_orderly(library, tmp_path / "wide.gguf", wide))
    for model, words in (
        (llama, "does not give out the hidden states of llama."),
        (other, "made for a target of width 64, and this one has 128."),
    ):
        target = make_target(model)
        with pytest.raises(UnsupportedModel) as refused:
            make_mtp_context(heads, target, bind_extension(library), abort=AbortFlag(library))
        assert words in refused.value.happened
        target.close()
    for model in (heads, llama, other):
        model.close()
