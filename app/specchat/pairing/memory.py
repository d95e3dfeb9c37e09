"""How much memory a pair takes, and where its parts go."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from specchat.pairing.machine import Machine
from specchat.pairing.memory_estimate import (
    CELL_STEP,
    CacheType,
    ContextSizes,
    SavedStates,
    more_saved_states,
    n_states,
    one_saved_state,
    rounded_up,
)
from specchat.pairing.placement import PlacedModel, Use, by_speed, fast_devices, shares_ram
from specchat.pairing.shape import MOST_SNAPSHOTS, ModelShape

Part = Literal["target", "draft", "target_kv", "draft_kv", "compute", "margin"]

USUAL_N_CTX = 8192
"""Tokens of context where none are asked for; less where the model was trained for less."""
SHORTEST_N_CTX = 4096
"""To which a context that nobody asked for is shortened."""
FAST_BATCH, CPU_BATCH = (512, 512), (240, 60)
"""Tokens to a decode call, and those that are computed at once (app/specchat/llama/context.py)."""

MARGIN_SHARE = 0.08
MOST_MARGIN = 2**30
"""Left free on each device that is used: a share of all its memory, up to 1 GiB. A driver's own
buffers, the logits' copy, other programs and the estimate's error live there."""


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asked for; None leaves the choice to the plan."""

    n_ctx: int | None = None
    n_gpu_layers: int | None = None
    """-1 leaves it to the plan too."""
    cache_type: CacheType = "f16"
    """Of the target's cache."""
    draft_cache_type: CacheType = "f16"
    experts_in_ram: bool = False
    """Of a mixture; its other weights go to the fast devices."""
    max_draft_length: int = 16
    shortest_n_ctx: int | None = None
    """To which `n_ctx` may be shortened. None: not at all, if it was asked for."""
    whole_window_cache: bool = True
    """Sliding-window layers keep every token, as the engine's contexts do."""
    n_snapshots: int = MOST_SNAPSHOTS
    """States that a recurrent target is asked to keep to step back to."""


class DeviceShare(msgspec.Struct, frozen=True):
    """What one device holds."""

    device: str
    free_bytes: int
    parts: dict[Part, int]
    """Bytes of each part that is not empty."""

    @property
    def used_bytes(self) -> int:
        """All parts together."""
        return sum(self.parts.values())


class MemoryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pair goes, and what had to give for it to fit."""

    shares: tuple[DeviceShare, ...]
    n_ctx: int
    n_gpu_layers: int
    """Of the target, counted as llama.cpp does: the output layer is one more."""
    with_draft: bool
    steps: tuple[str, ...] = ()
    """What had to give, one sentence each, in the order in which it was done."""
    fits: bool = True
    n_draft_gpu_layers: int = 0
    n_snapshots: int = 0
    """Of a recurrent state, to step back to."""
    saved_states_bytes: int = 0
    """In main memory, for recurrent states of earlier turns: as many as there is room for."""
    draft_saved_states_bytes: int = 0
    """The same for a draft model."""
    cache_type: CacheType = "f16"
    experts_in_ram: bool = False
    draft_device: str | None = None
    """Where all of the draft lies, of several fast devices. None: on all of them."""


class EngineNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """A plan as the engine needs it."""

    n_ctx: int
    n_gpu_layers: int
    n_draft_gpu_layers: int
    with_draft: bool
    cache_type: CacheType
    experts_in_ram: bool
    n_snapshots: int
    saved_states_bytes: int
    draft_saved_states_bytes: int
    draft_devices: tuple[str, ...] | None


def engine_numbers(plan: MemoryPlan) -> EngineNumbers:
    """What to load, once a plan is chosen."""
    return EngineNumbers(
        n_ctx=plan.n_ctx,
        n_gpu_layers=plan.n_gpu_layers,
        n_draft_gpu_layers=plan.n_draft_gpu_layers,
        with_draft=plan.with_draft,
        cache_type=plan.cache_type,
        experts_in_ram=plan.experts_in_ram,
        n_snapshots=plan.n_snapshots,
        saved_states_bytes=plan.saved_states_bytes,
        draft_saved_states_bytes=plan.draft_saved_states_bytes,
        draft_devices=None if plan.draft_device is None else (plan.draft_device,),
    )


def plan_memory(
    machine: Machine, target: ModelShape, draft: ModelShape | None, wishes: Wishes
) -> MemoryPlan:
    """The best way to hold this pair in this machine's free memory.

    The draft and all layers go to the fast devices; of several the draft takes the fastest that has
    room for all of it, since every guess would have to pass through all of them. Where that is too
    much, things give way in this order: snapshots of a recurrent state, which only save time; the
    draft, though a trained head only where no shorter context makes room for it; the context, which
    is shortened; layers of the target, which go to main memory. Each is a sentence in `steps`.
    """
    return _Planning(machine, target, draft, wishes).plan()


class _Try(NamedTuple):
    """One way to hold the pair."""

    n_ctx: int
    n_gpu_layers: int
    with_draft: bool


class _Shortage(NamedTuple):
    """The device that lacks the most."""

    n_bytes: int
    device: str


class _Planning:
    """The search for one pair on one machine."""

    def __init__(
        self, machine: Machine, target: ModelShape, draft: ModelShape | None, wishes: Wishes
    ) -> None:
        self._machine = machine
        self._wishes = wishes
        self._fast = fast_devices(machine)
        self._free = [device.free_bytes for device in self._fast]
        self._margins = [margin_bytes(device.total_bytes) for device in self._fast]
        self._ram_margin = margin_bytes(machine.ram_bytes)
        asked = wishes.n_gpu_layers
        self._asked_layers = None if asked is None or asked < 0 else asked
        usual = min(USUAL_N_CTX, target.n_ctx_train or USUAL_N_CTX)
        self._n_ctx = rounded_up(wishes.n_ctx or usual)
        shortest = wishes.shortest_n_ctx or wishes.n_ctx or SHORTEST_N_CTX
        self._shortest = min(self._n_ctx, rounded_up(shortest))
        n_batch, n_ubatch = FAST_BATCH if self._fast else CPU_BATCH
        sizes = ContextSizes(
            n_ctx=self._n_ctx,
            n_batch=n_batch,
            n_ubatch=n_ubatch,
            n_outputs=1 + wishes.max_draft_length,
            cache_type=wishes.cache_type,
            whole_window_cache=wishes.whole_window_cache,
            n_snapshots=min(wishes.n_snapshots, wishes.max_draft_length),
        )
        self._shape, self._sizes = target, sizes
        self._target = self._placed_target()
        self._draft = None
        self._draft_alone: list[tuple[int, PlacedModel]] = []
        if draft is not None:
            draft_sizes = msgspec.structs.replace(
                sizes, n_outputs=1, n_snapshots=0, cache_type=wishes.draft_cache_type
            )
            self._draft = PlacedModel(draft, self._fast, draft_sizes)
            several = by_speed(self._fast) if len(self._fast) > 1 else []
            self._draft_alone = [
                (place, PlacedModel(draft, self._fast[place : place + 1], draft_sizes))
                for place in several
            ]

    def _placed_target(self) -> PlacedModel:
        experts = self._wishes.experts_in_ram and bool(self._fast)
        return PlacedModel(self._shape, self._fast, self._sizes, experts_in_ram=experts)

    def plan(self) -> MemoryPlan:
        """Give way step by step until the pair fits."""
        steps: list[str] = []
        most = self._most_layers()
        attempt = _Try(self._n_ctx, most, self._draft is not None)
        shortage = self._shortage(attempt)
        if shortage and n_states(self._shape, self._sizes.n_snapshots) > n_states(self._shape, 0):
            steps.append(_snapshots_left_out(shortage))
            self._sizes = msgspec.structs.replace(self._sizes, n_snapshots=0)
            self._target = self._placed_target()
            shortage = self._shortage(attempt)
        if shortage and attempt.with_draft and not self._context_makes_room(attempt):
            steps.append(_draft_left_out(shortage))
            attempt = attempt._replace(with_draft=False)
            shortage = self._shortage(attempt)
        if shortage and self._shortest < self._n_ctx:
            attempt = attempt._replace(n_ctx=self._longest_context(attempt))
            steps.append(_context_shortened(self._n_ctx, attempt.n_ctx, shortage))
            shortage = self._shortage(attempt)
        if shortage and most > 0 and self._asked_layers is None:
            attempt = attempt._replace(n_gpu_layers=self._most_that_fit(attempt))
            moved = most - attempt.n_gpu_layers
            if moved:
                steps.append(_layers_moved(moved, self._target.n_places, shortage))
            shortage = self._shortage(attempt)
        if shortage:
            steps.append(_does_not_fit(shortage))
        return self._as_plan(attempt, steps, fits=shortage is None)

    def _context_makes_room(self, attempt: _Try) -> bool:
        """A head is small beside a long context, and goes after it."""
        if self._draft is None or self._draft.shape.head is None or self._shortest == self._n_ctx:
            return False
        return self._shortage(attempt._replace(n_ctx=self._shortest)) is None

    def _most_layers(self) -> int:
        if not self._fast:
            return 0
        all_of_them = self._target.n_places
        return min(all_of_them if self._asked_layers is None else self._asked_layers, all_of_them)

    def _one_state(self, attempt: _Try) -> SavedStates:
        draft = self._draft if attempt.with_draft else None
        return one_saved_state(self._shape, None if draft is None else draft.shape)

    def _uses(self, attempt: _Try) -> tuple[list[Use], list[Use]]:
        """Of the target and of the draft, by device; main memory is the last."""
        saved = self._one_state(attempt)
        target = self._target.spread(attempt.n_ctx, attempt.n_gpu_layers, self._free)
        target[-1] = _with_saved(target[-1], saved.target)
        if self._draft is None or not attempt.with_draft:
            return target, [Use()] * len(target)
        draft = self._draft_uses(self._draft, attempt, target)
        draft[-1] = _with_saved(draft[-1], saved.draft)
        return target, draft

    def _draft_uses(self, draft: PlacedModel, attempt: _Try, target: Sequence[Use]) -> list[Use]:
        """Beside the target."""
        left = [max(0, free - sum(use)) for free, use in zip(self._free, target, strict=False)]
        place = self._draft_place(attempt, target)
        if place is not None:
            alone = dict(self._draft_alone)[place]
            here, in_ram = alone.spread(attempt.n_ctx, alone.n_places, [1])
            uses = [here if index == place else Use() for index in range(len(left))]
            return [*uses, in_ram]
        layers = draft.n_places if self._fast else 0
        return draft.spread(attempt.n_ctx, layers, left)

    def _draft_place(self, attempt: _Try, target: Sequence[Use]) -> int | None:
        """Which of several fast devices has room for all of the draft beside the target."""
        for place, draft in self._draft_alone:
            here, _ = draft.spread(attempt.n_ctx, draft.n_places, [1])
            if sum(target[place]) + sum(here) + self._margins[place] <= self._free[place]:
                return place
        return None

    def _shortage(self, attempt: _Try, *, of_ram: bool = True) -> _Shortage | None:
        """What is lacking most, or None where all fits."""
        target, draft = self._uses(attempt)
        used = [sum(one) + sum(other) for one, other in zip(target, draft, strict=True)]
        worst = _Shortage(0, "")
        ram_free = self._machine.free_ram_bytes - self._ram_margin
        for device, margin, n_bytes in zip(self._fast, self._margins, used, strict=False):
            if n_bytes:
                worst = max(worst, _Shortage(n_bytes + margin - device.free_bytes, device.name))
                ram_free -= n_bytes if shares_ram(self._machine, device) else 0
        if of_ram:
            worst = max(worst, _Shortage(used[-1] - ram_free, "main memory"))
        return worst if worst.n_bytes > 0 else None

    def _longest_context(self, attempt: _Try) -> int:
        """The longest that fits, or the shortest allowed."""
        low, high = self._shortest // CELL_STEP, self._n_ctx // CELL_STEP
        while low < high - 1:
            middle = (low + high) // 2
            if self._shortage(attempt._replace(n_ctx=middle * CELL_STEP)):
                high = middle
            else:
                low = middle
        return low * CELL_STEP

    def _most_that_fit(self, attempt: _Try) -> int:
        """The most layers that the fast devices hold; fewer would only fill main memory more."""
        low, high = 0, attempt.n_gpu_layers
        if not self._shortage(attempt, of_ram=False):
            return high  # only main memory is short
        while low < high - 1:
            middle = (low + high) // 2
            if self._shortage(attempt._replace(n_gpu_layers=middle), of_ram=False):
                high = middle
            else:
                low = middle
        return low

    def _as_plan(self, attempt: _Try, steps: list[str], *, fits: bool) -> MemoryPlan:
        target, draft = self._uses(attempt)
        shares = []
        ram_free = self._machine.free_ram_bytes
        rows = zip(self._fast, self._margins, target, draft, strict=False)
        for device, margin, one, other in rows:
            shares.append(_share(device.name, device.free_bytes, one, other, margin))
            ram_free -= sum(one) + sum(other) if shares_ram(self._machine, device) else 0
        spare = ram_free - sum(target[-1]) - sum(draft[-1]) - self._ram_margin
        least = self._one_state(attempt)
        saved = more_saved_states(least, spare)
        in_ram = (
            _with_saved(target[-1], saved.target - least.target),
            _with_saved(draft[-1], saved.draft - least.draft),
        )
        shares.append(_share("CPU", max(0, ram_free), *in_ram, self._ram_margin))
        with_draft = attempt.with_draft and self._draft is not None
        place = self._draft_place(attempt, target) if with_draft else None
        draft_places = self._draft.n_places if self._draft is not None and self._fast else 0
        return MemoryPlan(
            shares=tuple(shares),
            n_ctx=attempt.n_ctx,
            n_gpu_layers=attempt.n_gpu_layers,
            with_draft=with_draft,
            steps=tuple(steps),
            fits=fits,
            n_draft_gpu_layers=draft_places if with_draft else 0,
            cache_type=self._wishes.cache_type,
            experts_in_ram=self._target.experts_in_ram,
            n_snapshots=self._sizes.n_snapshots,
            saved_states_bytes=saved.target,
            draft_saved_states_bytes=saved.draft,
            draft_device=None if place is None else self._fast[place].name,
        )


def size_text(n_bytes: int) -> str:
    """A size as a person reads it, such as `1.4 GiB` or `35 MiB`."""
    if n_bytes < 0.0995 * 2**30:
        return f"{max(1, round(n_bytes / 2**20))} MiB"
    return f"{n_bytes / 2**30:.1f} GiB"


def _with_saved(use: Use, n_bytes: int) -> Use:
    """Besides, so much for states of earlier turns."""
    return use._replace(kv=use.kv + n_bytes)


def margin_bytes(total_bytes: int) -> int:
    """What a plan leaves free of a device with so much memory, or of main memory."""
    return min(MOST_MARGIN, round(total_bytes * MARGIN_SHARE))


def _share(device: str, free_bytes: int, target: Use, draft: Use, margin: int) -> DeviceShare:
    parts: dict[Part, int] = {
        "target": target.weights,
        "draft": draft.weights,
        "target_kv": target.kv,
        "draft_kv": draft.kv,
        "compute": target.compute + draft.compute,
    }
    if any(parts.values()):
        parts["margin"] = margin
    return DeviceShare(device, free_bytes, {part: size for part, size in parts.items() if size})


def _snapshots_left_out(shortage: _Shortage) -> str:
    return (
        "No snapshots of its state are kept, so that refused guesses are decoded again: with them "
        f"{shortage.device} lacks {size_text(shortage.n_bytes)}."
    )


def _draft_left_out(shortage: _Shortage) -> str:
    return f"The draft is left out: with it {shortage.device} lacks {size_text(shortage.n_bytes)}."


def _context_shortened(before: int, after: int, shortage: _Shortage) -> str:
    return (
        f"The context is shortened from {before:,} to {after:,} tokens: "
        f"{shortage.device} lacks {size_text(shortage.n_bytes)}."
    )


def _layers_moved(moved: int, n_places: int, shortage: _Shortage) -> str:
    if moved == n_places:
        what = "All layers go"
    else:
        what = f"{moved} of {n_places} layers {'goes' if moved == 1 else 'go'}"
    return (
        f"{what} to main memory, where they are slower: "
        f"{shortage.device} lacks {size_text(shortage.n_bytes)}."
    )


def _does_not_fit(shortage: _Shortage) -> str:
    return (
        f"It does not fit: {shortage.device} lacks {size_text(shortage.n_bytes)}. "
        "Choose a smaller model, or close other programs."
    )
