"""What drafts for a target: a model of its own, or heads that were trained for the target."""

from dataclasses import dataclass

from specchat.errors import DraftMismatch
from specchat.llama.context import Context
from specchat.llama.extension import bind_extension
from specchat.llama.feature_heads import make_block_context, make_eagle_context
from specchat.llama.head import make_mtp_context
from specchat.llama.library import AbortFlag
from specchat.llama.model import Model
from specchat.pairing.compatibility import VocabularyFacts, vocabulary_difference
from specchat.pairing.drafter_type import DraftKind
from specchat.pairing.gguf_file import header_of
from specchat.pairing.head_fit import draft_kind, has_confidence_head
from specchat.speculation.controller import Reach
from specchat.speculation.drafters.base import ModelLikeDrafter
from specchat.speculation.drafters.block import BlockDrafter
from specchat.speculation.drafters.eagle3 import Eagle3Drafter
from specchat.speculation.drafters.model import ModelDrafter
from specchat.speculation.drafters.mtp import make_mtp_drafter


@dataclass(frozen=True)
class DraftFile:
    """What a draft's header says that it is."""

    kind: DraftKind = "model"
    has_confidence: bool = False
    """It says how sure it is of each guess."""

    @property
    def is_head(self) -> bool:
        """It guesses for its target and writes no text alone."""
        return self.kind != "model"


@dataclass
class LoadedDraft:
    """A drafter and what it needs; `close` frees it before its target."""

    kind: DraftKind
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


def draft_file(path: str) -> DraftFile:
    """What a file is for, by its header; a model where it is for llama.cpp to say what is wrong."""
    file = header_of(path)
    if file is None:
        return DraftFile()
    return DraftFile(draft_kind(file), has_confidence_head(file))


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


def head_in_a_file(file: DraftFile, model: Model, target: Context, abort: AbortFlag) -> LoadedDraft:
    """A trained head of any kind.

    Raises:
        UnsupportedModel: this build cannot run it, or it is not this target's.
        ContextTooLarge: its cache does not fit.
    """
    extension = bind_extension(model.library)
    if file.kind == "mtp":
        return mtp_heads(model, target, abort)
    if file.kind == "eagle3":
        eagle = make_eagle_context(model, target, extension, abort=abort)
        return LoadedDraft("eagle3", model, eagle, Eagle3Drafter(target, eagle))
    block = make_block_context(
        model,
        target,
        extension,
        abort=abort,
        is_dspark=file.kind == "dspark",
        has_confidence=file.has_confidence,
    )
    return LoadedDraft(file.kind, model, block, BlockDrafter(target, block))


def require_match(target: Model, draft: Model, *, is_head: bool) -> None:
    """Refuse a draft whose guesses the target could not use.

    Raises:
        DraftMismatch: with the first difference of the vocabularies.
    """
    facts = _vocabulary_facts(target), _vocabulary_facts(draft)
    difference = vocabulary_difference(*facts, is_head=is_head)
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
