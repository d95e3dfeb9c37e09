"""A loaded pair: models, contexts, drafters, and the answers they give."""

from functools import partial
from time import perf_counter

from specchat.chat.template import ChatTemplate
from specchat.engine.alarms import Loading, load_alarms
from specchat.engine.answer import Answer, Emit
from specchat.engine.costs import adaptive, known_costs, quick_costs
from specchat.engine.drafter_names import WITH_NGRAMS, DrafterName
from specchat.engine.drafts import (
    LoadedDraft,
    draft_file,
    draft_model,
    head_in_a_file,
    mtp_heads,
    require_match,
)
from specchat.engine.machine import engine_facts
from specchat.engine.overflow import PromptFitter, room_for_prompt
from specchat.engine.placement import read_shape, require_room, with_memory
from specchat.engine.protocol import (
    Generate,
    Load,
    Loaded,
    LoadProgress,
    LoadStep,
    ModelFacts,
    Notice,
)
from specchat.engine.snapshot_price import without_snapshots
from specchat.engine.thinking import show_marks
from specchat.errors import InvalidSetting, SpecchatError
from specchat.llama.context import CPU_BATCH, GPU_BATCH, Context, Outputs, default_threads
from specchat.llama.devices import devices_of
from specchat.llama.library import AbortFlag, Library
from specchat.llama.model import Model
from specchat.llama.rpc import SILENCE_S, add_servers, limit_silence
from specchat.neighbours import Watch
from specchat.pairing.head_fit import has_heads_to_run
from specchat.pairing.memory_estimate import ContextSizes
from specchat.speculation.adaptive import AdaptiveLength
from specchat.speculation.controller import FixedLength, LengthController
from specchat.speculation.drafters.base import Drafter
from specchat.speculation.drafters.chain import ChainDrafter
from specchat.speculation.drafters.ngram import NgramDrafter
from specchat.speculation.settings import DrafterChoice, DraftLength

DEFAULT_N_CTX = 8192
"""Context when none is asked for; less where the model was trained for less."""
PROGRESS_STEP = 0.01
"""Smallest loaded fraction that is reported."""


class Session:
    """A target, perhaps a draft, and their caches. `close` frees all of it.

    Raises:
        SpecchatError: the target cannot be used, or a required draft cannot.
    """

    def __init__(self, library: Library, load: Load, abort: AbortFlag, emit: Emit) -> None:
        started = perf_counter()
        self._library = library
        self._abort = abort
        self._plan = plan = load.plan
        self._notices: list[Notice] = []
        self._watch = partial(Watch, () if load.asked_by is None else (load.asked_by,))
        self._n_threads = plan.n_threads or default_threads()
        add_servers(library, plan.rpc)
        if plan.rpc:
            self._notices.append(_unencrypted(plan.rpc))
        with_heads = (
            load.pair.draft is None
            and plan.built_in_heads
            and plan.max_draft_length > 0
            and has_heads_to_run(load.pair.target)
        )
        self._target = self._load_model(load.pair.target, "target", emit, load_mtp=with_heads)
        self._context: Context | None = None
        self._draft: LoadedDraft | None = None
        try:
            self._context = self._make_context(self._target, plan.max_draft_length)
            _warm_up(self._context)
            if load.pair.draft is not None:
                self._draft = self._load_draft(load.pair.draft, emit)
            elif with_heads:
                self._draft = self._own_heads()
        except BaseException:
            self.close()
            raise
        vocabulary = self._target.vocabulary
        show_marks(vocabulary)
        self._template = ChatTemplate(
            self._target.chat_template,
            bos=vocabulary.written(vocabulary.bos),
            eos=vocabulary.written(vocabulary.eos),
        )
        self._fitter = PromptFitter(vocabulary, self._template)
        self._ngram = NgramDrafter()
        self._adaptive = self._measured(emit)
        if self._target.chat_template is None:
            self._notices.append(_no_template(self._target))
        self._notices += load_alarms(self._loading())
        self._load_s = perf_counter() - started

    def loaded(self) -> Loaded:
        """What was loaded, in words."""
        assert self._context is not None
        draft = self._draft
        return Loaded(
            target=_model_facts(self._target),
            draft=_model_facts(draft.model) if draft and not draft.is_built_in else None,
            n_ctx=self._context.n_ctx,
            n_threads=self._n_threads,
            drafter=self._drafter_name("auto"),
            stepping_back=self._context.memory.kind,
            engine=engine_facts(self._library),
            notices=tuple(self._notices),
            load_s=self._load_s,
        )

    def answer(self, request: Generate, emit: Emit) -> None:
        """Write the answer, with events on the way and `Finished` as the last.

        Raises:
            SpecchatError: the request cannot be carried out.
        """
        assert self._context is not None
        name = self._drafter_name(request.speculation.drafter)
        controller, longest = self._controller(name, request.speculation.draft_length)
        room = room_for_prompt(self._context.n_ctx, request.max_tokens)
        fitted = self._fitter.fit(request.conversation, request.begun, room)
        answer = Answer(
            request,
            prompt=fitted.tokens,
            left_out=fitted.left_out,
            target=self._context,
            drafter=self._drafter(name),
            drafter_name=name,
            controller=controller,
            longest=longest,
            watch=self._watch(),
        )
        answer.run(emit)

    def close(self) -> None:
        """Free contexts, then models."""
        if self._draft is not None:
            self._draft.close()
        if self._context is not None:
            self._context.close()
        self._target.close()

    def _load_model(
        self,
        path: str,
        step: LoadStep,
        emit: Emit,
        *,
        load_mtp: bool = False,
        is_head: bool = False,
    ) -> Model:
        last = -1.0

        def progress(fraction: float) -> bool:
            nonlocal last
            if fraction - last >= PROGRESS_STEP or fraction == 1.0:
                last = fraction
                self._limit_silence()
                emit(partial(LoadProgress, step, fraction))
            return True

        plan = self._plan
        target = step == "target"
        self._require_room(path, step)
        return Model(
            self._library,
            path,
            n_gpu_layers=plan.n_gpu_layers if target else plan.n_draft_gpu_layers,
            devices=plan.devices if target else plan.draft_devices,
            servers=plan.rpc,
            experts_in_ram=plan.experts_in_ram and target,
            load_mtp=load_mtp,
            is_head=is_head,
            progress=progress,
        )

    def _require_room(self, path: str, step: LoadStep) -> None:
        """Look at what is free now: other programs may have started since the plan was made."""
        shape = read_shape(path)
        if shape is None:
            return
        plan, target = self._plan, step == "target"
        names = plan.devices if target else plan.draft_devices
        devices = devices_of(self._library, names, plan.rpc)
        n_ctx_train = shape.n_ctx_train if target else self._target.n_ctx_train
        n_batch, n_ubatch = GPU_BATCH if devices else CPU_BATCH
        sizes = ContextSizes(
            n_ctx=self._n_ctx(n_ctx_train),
            n_batch=n_batch,
            n_ubatch=n_ubatch,
            n_outputs=1 + plan.max_draft_length if target else 1,
            cache_type=plan.cache_type if target else plan.draft_cache_type,
            whole_window_cache=plan.whole_window_cache,
            n_snapshots=min(plan.max_draft_length, plan.n_snapshots) if target else 0,
        )
        self._notices += require_room(
            path,
            shape,
            with_memory(self._library, devices),
            plan.n_gpu_layers if target else plan.n_draft_gpu_layers,
            sizes,
            experts_in_ram=plan.experts_in_ram and target,
        )

    def _n_ctx(self, n_ctx_train: int) -> int:
        return self._plan.n_ctx or min(DEFAULT_N_CTX, n_ctx_train or DEFAULT_N_CTX)

    def _make_context(self, model: Model, longest_draft: int) -> Context:
        plan, target = self._plan, model is self._target
        n_ctx = self._n_ctx(self._target.n_ctx_train)
        if n_ctx > self._target.n_ctx_train > 0 and target:
            self._notices.append(_beyond_training(model, n_ctx))
        context = Context(
            model,
            n_ctx=n_ctx,
            n_outputs=1 + longest_draft,
            n_threads=self._n_threads,
            abort=self._abort,
            n_snapshots=min(longest_draft, plan.n_snapshots),
            cache_type=plan.cache_type if target else plan.draft_cache_type,
            whole_window_cache=plan.whole_window_cache,
        )
        context.memory.checkpoint_bytes = (
            plan.saved_states_bytes if target else plan.draft_saved_states_bytes
        )
        self._limit_silence()
        return context

    def _limit_silence(self) -> None:
        """A server that hangs ends the engine, after a while, as one that is gone does at once."""
        limit_silence(self._plan.rpc, SILENCE_S)

    def _load_draft(self, path: str, emit: Emit) -> LoadedDraft | None:
        """The draft, or None and a notice where the chat can do without it."""
        assert self._context is not None
        model: Model | None = None
        try:
            file = draft_file(path)
            model = self._load_model(path, "draft", emit, is_head=file.is_head)
            require_match(self._target, model, is_head=file.is_head)
            if file.is_head:
                draft = head_in_a_file(file, model, self._context, self._abort)
            else:
                draft = draft_model(model, self._make_context(model, 0), self._target)
        except SpecchatError as error:
            if model is not None:
                model.close()
            if self._plan.draft_required:
                raise
            self._notices.append(Notice.without_draft(error))
            return None
        _warm_up(draft.context)
        return draft

    def _own_heads(self) -> LoadedDraft | None:
        """The heads in the target's file, or None and a notice."""
        assert self._context is not None
        try:
            draft = mtp_heads(self._target, self._context, self._abort)
        except SpecchatError as error:
            self._notices.append(Notice.without_draft(error))
            return None
        _warm_up(draft.context)
        return draft

    def _loading(self) -> Loading:
        """What the alarms of a load are raised by."""
        draft = self._draft
        return Loading(
            target=self._target.name,
            offloaded_to=self._target.offloaded_to,
            has_experts=self._target.has_experts,
            experts_in_ram=self._plan.experts_in_ram,
            draft=draft.model.name if draft and not draft.is_built_in else None,
            draft_offloaded_to=draft.model.offloaded_to if draft else (),
            draft_cache_type=self._plan.draft_cache_type,
        )

    def _drafter_name(self, choice: DrafterChoice) -> DrafterName:
        """What a choice comes down to with what is loaded.

        Raises:
            InvalidSetting: a draft model or heads were asked for and none are loaded.
        """
        draft = self._draft
        if choice == "auto":
            return "ngram" if draft is None else WITH_NGRAMS[draft.kind]
        if choice != "model":
            return choice
        if draft is None:
            raise InvalidSetting(
                "Tried to draft with a model or heads.",
                "No draft model and no head is loaded.",
                "Name one with --draft, or use --drafter ngram.",
            )
        return draft.kind

    def _drafter(self, name: DrafterName) -> Drafter | None:
        if name == "none":
            return None
        if name == "ngram":
            return self._ngram
        assert self._draft is not None
        draft = self._draft
        return draft.drafter if name == draft.kind else ChainDrafter(self._ngram, draft.drafter)

    def _controller(self, name: DrafterName, length: DraftLength) -> tuple[LengthController, int]:
        """The controller of an answer, and the longest draft it may ask for."""
        if name == "none":
            return FixedLength(0, self._adaptive.baseline), 0
        if length == "auto":
            return self._adaptive, self._adaptive.longest
        assert self._context is not None
        fixed = min(length, self._context.longest_draft)
        return FixedLength(fixed, self._adaptive.baseline), fixed

    def _measured(self, emit: Emit) -> AdaptiveLength:
        """A controller that knows what decode calls cost here."""
        assert self._context is not None
        draft = self._draft.context if self._draft is not None else None
        longest = self._context.longest_draft
        if self._plan.measure_costs and longest > 0:
            costs = known_costs(
                self._context,
                draft,
                longest,
                lambda fraction: emit(partial(LoadProgress, "costs", fraction)),
                self._watch,
                without_snapshots(self._context, self._plan.cache_type, self._abort),
            )
        else:
            costs = quick_costs(self._context)
        replays = self._context.memory.kind == "checkpoints"
        reach = self._draft.reach if self._draft is not None else None
        return adaptive(costs, longest, replays=replays, reach=reach)


def _warm_up(context: Context) -> None:
    """One decode, so that the first answer does not pay for reading the weights from disk."""
    context.rehearse(1, Outputs.LAST)
    context.rollback(0)


def _model_facts(model: Model) -> ModelFacts:
    return ModelFacts(
        path=str(model.path),
        name=model.name,
        description=model.description,
        architecture=model.architecture,
        size_bytes=model.size_bytes,
        n_parameters=model.n_parameters,
        n_ctx_train=model.n_ctx_train,
    )


def _no_template(model: Model) -> Notice:
    return Notice(
        kind="no_template",
        title="No chat template",
        message=f"{model.name} has no chat template; it writes on from your text.",
        help="For a chat choose an instruct version of the model.",
    )


def _unencrypted(servers: tuple[str, ...]) -> Notice:
    return Notice(
        kind="rpc_unencrypted",
        title="Another machine takes part",
        message=f"The model and what you write go unencrypted to {', '.join(servers)}, and "
        "whoever reaches such a server can use it.",
        help="Use RPC servers only in a network that you trust.",
    )


def _beyond_training(model: Model, n_ctx: int) -> Notice:
    return Notice(
        kind="beyond_training",
        title="A context beyond training",
        message=f"{model.name} was trained for {model.n_ctx_train:,} tokens; {n_ctx:,} were asked "
        "for. Text may fall apart further on.",
        help=f"Use --ctx {model.n_ctx_train} or less.",
    )
