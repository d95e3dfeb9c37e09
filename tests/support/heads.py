"""Tiny targets with trained heads, and drafters as the engine makes them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType

from specchat.llama.context import Context, Outputs
from specchat.llama.extension import bind_extension
from specchat.llama.feature_heads import make_block_context, make_eagle_context
from specchat.llama.head import make_mtp_context
from specchat.llama.library import AbortFlag, Library
from specchat.llama.model import Model
from specchat.speculation.controller import FixedLength, LengthController
from specchat.speculation.decoder import Decoder
from specchat.speculation.distribution import Distribution
from specchat.speculation.drafters.base import Draft, Drafter
from specchat.speculation.drafters.block import BlockDrafter
from specchat.speculation.drafters.eagle3 import Eagle3Drafter
from specchat.speculation.drafters.listening import ListeningDrafter
from specchat.speculation.drafters.mtp import make_mtp_drafter
from specchat.speculation.draws import CoupledDraws
from specchat.speculation.sampling import Sampler
from specchat.speculation.settings import SamplingSettings
from support.gguf_models import byte_ids
from support.head_recipes import ASSISTANT, GEMMA, MTP_RECIPES
from support.orderly_models import (
    LETTERS,
    Weights,
    embeddings,
    likely_followers,
    output_matrix,
    passes_token_on,
    recipe,
    write_orderly,
)

PLAIN_SOFTMAX = SamplingSettings(temperature=1, top_k=0, top_p=1, min_p=0)
SNAPSHOTS = 8
ROUNDING = 0.01
"""Part of a probability: caches hold 16 bits, and calls of other sizes round otherwise."""
BLOCK = 6
MASK = 0
"""The unknown token, which no text has."""
OF_ITS_OWN = ("nextn.embed_tokens", "nextn.shared_head_head")
"""Tensors that a head may share with its target instead, as published ones do."""


def write_mtp(
    library: Library, path: Path, kind: str, *, in_bits: GGMLQuantizationType | None = None
) -> Path:
    """A target with MTP heads that are often right."""
    edits = {"eh_proj.weight": passes_token_on}
    return write_orderly(
        library, path, MTP_RECIPES[kind], edits=edits, drop=OF_ITS_OWN, in_bits=in_bits
    )


def write_sidecar(library: Library, path: Path, kind: str) -> Path:
    """The heads of the same target alone, as publishers split them off."""
    n_heads = MTP_RECIPES[kind].metadata["nextn_predict_layers"]
    n_blocks = MTP_RECIPES[kind].metadata["block_count"]
    assert isinstance(n_heads, int)
    assert isinstance(n_blocks, int)
    trunk = [f"blk.{index}." for index in range(n_blocks - n_heads)]
    edits = {"eh_proj.weight": passes_token_on}
    return write_orderly(library, path, MTP_RECIPES[kind], edits=edits, drop=[*OF_ITS_OWN, *trunk])


def write_gemma(library: Library, path: Path) -> Path:
    """A target with sliding windows, whose heads attend to its own cells."""
    return write_orderly(library, path, GEMMA)


def write_assistant(library: Library, path: Path) -> Path:
    """The heads of that target."""
    narrow = np.random.default_rng(0).normal(0, 0.1, (32, 64)).astype(np.float32)

    def of_the_token(weights: Weights) -> Weights:
        return np.hstack([narrow, 0.5 * weights[:, 64:]])

    def as_the_target_guesses(weights: Weights) -> Weights:
        return output_matrix((64, len(weights)), 1) @ narrow.T

    edits = {
        "pre_projection.weight": of_the_token,
        "token_embd.weight": as_the_target_guesses,
    }
    return write_orderly(library, path, ASSISTANT, edits=edits, shapes=_assistant_shapes())


def _assistant_shapes() -> dict[str, tuple[int, ...]]:
    """llama.cpp cannot be asked: it ends the process over a tensor that may be missing."""
    width, target, vocabulary, ff, attention = 32, 64, ASSISTANT.n_vocab, 96, 4 * 16
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (width, vocabulary),
        "output_norm.weight": (width,),
        "nextn.pre_projection.weight": (2 * target, width),
        "nextn.post_projection.weight": (width, target),
        "rope_freqs.weight": (8,),
    }
    for index in range(2):
        layer = {
            "attn_norm": (width,),
            "attn_q": (width, attention),
            "attn_output": (attention, width),
            "attn_q_norm": (16,),
            "post_attention_norm": (width,),
            "layer_output_scale": (1,),
            "ffn_norm": (width,),
            "ffn_gate": (width, ff),
            "ffn_up": (width, ff),
            "ffn_down": (ff, width),
            "post_ffw_norm": (width,),
        }
        shapes |= {f"blk.{index}.{name}.weight": shape for name, shape in layer.items()}
    return shapes


def write_without_heads(
    library: Library,
    path: Path,
    kind: str,
    *,
    promised: bool = False,
    in_bits: GGMLQuantizationType | None = None,
) -> Path:
    """The target without its heads; its header may go on to promise them."""
    whole = MTP_RECIPES[kind]
    n_blocks, n_heads = whole.metadata["block_count"], whole.metadata["nextn_predict_layers"]
    assert isinstance(n_heads, int)
    assert isinstance(n_blocks, int)
    heads = [f"blk.{index}." for index in range(n_blocks - n_heads, n_blocks)]
    if not promised:
        metadata = {**whole.metadata, "block_count": n_blocks - n_heads}
        del metadata["nextn_predict_layers"]
        whole = replace(whole, metadata=metadata)
    return write_orderly(library, path, whole, drop=heads, in_bits=in_bits)


def write_eagle3(
    library: Library,
    path: Path,
    *,
    n_known: int | None = None,
    layers: Sequence[int] = (1, 2, 3),
) -> Path:
    """An EAGLE-3 head for targets of `head_recipes`.

    Args:
        n_known: letters that it knows; None: every token, with the target's own output matrix.
        layers: of its target, whose inputs it reads.
    """
    made = recipe("eagle3", block_count=1, target_layers=list(layers), target_hidden_size=64)
    if n_known is None:
        return write_orderly(library, path, made, drop=["token_embd", "output.weight"])
    known = np.array(byte_ids(LETTERS)[:n_known], np.int64)
    output = output_matrix((64, made.n_vocab), 1)
    letters, two_further = byte_ids(LETTERS), np.zeros_like(output)
    for followers in likely_followers(1):
        two_further[followers] += output[letters]
    extra: dict[str, npt.NDArray[np.generic]] = {
        "d2t": known,
        "output.weight": two_further[known],
    }
    edits = {"fc.weight": passes_token_on}
    return write_orderly(library, path, made, drop=["token_embd"], extra=extra, edits=edits)


def write_block(library: Library, path: Path, kind: str) -> Path:
    """A block drafter for targets of `head_recipes`: `dflash`, or `dspark` with its two layouts."""
    made = recipe(
        "dflash",
        block_count=2,
        block_size=BLOCK,
        target_layers=[1, 2, 3],
        attention__key_length=16,
        attention__value_length=16,
        sample_from_anchor=kind != "dspark, apart",
    )
    extra: dict[str, npt.NDArray[np.generic]] = {}
    if kind != "dflash":
        extra["markov_w1.weight"] = embeddings((64, made.n_vocab), 1)
        extra["markov_w2.weight"] = output_matrix((64, made.n_vocab), 1)
        sure = np.random.default_rng(3).normal(0, 0.1, (1, 2 * 64))
        extra["conf_proj.weight"] = sure.astype(np.float32)
    return write_orderly(
        library,
        path,
        made,
        drop=["token_embd", "output.weight"],
        extra=extra,
        vocabulary={"mask_token_id": MASK},
    )


@dataclass
class Rig:
    """A target and the drafter that listens to it."""

    target: Context
    drafter: ListeningDrafter


def make_target(model: Model, *, n_ctx: int = 2048) -> Context:
    """A context for one thread: with models this small others only wait."""
    return Context(
        model,
        n_ctx=n_ctx,
        n_outputs=17,
        n_threads=1,
        n_snapshots=SNAPSHOTS,
        abort=AbortFlag(model.library),
    )


@contextmanager
def feature_rig(model: Model, head: Model, kind: str, *, n_ctx: int = 2048) -> Iterator[Rig]:
    """A target with an EAGLE-3 head or a block drafter."""
    target = make_target(model, n_ctx=n_ctx)
    extension, abort = bind_extension(model.library), AbortFlag(model.library)
    drafter: ListeningDrafter
    if kind.startswith("eagle3"):
        context = make_eagle_context(head, target, extension, abort=abort)
        drafter = Eagle3Drafter(target, context)
    else:
        is_dspark = kind.startswith("dspark")
        block = make_block_context(
            head,
            target,
            extension,
            abort=abort,
            is_dspark=is_dspark,
            has_confidence=is_dspark,
        )
        drafter = BlockDrafter(target, block)
    yield Rig(target, drafter)
    drafter.close()
    target.close()


@contextmanager
def mtp_rig(model: Model, heads: Model | None = None, *, n_ctx: int = 2048) -> Iterator[Rig]:
    """A target with its heads, closed in the order that llama.cpp needs."""
    target = make_target(model, n_ctx=n_ctx)
    extension = bind_extension(model.library)
    abort = AbortFlag(model.library)
    head = make_mtp_context(heads or model, target, extension, abort=abort)
    rig = Rig(target, make_mtp_drafter(target, head))
    yield rig
    rig.drafter.close()
    target.close()


def draft_after(drafter: Drafter, ids: Sequence[int], length: int) -> Draft:
    """What a drafter says after a sequence whose last token its target has not decoded."""
    controller = FixedLength(length)
    controller.begin(length)
    drafter.begin(ids, Sampler(PLAIN_SOFTMAX), CoupledDraws(1), controller)
    draft = drafter.draft(ids, length, controller)
    drafter.rollback(len(ids) - 1)
    return draft


def fresh_draft(model: Model, heads: Model | None, ids: Sequence[int], length: int) -> Draft:
    """The same from a target and heads that have seen nothing before."""
    with mtp_rig(model, heads) as rig:
        for _ in rig.target.prefill(ids[:-1]):
            pass
        return draft_after(rig.drafter, ids, length)


class Recorder:
    """A drafter whose drafts are kept, with the length of the sequence that each came after."""

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter
        self.drafts: list[tuple[int, Draft]] = []
        self.begin = drafter.begin
        self.rollback = drafter.rollback
        self.close = drafter.close

    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        """The drafter's own."""
        draft = self._drafter.draft(ids, limit, controller)
        self.drafts.append((len(ids), draft))
        return draft


def assert_acceptance_is_the_overlap(
    target: Context,
    drafter: Drafter,
    prompt: Sequence[int],
    *,
    answers: int,
    length: int,
    draft_model: Model | None = None,
) -> None:
    """A guess is kept with probability sum min(p, q), by rows that were worked out apart.

    Args:
        draft_model: a model that drafts, whose rows are worked out apart too; those of a head are
            taken as it gave them.
    """
    expected: list[float] = []
    accepted = 0
    alone = make_target(target.model)
    drafts = make_target(draft_model) if draft_model else None
    for seed in range(answers):
        recorder = Recorder(drafter)
        decoder = Decoder(
            target, recorder, Sampler(PLAIN_SOFTMAX), "token", FixedLength(length), seed
        )
        for _ in decoder.prefill(prompt):
            pass
        rounds = list(decoder.rounds(300))
        accepted += sum(step.accepted for step in rounds)
        laws = _rows_of(alone, decoder.ids)
        proposals = _rows_of(drafts, decoder.ids) if drafts else None
        for (start, draft), step in zip(recorder.drafts, rounds, strict=False):
            for index in range(min(step.accepted + 1, step.drafted)):
                assert draft.distributions is not None
                place = start + index - 1  # what was drafted before a tested guess was kept
                proposed = dense(draft.distributions[index])
                if proposals is not None:
                    np.testing.assert_allclose(proposed, proposals[place], rtol=ROUNDING, atol=1e-6)
                    proposed = proposals[place]
                expected.append(float(np.minimum(laws[place], proposed).sum()))
    for context in (alone, drafts):
        if context is not None:
            context.close()
    deviation = np.sqrt(sum(chance * (1 - chance) for chance in expected))
    assert len(expected) > 20 * answers
    assert abs(accepted - sum(expected)) < 4 * deviation


def _rows_of(target: Context, ids: Sequence[int]) -> npt.NDArray[np.float64]:
    """The law of the token after each position."""
    target.rollback(0)
    laws = []
    for start in range(0, len(ids), target.n_outputs):
        chunk = ids[start : start + target.n_outputs]
        target.decode(chunk, Outputs.ALL)
        rows = Sampler(PLAIN_SOFTMAX).distributions(target.rows(len(chunk)), (), ())
        laws += [dense(row) for row in rows]
    return np.stack(laws)


def assert_same_draft(one: Draft, other: Draft) -> None:
    """Equal tokens from equal distributions, up to rounding.

    A draw is a function of its distribution and its place. So tokens that differ where the
    distributions agree were tied to rounding, and what comes after them may differ.
    """
    assert one.distributions is not None
    assert other.distributions is not None
    assert one.tokens
    drafts = (zip(draft.tokens, draft.distributions or (), strict=True) for draft in (one, other))
    for (mine, row), (theirs, other_row) in zip(*drafts, strict=False):
        np.testing.assert_allclose(dense(row), dense(other_row), rtol=ROUNDING, atol=1e-6)
        if mine != theirs:
            return
    assert len(one.tokens) == len(other.tokens)


def dense(row: Distribution, size: int = 259) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Probabilities of all tokens."""
    probabilities = np.zeros(size)
    probabilities[row.ids] = row.probabilities
    return probabilities
