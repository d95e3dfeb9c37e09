"""A machine and a few pairs for it: the real planner on a part of the catalog."""

import sys
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from specchat.choosing.choice import Asked, Choice
from specchat.choosing.offers import Offers
from specchat.choosing.placing import place
from specchat.engine.protocol import Load, Pair
from specchat.hub.builtin import BUILT_IN
from specchat.hub.inventory import FoundModel
from specchat.hub.made_pairs import MadePair
from specchat.pairing.catalog import Catalog, read_catalog
from specchat.pairing.machine import Conditions, Machine
from specchat.pairing.memory import DeviceShare, MemoryPlan
from specchat.pairing.planner import rank_pairs
from specchat.pairing.verdict import Verdict
from specchat.settings import Settings
from specchat.tui.app import DEFAULTS, SpecchatApp
from specchat.tui.on_disk import Alone, OnDisk
from specchat.tui.world import World
from tui.screen_driver import SCRIPTED_ENGINE
from unit.machines import CARD_8

NAMES = ("qwen2.5-7b", "llama-3.1-8b", "qwen2.5-coder-1.5b", BUILT_IN)
MACHINE = replace(CARD_8, physical_cores=8, logical_cores=16)
BUILT_IN_FILE = "/models/SmolLM2-135M-Instruct.Q4_1.gguf"

FIRST = Choice(
    asked=Asked(),
    files=Pair(BUILT_IN_FILE),
    load=Load(Pair(BUILT_IN_FILE)),
    origin="built_in",
    title="SmolLM2-135M-Instruct.Q4_1",
    name=BUILT_IN,
    first_run=True,
)
"""What `choose` says where nothing but the built-in model is here."""

LATER = replace(FIRST, first_run=False)


FindOffers = Callable[[int, tuple[str, ...], Machine | None], Offers]


def find_offers(count: int, rpc: tuple[str, ...], machine: Machine | None) -> Offers:
    """The best of the few for the 8 GiB card; only the built-in one is here."""
    whole = read_catalog()
    few = Catalog(whole.models, {name: whole.pairs[name] for name in NAMES})
    built_in = few.pairs[BUILT_IN].target
    here = frozenset({(built_in.package or "", built_in.file)})
    ranked = rank_pairs(few, machine or MACHINE, on_disk=here)
    others = tuple(pair for pair in ranked if pair.name != BUILT_IN)
    return Offers(
        machine=machine or MACHINE,
        best=tuple(pair for pair in others if pair.fits)[:count],
        built_in=next(pair for pair in ranked if pair.name == BUILT_IN),
        catalog=others,
    )


def look_at_disk(machine: Machine) -> OnDisk:
    """A target with a draft that suits it and one that does not."""
    target = _model("lmstudio/Qwen2.5-7B-Instruct:Q4_K_M", "Qwen2.5-7B-Q4_K_M.gguf", 4_700_000_000)
    draft = _model("Qwen2.5-0.5B:Q8_0", "Qwen2.5-0.5B-Q8_0.gguf", 530_000_000)
    other = _model("Qwen3-0.6B:Q8_0", "Qwen3-0.6B-Q8_0.gguf", 640_000_000)
    plan = MemoryPlan(
        shares=(
            DeviceShare("CUDA0", 7 * 2**30, {"target": 4 * 2**30, "target_kv": 2**29}),
            DeviceShare("CPU", 24 * 2**30, {"target": 2**28}),
        ),
        n_ctx=8192,
        n_gpu_layers=29,
        with_draft=False,
        steps=("The draft is left out: with it CUDA0 lacks 0.2 GiB.",),
    )
    on_card, in_ram = plan.shares
    with_head = replace(on_card, parts=on_card.parts | {"draft": 2**28, "draft_kv": 2**25})
    by_itself = replace(plan, shares=(with_head, in_ram), with_draft=True, steps=())
    suits = "Qwen2.5-0.5B-Q8_0.gguf can draft for Qwen2.5-7B-Q4_K_M.gguf."
    not_so = (
        "Qwen3-0.6B-Q8_0.gguf cannot draft for Qwen2.5-7B-Q4_K_M.gguf: their vocabularies differ "
        "at token 151643."
    )
    return OnDisk(
        models=(target,),
        pairs=(
            _made(target, draft, suits, usable=True),
            _made(target, other, not_so, usable=False),
        ),
        alone={target.path: Alone(by_itself, "eagle3", "/models/Qwen2.5-7B-EAGLE3.gguf")},
        plans={(target.path, draft.path): plan},
    )


def nothing_on_disk(machine: Machine) -> OnDisk:
    """A disk without models."""
    return OnDisk((), (), {}, {})


def app_with(
    choice: Choice,
    scenario: str = "happy",
    *,
    disk: bool = False,
    offers: FindOffers = find_offers,
    settings: Settings = DEFAULTS,
) -> SpecchatApp:
    """The screen on this machine, with a scripted engine."""
    return SpecchatApp(
        choice,
        settings,
        world=World(
            engine_command=(sys.executable, str(SCRIPTED_ENGINE), scenario),
            place=partial(place, machine=MACHINE),
            find_offers=offers,
            look_at_disk=look_at_disk if disk else nothing_on_disk,
            read_conditions=Conditions,
            clock=lambda: 0.0,
        ),
    )


def _model(name: str, file: str, size: int) -> FoundModel:
    path = f"/models/{file}"
    return FoundModel(
        name=name, path=path, parts=(path,), size_bytes=size, owner="lm_studio", kind="model"
    )


def _made(target: FoundModel, draft: FoundModel, sentence: str, *, usable: bool) -> MadePair:
    return MadePair(
        target=target.name,
        draft=draft.name,
        target_path=target.path,
        draft_path=draft.path,
        draft_share=draft.size_bytes / target.size_bytes,
        verdict=Verdict(
            usable=usable,
            kind="fits" if usable else "other_vocabulary",
            drafter="model",
            sentence=sentence,
            advice="Start the chat with --target and --draft.",
            findings=(),
        ),
    )
