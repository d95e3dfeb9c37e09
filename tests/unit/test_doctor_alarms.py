"""What `specchat doctor` warns of."""

import pytest
from msgspec.structs import replace

from specchat.commands import doctor_alarms
from specchat.commands.doctor_alarms import GIB, Alarm, alarms, size, wanted_version
from specchat.engine.protocol import DevicesFound, EngineFacts
from specchat.host import processor_flags
from specchat.pairing.graphics import Graphics
from specchat.pairing.machine import Device, Machine
from specchat.pairing.right_build import Advice

CPU = Device(name="CPU", description="a CPU", kind="cpu", total_bytes=16 * GIB, free_bytes=12 * GIB)
GPU = replace(CPU, name="CUDA0", kind="gpu")
MACHINE = Machine(
    devices=(CPU,),
    ram_bytes=16 * GIB,
    free_ram_bytes=12 * GIB,
    swap_bytes=8 * GIB,
    on_battery=False,
)
FOUND = DevicesFound(
    machine=MACHINE,
    engine=EngineFacts(
        specchat="1", llama_cpp_python=wanted_version() or "", llama_cpp="1", backend="CPU"
    ),
    backends={"CPU": ("AVX2",)},
    supports_rpc=True,
    n_threads=4,
    openmp={"OMP_WAIT_POLICY": "passive"},
)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing counts as busy: what else runs here is not the subject."""
    monkeypatch.setattr(doctor_alarms, "BUSY_PERCENT", 101.0)
    monkeypatch.setattr(doctor_alarms, "WATCH_S", 0.01)


def raised(
    machine: Machine = MACHINE, found: DevicesFound | None = FOUND, advice: Advice | None = None
) -> list[str]:
    return [alarm.kind for alarm in alarms(machine, found, advice, has_model=True)]


def test_a_machine_at_rest_gives_none() -> None:
    assert raised() == []


def test_a_library_that_is_not_there_has_no_alarms_of_its_build() -> None:
    assert raised(found=None) == []


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"free_ram_bytes": GIB}, "little_memory"),
        ({"used_swap_bytes": GIB}, "swapping"),
        ({"on_battery": True}, "on_battery"),
        ({"devices": (replace(GPU, free_bytes=4 * GIB), CPU)}, "occupied_gpu"),
    ],
)
def test_what_is_short_at_this_moment_is_told(changes: dict[str, object], kind: str) -> None:
    assert raised(replace(MACHINE, **changes)) == [kind]


def test_a_screen_may_use_a_part_of_the_gpu() -> None:
    assert raised(replace(MACHINE, devices=(replace(GPU, free_bytes=13 * GIB), CPU))) == []


def test_an_idle_gpu_is_told_first() -> None:
    card = Graphics(maker="nvidia", name="RTX 4070")
    advice = Advice(graphics=card, reason="It is so.", command="pip install x", needs="A thing.")
    first, *_ = alarms(replace(MACHINE, on_battery=True), FOUND, advice, has_model=True)
    assert first == Alarm(
        kind="idle_gpu",
        message="RTX 4070 is idle. It is so.",
        help="The command below installs a build that uses it. A thing.",
    )


def test_a_build_that_leaves_avx2_unused_is_told_where_the_processor_has_it() -> None:
    if "avx2" not in processor_flags():
        pytest.skip("this processor has no AVX2, or the system does not tell")
    assert raised(found=replace(FOUND, backends={"CPU": ("SSE3",)})) == ["slow_build"]


def test_another_version_of_the_library_is_told() -> None:
    engine = replace(FOUND.engine, llama_cpp_python="0.3.1")
    assert raised(found=replace(FOUND, engine=engine)) == ["other_version"]


def test_threads_that_spin_are_told() -> None:
    openmp = {"OMP_WAIT_POLICY": "ACTIVE"}
    assert raised(found=replace(FOUND, openmp=openmp)) == ["spinning_threads"]


def test_an_rpc_server_is_told() -> None:
    machine = replace(MACHINE, devices=(replace(CPU, name="RPC0", kind="rpc"), CPU))
    assert raised(machine, replace(FOUND, machine=machine)) == ["rpc_unencrypted"]


def test_a_missing_model_is_told() -> None:
    [alarm] = alarms(MACHINE, FOUND, None, has_model=False)
    assert alarm.kind == "no_model"


def test_a_busy_processor_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_alarms, "BUSY_PERCENT", -1.0)
    assert raised() == ["busy"]


def test_every_alarm_is_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_alarms, "BUSY_PERCENT", -1.0)
    machine = replace(
        MACHINE,
        devices=(replace(GPU, free_bytes=0), replace(CPU, kind="rpc"), CPU),
        free_ram_bytes=0,
        used_swap_bytes=GIB,
        on_battery=True,
    )
    found = replace(
        FOUND,
        machine=machine,
        engine=replace(FOUND.engine, llama_cpp_python="0.3.1"),
        backends={},
        openmp={"OMP_WAIT_POLICY": "active"},
    )
    told = alarms(machine, found, None, has_model=False)
    assert len(told) >= 9
    for alarm in told:
        assert alarm.message.endswith(".")
        assert alarm.message[0].isupper() or alarm.message[0].isdigit() or "llama" in alarm.message


def test_the_version_asked_for_is_the_pinned_one() -> None:
    wanted = wanted_version()
    assert wanted is not None
    assert all(part.isdecimal() for part in wanted.split("."))


def test_sizes_are_told_in_gib_or_mib() -> None:
    assert size(98_362_432) == "94 MiB"
    assert size(25_276_063_744) == "23.5 GiB"
