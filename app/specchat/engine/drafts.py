"""What drafts for a target: a model of its own, or heads that were trained for the target."""

from dataclasses import dataclass
from typing import Literal

from specchat.engine.protocol import DrafterName
from specchat.errors import DraftMismatch, UnsupportedModel
from specchat.llama.context import Context
from specchat.llama.extension import GIVES_HIDDEN_STATES, RUNS_MTP, bind_extension
from specchat.llama.head import make_mtp_context
from specchat.llama.library import AbortFlag
from specchat.llama.model import Model
from specchat.pairing.compatibility import VocabularyFacts, vocabulary_difference
from specchat.pairing.drafter_type import DRAFTER_NAMES, DrafterKind, drafter_kind
from specchat.pairing.gguf_file import header_of
from specchat.speculation.controller import Reach
from specchat.speculation.drafters.base import ModelLikeDrafter
from specchat.speculation.drafters.model import ModelDrafter
from specchat.speculation.drafters.mtp import make_mtp_drafter

Kind = Literal["model", "mtp"]
WITH_NGRAMS: dict[Kind, DrafterName] = {"model": "chain", "mtp": "ngram+mtp"}
HEADS: set[DrafterKind] = {"mtp_sidecar"}
"""Kinds of files that are heads alone, and that can be run."""
NOT_YET: set[DrafterKind] = {"eagle3", "dflash", "dspark"}


@dataclass
class LoadedDraft:
    """A drafter and what it needs; `close` frees it before its target."""

    kind: Kind
    model: Model
    """The target itself where heads are in its file."""
    context: Context
    drafter: ModelLikeDrafter
    is_built_in: bool = False

    @property
    def reach(self) -> Reach:
        """What its drafts can be."""
        return self.drafter.reach

    def close(self) -> None:
        """Free its cache and its weights."""
        self.drafter.close()
        if not self.is_built_in:
            self.model.close()


def kind_of(path: str) -> DrafterKind | None:
    """What a file is for, by its header; None where it is for llama.cpp to say what is wrong."""
    file = header_of(path)
    return None if file is None else drafter_kind(file)


def has_heads_to_run(path: str) -> bool:
    """Whether a target brings MTP heads that this program can run."""
    file = header_of(path)
    if file is None:
        return False
    runs = file.architecture in RUNS_MTP and file.architecture in GIVES_HIDDEN_STATES
    return runs and drafter_kind(file) == "mtp"


def require_runnable(path: str, kind: DrafterKind | None) -> None:
    """Refuse what is not there yet.

    Raises:
        UnsupportedModel: a kind of head that this program cannot run.
    """
    if kind in NOT_YET:
        raise UnsupportedModel(
            f"Tried to draft with '{path}'.",
            f"It is {DRAFTER_NAMES[kind]}, and this version cannot run one yet.",
            "Leave --draft out to draft by n-grams, or name a small model of the same family.",
        )


def draft_model(model: Model, context: Context, target: Model) -> LoadedDraft:
    """A model that drafts on its own."""
    return LoadedDraft("model", model, context, ModelDrafter(context, target.vocabulary.n_tokens))


def mtp_heads(model: Model, target: Context, abort: AbortFlag) -> LoadedDraft:
    """The MTP heads in the target's own file, or in a file of theirs.

    Raises:
        UnsupportedModel: this build cannot run them, or they are not this target's.
        ContextTooLarge: their cache does not fit.
    """
    context = make_mtp_context(model, target, bind_extension(model.library), abort=abort)
    drafter = make_mtp_drafter(target, context)
    return LoadedDraft("mtp", model, context, drafter, is_built_in=model is target.model)


def require_match(target: Model, draft: Model) -> None:
    """Refuse a draft whose guesses the target could not use.

    Raises:
        DraftMismatch: with the first difference of the vocabularies.
    """
    difference = vocabulary_difference(_vocabulary_facts(target), _vocabulary_facts(draft))
    if difference is not None:
        raise DraftMismatch(
            f"Tried to draft with {draft.path.name} for {target.path.name}.",
            difference,
            "Choose a draft of the same family, or leave --draft out to draft by n-grams.",
        )


def _vocabulary_facts(model: Model) -> VocabularyFacts:
    vocabulary = model.vocabulary
    return VocabularyFacts(
        kind=vocabulary.kind,
        adds_bos=vocabulary.adds_bos,
        bos=vocabulary.bos,
        adds_eos=vocabulary.adds_eos,
        eos=vocabulary.eos,
        texts=vocabulary.texts(range(vocabulary.n_tokens)),
    )
