"""What `specchat doctor` finds out, as data: `--json` prints it, `doctor_text` draws it."""

import contextlib
import getpass
import importlib.metadata
import importlib.util
import os
import platform
import re
import shlex
import socket
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

import specchat
from specchat.choosing.answering import answering_models
from specchat.commands.doctor_alarms import Alarm, alarms, wanted_version
from specchat.engine.devices import known_devices
from specchat.engine.protocol import DevicesFound
from specchat.engine.stored_costs import MeasuredCosts, last_costs
from specchat.errors import NoModel, SpecchatError
from specchat.host import machine_with
from specchat.hub.builtin import built_in_model
from specchat.pairing.graphics import Graphics, find_graphics
from specchat.pairing.machine import Machine
from specchat.pairing.right_build import Advice, Installation, advise, installed_rocm
from specchat.paths import cache_folder, config_folder, data_folder, log_folder
from specchat.settings_file import SettingsProblem, read_settings

MEASUREMENTS_SHOWN = 5
BUILT_IN = "built in"
FOLDERS: dict[str, Callable[[], Path]] = {
    "config": config_folder,
    "cache": cache_folder,
    "data": data_folder,
    "log": log_folder,
}


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """Which code is here; None is not installed, or does not say."""

    specchat: str
    python: str
    llama_cpp_python: str | None
    llama_cpp: str | None
    textual: str | None
    system: str
    """The system's name, release and architecture."""


class ModelHere(msgspec.Struct, frozen=True):
    """A model that can be chatted with at once."""

    name: str
    path: str
    size_bytes: int


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What decode calls cost when a pair was first loaded."""

    made: str
    """When, ISO 8601."""
    target: str
    draft: str | None
    token_ms: float | None
    """One token of the target."""
    verify: dict[int, float]
    """Milliseconds by number of tokens."""
    draft_token_ms: float | None


class DoctorReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `specchat doctor --json` prints. It names no person and no machine."""

    can_chat: bool
    problem: str | None
    """Why not."""
    help: str | None
    versions: Versions
    machine: Machine
    """Without devices when llama.cpp cannot be used."""
    backends: dict[str, tuple[str, ...]]
    """Backends in the build of llama.cpp that tell what they were built for, and that."""
    supports_rpc: bool | None
    threads: int | None
    """What is used unless --threads says otherwise."""
    openmp: dict[str, str]
    """The variables that tell waiting threads what to do."""
    graphics: tuple[Graphics, ...]
    """The GPUs of the machine, whether llama.cpp can use them or not."""
    advice: Advice | None
    """How to get a GPU to work that is idle."""
    folders: dict[str, str]
    models: tuple[ModelHere, ...]
    measurements: tuple[Measurement, ...]
    """The newest first."""
    alarms: tuple[Alarm, ...]


def report_schema() -> bytes:
    """The JSON Schema of `DoctorReport`, as published in docs/doctor.schema.json."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(DoctorReport)), indent=2)


def examine(rpc: tuple[str, ...] = ()) -> DoctorReport:
    """Everything that the report says, as it is now.

    Args:
        rpc: addresses of RPC servers to look at too.
    """
    folders, problems = _folders()
    problems += _settings_problems()
    found, problem = _devices(rpc)
    versions = _versions(found)
    machine = found.machine if found else machine_with(())
    graphics = find_graphics()
    backends = found.backends if found else {}
    advice = advise(graphics, machine.devices, backends, _installation(versions))
    models = _models()
    return redacted(
        DoctorReport(
            can_chat=problem is None,
            problem=problem.message if problem else None,
            help=problem.next_step if problem else None,
            versions=versions,
            machine=machine,
            backends=backends,
            supports_rpc=found.supports_rpc if found else None,
            threads=found.n_threads if found else None,
            openmp=found.openmp if found else {},
            graphics=graphics,
            advice=advice,
            folders=folders,
            models=models,
            measurements=_measurements(),
            alarms=(*problems, *alarms(machine, found, advice, has_model=bool(models))),
        )
    )


def redacted(report: DoctorReport) -> DoctorReport:
    """The report without the home folder, and without the names of person and machine in paths."""
    home = os.path.expanduser("~")  # noqa: PTH111  Path.home fails where nobody knows it
    ends = r"(?=[/\\\s'\":]|\.?$)"
    names = [re.escape(name) for name in (_user(), socket.gethostname()) if name]
    in_a_path = re.compile(rf"(?<=[/\\])({'|'.join(names) or '(?!)'}){ends}")

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            if len(Path(home).parts) > 1:  # of the root folder everything is a part
                value = re.sub(re.escape(home) + ends, "~", value)
            return in_a_path.sub("…", value)
        if isinstance(value, dict):
            return {key: clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [clean(item) for item in value]
        return value

    return msgspec.convert(clean(msgspec.to_builtins(report)), DoctorReport, str_keys=True)


def _devices(rpc: tuple[str, ...]) -> tuple[DevicesFound | None, SpecchatError | None]:
    """What llama.cpp can use; with the problem when it cannot, or cannot with these servers."""
    try:
        return known_devices(rpc), None
    except SpecchatError as error:
        if not rpc:
            return None, error
        return _devices(())[0], error
    except OSError as error:  # no folder for its log, or no process to be had
        happened = f"Its process cannot be started: {error.strerror}."
        return None, SpecchatError("Tried to ask llama.cpp.", happened, "See the alarms below.")


def _versions(found: DevicesFound | None) -> Versions:
    return Versions(
        specchat=specchat.__version__,
        python=platform.python_version(),
        llama_cpp_python=_installed("llama-cpp-python"),
        llama_cpp=found.engine.llama_cpp if found else None,
        textual=_installed("textual"),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
    )


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _installation(versions: Versions) -> Installation:
    """Where another build of llama-cpp-python would go."""
    python = shlex.quote(sys.executable)
    install = f"{python} -m pip install"
    if importlib.util.find_spec("pip") is None:  # as in an environment that uv made
        install = f"uv pip install --python {python}"
    return Installation(
        version=wanted_version() or versions.llama_cpp_python or "",
        system=platform.system(),
        architecture=platform.machine(),
        python=sys.version_info[:2],
        install=install,
        rocm=installed_rocm(),
    )


def _folders() -> tuple[dict[str, str], list[Alarm]]:
    found, problems = {}, []
    for name, folder in FOLDERS.items():
        try:
            path = folder()
            found[name] = str(path)
            if not os.access(path, os.W_OK):
                raise PermissionError(0, "it is read-only")
        except OSError as error:
            problems.append(
                Alarm(
                    kind="folder",
                    message=f"The {name} folder cannot be used: {error.strerror or error}.",
                    help="Set SPECCHAT_HOME to a folder that you may write to.",
                )
            )
    return found, problems


def _settings_problems() -> list[Alarm]:
    try:
        read_settings()
    except SettingsProblem as problem:
        return [Alarm(kind="settings", message=problem.happened, help=problem.next_step)]
    except OSError:  # the folder has its alarm
        pass
    return []


def _models() -> tuple[ModelHere, ...]:
    """The models that specchat finds by itself, and that can answer."""
    try:
        return tuple(
            ModelHere(
                BUILT_IN if model.owner == "built_in" else model.name, model.path, model.size_bytes
            )
            for model in answering_models()
        )
    except (OSError, SettingsProblem):  # a folder or the settings, which has its alarm
        with contextlib.suppress(NoModel):
            path = built_in_model()
            return (ModelHere(BUILT_IN, str(path), path.stat().st_size),)
        return ()


def _measurements() -> tuple[Measurement, ...]:
    try:
        return tuple(_measurement(*one) for one in last_costs(MEASUREMENTS_SHOWN))
    except OSError:  # the folder has its alarm
        return ()


def _measurement(made: float, costs: MeasuredCosts) -> Measurement:
    return Measurement(
        made=datetime.fromtimestamp(made).astimezone().isoformat(timespec="seconds"),
        target=costs.target,
        draft=costs.draft_model,
        token_ms=costs.verify.get(1),
        verify=costs.verify,
        draft_token_ms=costs.draft.get(1),
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a number without a name, as in a container
        return ""
