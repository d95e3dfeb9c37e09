"""`specchat doctor`: a report of this machine, to read, to paste and to parse."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace

from specchat.commands.doctor_report import (
    DoctorReport,
    Measurement,
    ModelHere,
    examine,
    redacted,
    report_schema,
)
from specchat.commands.doctor_text import as_text
from specchat.commands.lines import WIDTH
from specchat.pairing.machine import Device
from specchat.pairing.right_build import INDEX
from support.command_line import specchat
from support.fake_tools import write_nvidia_smi

SCHEMA = Path(__file__).parents[2] / "docs" / "doctor.schema.json"
UPDATE = (
    'python -c "from specchat.commands.doctor_report import report_schema; '
    'print(report_schema().decode())" > docs/doctor.schema.json'
)


@pytest.fixture
def report() -> DoctorReport:
    """The report of this machine."""
    return examine()


def valid(text: str) -> Any:
    """What the JSON says; it fits the schema."""
    shown = json.loads(text)
    jsonschema.validate(shown, json.loads(SCHEMA.read_text()))
    return shown


def test_the_published_schema_is_the_one_of_the_report() -> None:
    assert SCHEMA.read_text() == report_schema().decode() + "\n", f"To update it: {UPDATE}"


def test_the_command_prints_one_json_object_that_fits_the_schema() -> None:
    done = specchat("doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    shown = valid(done.stdout)
    assert shown["can_chat"] is True
    assert shown["problem"] is None
    assert shown["machine"]["devices"][-1]["name"] == "CPU"
    assert shown["threads"] >= 1
    assert shown["openmp"]["OMP_WAIT_POLICY"]
    assert set(shown["folders"]) == {"config", "cache", "data", "log"}
    assert [model["name"] for model in shown["models"]] == ["built in"]
    assert shown["versions"]["llama_cpp"]
    assert shown["backends"]["CPU"]


def test_the_command_prints_lines_of_at_most_80_columns() -> None:
    done = specchat("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "specchat can chat here."
    assert max(map(len, lines)) <= WIDTH
    for label in ("versions", "processor", "memory", "devices", "GPUs", "folders", "models"):
        assert any(line.startswith(label) for line in lines)


def test_a_library_that_cannot_be_loaded_gives_a_report_and_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "llama_cpp"
    package.mkdir()
    code = "raise OSError('libcudart.so.12: cannot open shared object file')"
    (package / "__init__.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    done = specchat("doctor", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    shown = valid(done.stdout)
    assert shown["can_chat"] is False
    assert "libcudart.so.12" in shown["problem"]
    assert shown["machine"]["devices"] == []
    assert shown["machine"]["ram_bytes"] > 0

    done = specchat("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("specchat cannot chat here.\n  Tried to load llama-cpp-python.")


def test_an_rpc_server_that_is_not_there_is_the_problem_and_the_rest_is_told() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        done = specchat("doctor", "--json", "--rpc", address)
    assert done.returncode == 1
    shown = valid(done.stdout)
    assert address in shown["problem"]
    assert shown["machine"]["devices"][-1]["name"] == "CPU"


def test_what_is_no_address_is_refused_in_words() -> None:
    done = specchat("doctor", "--rpc", "nonsense")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nonsense" in done.stderr


def test_a_folder_that_cannot_be_made_gives_an_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    monkeypatch.setenv("SPECCHAT_HOME", str(in_the_way / "home"))
    done = specchat("doctor", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    shown = valid(done.stdout)
    assert shown["folders"] == {}
    assert [alarm["kind"] for alarm in shown["alarms"]][:4] == ["folder"] * 4


def test_an_idle_card_is_named_with_the_command_on_a_line_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: DoctorReport
) -> None:
    if any(device.kind in ("gpu", "integrated") for device in report.machine.devices):
        pytest.skip("this build of llama.cpp uses a GPU")
    card = "NVIDIA GeForce RTX 4070, 12282, 550.54.14, 8.9"
    write_nvidia_smi(tmp_path / "bin", card, driver="550.54.14", cuda="12.4")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    shown = valid(specchat("doctor", "--json").stdout)
    assert shown["graphics"][0]["name"] == "NVIDIA GeForce RTX 4070"
    assert f"{INDEX}/cu124 llama-cpp-python==" in shown["advice"]["command"]
    assert "idle_gpu" in [alarm["kind"] for alarm in shown["alarms"]]

    lines = specchat("doctor").stdout.splitlines()
    [command] = [line for line in lines if len(line) > WIDTH]
    assert command.strip() == shown["advice"]["command"]


def test_neither_the_home_folder_nor_the_names_of_person_and_machine_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: DoctorReport
) -> None:
    home = tmp_path / "anna"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LOGNAME", "anna")
    host = socket.gethostname()
    clean = redacted(
        replace(
            report,
            problem=f"'{home}/x.so' failed. Also {home}.",
            folders={"data": str(home), "log": f"{home}/log", "other": f"{home}-2/log"},
            models=(ModelHere("a", "/media/anna/models/anna.gguf", 3),),
            help=f"See '/net/{host}' or /media/anna.",
        )
    )
    assert clean.problem == "'~/x.so' failed. Also ~."
    assert clean.folders == {"data": "~", "log": "~/log", "other": f"{home}-2/log"}
    assert clean.models[0].path == "/media/…/models/anna.gguf"
    assert clean.help == "See '/net/…' or /media/…."
    assert clean.machine == report.machine


def test_the_home_folder_of_nobody_hides_nothing(
    monkeypatch: pytest.MonkeyPatch, report: DoctorReport
) -> None:
    monkeypatch.setenv("HOME", "/")
    told = replace(report, help="/usr/lib/x.so")
    assert redacted(told).help == "/usr/lib/x.so"


def test_the_report_is_read_again_as_it_was(report: DoctorReport) -> None:
    assert msgspec.json.decode(msgspec.json.encode(report), type=DoctorReport) == report


def test_devices_measurements_and_power_are_told_in_words(report: DoctorReport) -> None:
    gib = 2**30
    gpu = Device(
        name="CUDA0", description="RTX 4070", kind="gpu", total_bytes=12 * gib, free_bytes=gib // 2
    )
    machine = replace(report.machine, devices=(gpu,), on_battery=True, swap_bytes=4 * gib)
    measured = Measurement(
        made="2026-05-01T10:00:00+02:00",
        target="big.gguf",
        draft="small.gguf",
        token_ms=21.6,
        verify={1: 21.6, 4: 30.2},
        draft_token_ms=3.4,
    )
    text = as_text(replace(report, machine=machine, measurements=(measured,)))
    assert "CUDA0: RTX 4070, 512 MiB of 12.0 GiB free" in text
    assert "power       battery" in text
    assert "of 4.0 GiB" in text
    told = " ".join(text.split())
    assert (
        "2026-05-01 big.gguf <- small.gguf: 22 ms a token, 4 at once 30 ms, "
        "a token of the draft 3 ms" in told
    )
