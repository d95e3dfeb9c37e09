"""A choice fitted to this machine: the memory plan, and what it means for the engine."""

import asyncio

import msgspec
from msgspec.structs import replace

from specchat.choosing.choice import Choice
from specchat.choosing.machine_now import find_machine
from specchat.choosing.matching import mismatch
from specchat.choosing.wording import (
    drafted_otherwise,
    gave_way,
    not_enough,
    not_enough_for_draft,
)
from specchat.engine.protocol import Load, Notice, Pair, Plan
from specchat.pairing.drafting import choose_drafting
from specchat.pairing.gguf_file import GgufFile, header_of
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
        self._notices = [*choice.notices]

    def placed(self) -> Placed:
        """Who drafts, whether it matches, and where both go."""
        self._keep_to_what_pays()
        draft = self._matching_draft()
        wishes = self._wishes()
        plan = self._plan(shape_from_header(draft) if draft is not None else None, wishes)
        if not plan.fits and self._asked.gpu_layers is None:
            raise not_enough(self._target, plan, self._asked.ctx)
        if plan.fits and draft is not None and not plan.with_draft:
            if self._asked.keeps_draft:
                raise not_enough_for_draft(self._target, draft, plan)
            self._pair = Pair(self._pair.target)
        return Placed(
            load=Load(self._pair, self._engine_plan(plan, wishes)),
            plan=plan,
            machine=self._machine,
            notices=(*self._notices, *gave_way(plan)),
        )

    def _keep_to_what_pays(self) -> None:
        """A pair of the catalog without its draft model, where it is known to lose."""
        pair, target = self._choice.pair, self._choice.target
        if pair is None or target is None or self._pair.draft is None:
            return
        if self._asked.drafter != "auto" or self._asked.keeps_draft:
            return
        measured = self._choice.measured
        drafting = choose_drafting(pair, target, self._machine, measured)
        if drafting.drafter != pair.draft.type:
            self._pair = Pair(self._pair.target)
            self._notices += drafted_otherwise(drafting.reasons)

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
        )
