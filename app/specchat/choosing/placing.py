"""A choice fitted to this machine: the memory plan, and what it means for the engine."""

import asyncio

import msgspec
from msgspec.structs import replace

from specchat.choosing.choice import Choice
from specchat.choosing.heads import heads_of
from specchat.choosing.machine_now import find_machine
from specchat.choosing.matching import mismatch
from specchat.choosing.sidecars import sidecar_of
from specchat.choosing.wording import (
    drafted_otherwise,
    found_beside,
    gave_way,
    heads_missing,
    not_enough,
    not_enough_for_draft,
)
from specchat.engine.protocol import Load, Notice, Pair, Plan
from specchat.pairing.drafter_type import DraftKind
from specchat.pairing.drafting import TargetFacts, choose_drafting, losing
from specchat.pairing.gguf_file import GgufFile, header_of
from specchat.pairing.head_fit import built_in_heads
from specchat.pairing.head_shape import shape_of_draft
from specchat.pairing.machine import Machine
from specchat.pairing.memory import (
    USUAL_N_CTX,
    MemoryPlan,
    Wishes,
    engine_numbers,
    plan_memory,
)
from specchat.pairing.placement import fast_devices
from specchat.pairing.planner import LEAST_CTX, pair_wishes, quicker_attempt
from specchat.pairing.shape import ModelShape
from specchat.pairing.shape_header import shape_from_header

ALL_LAYERS = 2**31 - 1


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A pair ready to be loaded."""

    load: Load
    """For the engine, as it is."""
    plan: MemoryPlan | None
    """None: the target's header cannot be read, and the engine says why."""
    machine: Machine
    notices: tuple[Notice, ...] = ()
    """What the person should know: what had to give (kind `memory`), and why it is drafted
    otherwise than asked or than the catalog has it."""


async def place(choice: Choice, machine: Machine | None = None) -> Placed:
    """Read the headers and the free memory, and decide what goes where.

    Right before a load: the free memory is that of now. Nothing of ours may be loaded meanwhile,
    since its memory would count as taken.

    Args:
        machine: None: the one that it runs on, as it is now.

    Raises:
        OutOfMemory: it does not fit, and was not forced by --gpu-layers.
        DraftMismatch: the draft does not fit the target, and is required.
        LibraryProblem, RpcServerProblem, EngineCrashed: the devices cannot be known.
    """
    machine = machine or await find_machine(choice.asked.rpc)
    return await asyncio.to_thread(_placed, choice, machine)


def _placed(choice: Choice, machine: Machine) -> Placed:
    target = header_of(choice.load.pair.target)
    if target is None:
        return Placed(load=choice.load, plan=None, machine=machine, notices=choice.notices)
    return _Placing(choice, machine, target).placed()


class _Placing:
    """The decisions about one pair, in their order."""

    def __init__(self, choice: Choice, machine: Machine, target: GgufFile) -> None:
        self._choice = choice
        self._asked = choice.asked
        self._machine = machine
        self._target = target
        self._shape = shape_from_header(target)
        self._pair = choice.load.pair
        self._own_heads: ModelShape | None = None
        """Of MTP heads in the target's file, where they are to draft."""
        self._notices = [*choice.notices]

    def placed(self) -> Placed:
        """Who drafts, whether it matches, and where both go."""
        self._keep_to_what_pays()
        draft = self._matching_draft()
        wishes = self._wishes()
        shape = shape_of_draft(draft) if draft is not None else self._own_heads
        plan = self._plan(shape, wishes)
        if not plan.fits and self._asked.gpu_layers is None:
            raise not_enough(self._target, plan, self._asked.ctx)
        if plan.fits and shape is not None and not plan.with_draft:
            if self._asked.keeps_draft and draft is not None:
                raise not_enough_for_draft(self._target, draft, plan)
            self._pair, self._own_heads = Pair(self._pair.target), None
        return Placed(
            load=Load(self._pair, self._engine_plan(plan, wishes)),
            plan=plan,
            machine=self._machine,
            notices=(*self._notices, *gave_way(plan)),
        )

    def _keep_to_what_pays(self) -> None:
        """The draft of the pair, or heads that are here, unless they are known to lose."""
        choice, asked = self._choice, self._asked
        by_itself = asked.drafter == "auto" and not asked.keeps_draft
        if self._pair.draft is None:
            self._take_heads(even_if_they_lose=not by_itself)
        elif choice.pair is not None and choice.target is not None and by_itself:
            drafting = choose_drafting(choice.pair, choice.target, self._machine, choice.measured)
            if drafting.drafter != choice.pair.draft.type:
                self._pair = Pair(self._pair.target)
                self._notices += drafted_otherwise(drafting.reasons)

    def _take_heads(self, *, even_if_they_lose: bool) -> None:
        """Those in the target's file before those beside it, where no draft is named."""
        given = self._choice.load.plan
        if self._asked.drafter not in ("auto", "model") or given.max_draft_length == 0:
            return
        heads = heads_of(self._target, self._beside, own=given.built_in_heads)
        if heads is None:
            self._notices += heads_missing(self._target, self._choice.pair)
            return
        reasons = () if even_if_they_lose else self._why_they_lose(heads.kind)
        if reasons:
            self._notices += drafted_otherwise(reasons, "its heads")
        elif heads.file is not None:
            self._pair = Pair(self._pair.target, heads.file.path)
            self._notices.append(found_beside(self._target, heads.file))
        else:
            self._own_heads = heads.shape

    def _beside(self) -> GgufFile | None:
        return sidecar_of(self._target) if self._asked.looks_beside else None

    def _why_they_lose(self, kind: DraftKind) -> tuple[str, ...]:
        choice = self._choice
        if choice.pair is not None and choice.target is not None and choice.pair.draft.type == kind:
            return choose_drafting(
                choice.pair, choice.target, self._machine, choice.measured
            ).reasons
        return tuple(losing(kind, TargetFacts.of_file(self._target), self._machine))[:1]

    def _matching_draft(self) -> GgufFile | None:
        """The draft's header, unless it cannot guess for the target: then it is left out."""
        draft = header_of(self._pair.draft) if self._pair.draft is not None else None
        error = mismatch(self._target, draft) if draft is not None else None
        if error is None:
            return draft
        if self._asked.draft_required or self._asked.keeps_draft:
            raise error
        self._notices.append(Notice.without_draft(error))
        self._pair = Pair(self._pair.target)
        return None

    def _wishes(self) -> Wishes:
        """What was asked for, and else what the catalog suggests."""
        asked, pair, given = self._asked, self._choice.pair, self._choice.load.plan
        wishes = Wishes() if pair is None else pair_wishes(pair, self._machine)
        n_ctx, shortest = asked.ctx, None
        if n_ctx is None and wishes.n_ctx is not None:
            n_ctx = min(wishes.n_ctx, self._shape.n_ctx_train or wishes.n_ctx)
            shortest = min(n_ctx, LEAST_CTX)
        return replace(
            wishes,
            n_ctx=n_ctx,
            shortest_n_ctx=shortest,
            n_gpu_layers=ALL_LAYERS if asked.gpu_layers == -1 else asked.gpu_layers,
            cache_type=asked.cache_type or wishes.cache_type,
            draft_cache_type=given.draft_cache_type,
            experts_in_ram=given.experts_in_ram,
            whole_window_cache=given.whole_window_cache,
            max_draft_length=given.max_draft_length,
            n_snapshots=given.n_snapshots,
        )

    def _plan(self, draft: ModelShape | None, wishes: Wishes) -> MemoryPlan:
        """Where a pair of the catalog has a mixture, its experts go where they are quicker."""
        model = self._choice.target
        if model is None or self._asked.gpu_layers is not None:
            return plan_memory(self._machine, self._shape, draft, wishes)
        return quicker_attempt(self._machine, model, (self._shape, draft), wishes).plan

    def _engine_plan(self, plan: MemoryPlan, wishes: Wishes) -> Plan:
        """What differs from what was asked for; a plan that does not fit changes nothing."""
        given = self._choice.load.plan
        if self._own_heads is None and built_in_heads(self._target):
            given = replace(given, built_in_heads=False)
        if not plan.fits:
            return given
        numbers = engine_numbers(plan)
        wanted = wishes.n_ctx or min(USUAL_N_CTX, self._shape.n_ctx_train or USUAL_N_CTX)
        n_ctx = numbers.n_ctx if numbers.n_ctx < wanted else wishes.n_ctx
        layers = given.n_gpu_layers
        if self._asked.gpu_layers is None and fast_devices(self._machine):
            everything = numbers.n_gpu_layers > len(self._shape.layers)
            layers = -1 if everything else numbers.n_gpu_layers
        return replace(
            given,
            n_ctx=n_ctx,
            n_gpu_layers=layers,
            draft_devices=numbers.draft_devices,
            cache_type=numbers.cache_type,
            experts_in_ram=numbers.experts_in_ram,
            n_snapshots=numbers.n_snapshots,
            saved_states_bytes=numbers.saved_states_bytes or given.saved_states_bytes,
            draft_saved_states_bytes=(
                numbers.draft_saved_states_bytes or given.draft_saved_states_bytes
            ),
        )
