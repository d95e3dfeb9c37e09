"""How fast a pair is expected to be: memory bandwidth by the bytes that a token reads, then what
others report of its drafter. An estimate for the order of a list; what this machine has shown
counts for more."""

import re
from collections.abc import Iterable
from statistics import median
from typing import Literal

import msgspec

from specchat.pairing.backends import backend_of, device_backend
from specchat.pairing.catalog import Backend, CatalogModel, CatalogPair
from specchat.pairing.drafting import Drafting
from specchat.pairing.machine import Device, Machine
from specchat.pairing.measured import Measured
from specchat.pairing.memory import MemoryPlan
from specchat.pairing.shape import ModelShape
from specchat.pairing.sizes import GIB

GB_S = 1e9
CARD_BANDWIDTH = ((4, 128), (6, 192), (8, 272), (12, 360), (16, 448), (24, 936))
"""GB/s of an ordinary graphics card with up to so many GB: GTX 1650, GTX 1660, RTX 4060,
RTX 3060, RTX 5060 Ti, RTX 3090 (makers' data sheets)."""
LARGE_CARD = 1000
INTEGRATED = 60
APPLE_BANDWIDTH = {
    "M1": 68, "M2": 100, "M3": 100, "M4": 120, "M5": 153,
    "M1 Pro": 200, "M2 Pro": 200, "M3 Pro": 150, "M4 Pro": 273,
    "M1 Max": 400, "M2 Max": 400, "M3 Max": 300, "M4 Max": 410,
    "M1 Ultra": 800, "M2 Ultra": 800, "M3 Ultra": 800,
}  # fmt: skip
"""GB/s of Apple's chips, the smaller of each name (Apple's technical specifications)."""
APPLE_BY_MEMORY = ((24, 100), (36, 150), (48, 200))
APPLE_LARGE = 400
MAIN_MEMORY, CORE = 40, 8
"""GB/s of two channels of DDR4, and of what one core gets through."""

REACHED = {
    ("gpu", False): 0.7,
    ("gpu", True): 0.35,
    ("metal", False): 0.6,
    ("metal", True): 0.35,
    ("cpu", False): 0.7,
    ("cpu", True): 0.5,
}
"""The share of its bandwidth that decoding reaches, dense models and mixtures: from the plain
speeds reported in the catalog."""

EXPERTS_OF_READ = 0.6
"""Of the bytes that a mixture reads for a token; the rest is attention, norms and output."""
CPU = "CPU"
"""llama.cpp's name for it, and so the plan's."""

TELLING = 200.0
"""Tokens per second. A model that is quicker by the estimate spends its time on other things than
reading weights, and says nothing about larger ones."""

SpeedSource = Literal["measured", "reported", "estimated"]


class Speed(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens per second, with where the figure is from."""

    plain: float
    """Without drafting."""
    lowest: float
    """With the drafter of the plan, by the lowest ratio that is reported; equal to `plain` where
    none is."""
    highest: float
    plain_source: SpeedSource
    """`estimated` from bandwidth, or `measured` on this machine."""
    source: SpeedSource
    """Of `lowest` and `highest`."""


def bandwidth(device: Device, machine: Machine) -> float:
    """Bytes a second that a device reads from its memory, by its class."""
    backend = device_backend(device)
    size = device.total_bytes / GIB
    if backend == "cpu":
        return main_memory_bandwidth(machine)
    if backend == "metal":
        return GB_S * _apple(device.description, machine.ram_bytes / GIB)
    if device.kind == "integrated":
        return GB_S * INTEGRATED
    fitting = [speed for limit, speed in CARD_BANDWIDTH if size < limit + 0.5]
    return GB_S * (fitting[0] if fitting else LARGE_CARD)


def main_memory_bandwidth(machine: Machine) -> float:
    """Bytes a second that the cores of a CPU read together."""
    if machine.unified_memory:
        return GB_S * _apple(machine.processor, machine.ram_bytes / GIB)
    return GB_S * min(MAIN_MEMORY, CORE * machine.physical_cores)


def plain_estimate(
    plan: MemoryPlan,
    target: ModelShape,
    model: CatalogModel,
    machine: Machine,
    *,
    experts_in_ram: bool,
) -> float:
    """Tokens per second without drafting, from what each device reads for a token.

    Args:
        experts_in_ram: main memory holds the experts of a mixture, and nothing else.
    """
    rates = {
        device.name: bandwidth(device, machine)
        * REACHED[_class(device_backend(device)), model.mixture]
        for device in machine.devices
    }
    rates[CPU] = main_memory_bandwidth(machine) * REACHED["cpu", model.mixture]
    read = model.active_b / model.params_b if model.active_b else 1.0
    resident = {share.device: share.parts.get("target", 0) for share in plan.shares}
    # Embeddings are looked up, not read; what is the output matrix too is read where that is.
    resident[CPU] -= target.input_bytes - (0 if plan.n_gpu_layers else target.shared_bytes)
    weights = sum(resident.values())
    seconds = 0.0
    for name, here in resident.items():
        n_bytes = float(here)
        if experts_in_ram:
            n_bytes = weights * (EXPERTS_OF_READ if name == CPU else 1 - EXPERTS_OF_READ)
        seconds += n_bytes * read / rates[name]
    return 1 / seconds if seconds else 0.0


def expected_speed(
    pair: CatalogPair,
    drafting: Drafting,
    machine: Machine,
    plain: float,
    measured: Measured | None,
    *,
    spills: bool = False,
) -> Speed:
    """The pair's speed: measured here, or the estimate times what others report of its drafter.

    Args:
        spills: beside a card, layers or experts are in main memory. What was reported of whole
            models on a card says nothing of that: a call of several tokens is dear there.
    """
    if measured is not None:
        plain = measured.plain
        if measured.speed_up is not None and measured.drafter == drafting.drafter:
            value = plain * measured.speed_up
            return _speed(plain, (value, value), measured, "measured")
    reported = None if spills else _reported(pair, drafting, backend_of(machine))
    if reported is None:
        return _speed(plain, (plain, plain), measured, "measured" if measured else "estimated")
    return _speed(plain, (plain * reported[0], plain * reported[1]), measured, "reported")


def calibration(measured: Iterable[Measured], estimates: dict[str, float]) -> float:
    """How much faster this machine is than its class, by the pairs that were measured here."""
    ratios = [
        each.plain / estimates[each.pair]
        for each in measured
        if 0 < estimates.get(each.pair, 0) < TELLING
    ]
    return median(ratios) if ratios else 1.0


def _speed(
    plain: float, span: tuple[float, float], measured: Measured | None, source: SpeedSource
) -> Speed:
    return Speed(
        plain=plain,
        lowest=span[0],
        highest=span[1],
        plain_source="measured" if measured else "estimated",
        source=source,
    )


def _reported(
    pair: CatalogPair, drafting: Drafting, backend: Backend
) -> tuple[float, float] | None:
    """The lowest and the highest ratio reported for this kind of device."""
    if drafting.drafter != pair.draft.type:
        return None
    spans = [
        evidence.speed_up
        for evidence in pair.evidence
        if evidence.speed_up is not None and _applies(evidence.backend, backend)
    ]
    return (min(low for low, _ in spans), max(high for _, high in spans)) if spans else None


def _applies(measured_on: Backend | None, backend: Backend) -> bool:
    """What holds for one make of graphics card is taken to hold for another."""
    return measured_on is None or _class(measured_on) == _class(backend)


def _class(backend: Backend) -> str:
    return backend if backend in ("cpu", "metal") else "gpu"


def _apple(description: str, ram_gib: float) -> float:
    chip = re.search(r"\bM\d+(?: (?:Pro|Max|Ultra))?", description)
    if chip is not None and chip[0] in APPLE_BANDWIDTH:
        return APPLE_BANDWIDTH[chip[0]]
    fitting = [speed for limit, speed in APPLE_BY_MEMORY if ram_gib < limit + 0.5]
    return fitting[0] if fitting else APPLE_LARGE
