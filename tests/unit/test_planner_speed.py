"""How fast a pair is expected to be, and how good its answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from specchat.pairing.backends import backend_of, device_backend
from specchat.pairing.catalog import Backend, Catalog, read_catalog
from specchat.pairing.machine import Device, Machine
from specchat.pairing.planner import rank_pairs
from specchat.pairing.quality import dense_equivalent_b, quality
from specchat.pairing.quants import BITS_PER_WEIGHT, bits_per_weight, kept
from specchat.pairing.sizes import GIB
from specchat.pairing.speed import bandwidth
from unit.machines import CARD_8, CARD_24, LAPTOP, MAC, what_if


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


def device(name: str, description: str = "", gib: int = 8, kind: str = "gpu") -> Device:
    return Device(
        name=name,
        description=description,
        kind=kind,  # type: ignore[arg-type]
        total_bytes=gib * GIB,
        free_bytes=gib * GIB,
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CUDA0", "cuda"),
        ("ROCm1", "rocm"),
        ("Vulkan0", "vulkan"),
        ("MTL0", "metal"),
        ("Metal", "metal"),
        ("RPC0[host:50052]", "cuda"),
    ],
)
def test_a_device_is_told_by_its_name(name: str, expected: Backend) -> None:
    assert device_backend(device(name)) == expected


def test_a_machine_is_what_its_fastest_device_is() -> None:
    assert [backend_of(machine) for machine in (CARD_8, MAC, LAPTOP)] == ["cuda", "metal", "cpu"]
    assert backend_of(Machine(devices=(), ram_bytes=0, free_ram_bytes=0)) == "cpu"


def test_a_larger_card_of_its_class_has_the_quicker_memory() -> None:
    speeds = [bandwidth(device("CUDA0", gib=gib), CARD_8) for gib in (4, 6, 8, 12, 16, 24, 48)]

    assert speeds == sorted(speeds)
    assert speeds[0] == 128e9


def test_apples_chips_are_told_by_name_and_else_by_memory() -> None:
    def of(description: str) -> float:
        return bandwidth(device("MTL0", description, 48), MAC)

    assert of("Apple M1") == 68e9
    assert of("Apple M3 Max") == 300e9
    assert of("Apple M2 Ultra") == 800e9
    assert of("Apple GPU") == of("Apple M99 Max") == 400e9


def test_a_processor_reads_as_fast_as_its_cores_up_to_its_memory() -> None:
    def of(cores: int) -> float:
        machine = what_if("cpu", "16GiB", physical_cores=cores)
        return bandwidth(machine.devices[-1], machine)

    assert of(1) < of(2) < of(4) < of(8) == of(64) == 40e9


@pytest.mark.parametrize(
    ("name", "machine", "reported"),
    [
        # Plain speeds of the catalog's evidence.
        ("qwen3.8-27b", CARD_24, (31.0, 47.7)),
        ("gemma-4-12b", what_if("cuda", "32GiB", ["12GiB"]), (20.0, 60.0)),
        ("qwen3.8-27b-q3", what_if("cuda", "32GiB", ["16GiB"]), (15.2, 53.4)),
        ("gemma-4-26b-a4b", what_if("cpu", "32GiB"), (7.0, 12.0)),
        ("qwen2.5-coder-14b", what_if("cuda", "32GiB", ["16GiB"]), (28.0, 42.5)),
    ],
)
def test_the_estimate_is_near_what_others_report(
    catalog: Catalog, name: str, machine: Machine, reported: tuple[float, float]
) -> None:
    (pair,) = [pair for pair in rank_pairs(catalog, machine) if pair.name == name]

    assert pair.speed is not None
    assert reported[0] * 0.9 <= pair.speed.plain <= reported[1] * 1.1


def test_layers_in_main_memory_make_a_pair_slower(catalog: Catalog) -> None:
    def plain(vram: str) -> float:
        machine = what_if("cuda", "64GiB", [vram])
        (pair,) = [pair for pair in rank_pairs(catalog, machine) if pair.name == "qwen3-14b"]
        assert pair.speed is not None
        return pair.speed.plain

    assert plain("4GiB") < plain("8GiB") < plain("16GiB")


def test_evidence_of_a_card_is_no_evidence_for_a_processor(catalog: Catalog) -> None:
    ranked = rank_pairs(catalog, LAPTOP)

    for pair in ranked:
        if pair.speed is None or pair.drafter == "ngram" or pair.speed.source == "estimated":
            continue
        model = catalog.pairs[pair.name].target.model
        alike = [each for each in catalog.pairs.values() if each.target.model == model]
        reports = [found for each in alike for found in each.evidence if found.speed_up]
        assert any(found.backend in (None, "cpu") for found in reports), pair.name


def test_quality_grows_with_parameters_age_and_bits(catalog: Catalog) -> None:
    model = catalog.models["qwen3-8b"]

    assert quality(model, "Q4_K_M") < quality(model, "Q6_K") < quality(model, "Q8_0")
    assert quality(model, "Q8_0") < quality(replace(model, params_b=14.0), "Q8_0")
    newer = replace(model, released="2026-04")
    assert quality(newer, "Q8_0") == pytest.approx(2 * quality(model, "Q8_0"))


def test_a_mixture_lies_between_what_it_has_and_what_it_reads(catalog: Catalog) -> None:
    mixture = catalog.models["qwen3.6-35b-a3b"]

    assert 3.0 < dense_equivalent_b(mixture) < 34.66
    assert dense_equivalent_b(mixture) > (3.0 * 34.66) ** 0.5
    assert dense_equivalent_b(catalog.models["gemma-4-e4b"]) == 4.5


@pytest.mark.parametrize(
    ("quant", "expected"),
    [
        ("UD-Q4_K_XL", 5.2),
        ("Q4_K_M", 4.9),
        ("q8_0", 8.5),
        ("UD-IQ3_XXS", 3.5),
        ("MXFP4", 4.6),
        ("IQ4_XS", 4.4),
        ("BF16", 16.0),
        ("smart", None),
    ],
)
def test_bits_are_told_by_the_name(quant: str, expected: float | None) -> None:
    assert bits_per_weight(quant) == expected


@given(st.sampled_from(sorted(BITS_PER_WEIGHT)), st.sampled_from(sorted(BITS_PER_WEIGHT)))
def test_more_bits_never_keep_less(one: str, other: str) -> None:
    fewer, more = sorted((one, other), key=lambda quant: BITS_PER_WEIGHT[quant])

    assert 0 < kept(fewer) <= kept(more) <= 1
