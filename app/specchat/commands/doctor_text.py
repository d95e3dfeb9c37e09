"""The report of `specchat doctor` for reading and pasting, in 80 columns."""

from collections.abc import Iterable, Iterator, Sequence

from specchat.commands.doctor_alarms import size
from specchat.commands.doctor_report import DoctorReport, Measurement, ModelHere
from specchat.commands.lines import wrapped
from specchat.pairing.graphics import Graphics
from specchat.pairing.machine import Device

LABEL = 12
MODELS_SHOWN = 8


def as_text(report: DoctorReport) -> str:
    """The whole report; a command to be copied is the only line that may be longer."""
    headline = "specchat can chat here." if report.can_chat else "specchat cannot chat here."
    lines = [headline]
    if report.problem:
        lines += [*wrapped(report.problem, "  "), *wrapped(report.help or "", "  ")]
    lines.append("")
    for label, facts in _sections(report):
        lines += _labelled(label, facts)
    if report.alarms:
        lines.append("")
    for alarm in report.alarms:
        lines += [*wrapped(alarm.message, "! ", "  "), *wrapped(alarm.help, "  ")]
    if report.advice is not None and report.advice.command:
        lines += ["", f"To use {report.advice.graphics.name}:", f"  {report.advice.command}"]
    return "\n".join(lines)


def _sections(report: DoctorReport) -> list[tuple[str, list[str]]]:
    machine, versions = report.machine, report.versions
    cores = f"{_count(machine.physical_cores, 'core')}, {_count(machine.logical_cores, 'thread')}"
    if report.threads is not None:
        cores += f"; {report.threads} used"
    swap = f"swap {size(machine.used_swap_bytes)} of {size(machine.swap_bytes)}"
    memory = f"{size(machine.free_ram_bytes)} of {size(machine.ram_bytes)} free"
    power = {None: [], True: ["battery"], False: ["mains"]}[machine.on_battery]
    build = [f"{name}: {' '.join(built)}" for name, built in report.backends.items()]
    if report.supports_rpc is not None:
        build.append("RPC: yes" if report.supports_rpc else "RPC: no")
    return [
        (
            "versions",
            [
                f"specchat {versions.specchat}, Python {versions.python}, "
                f"Textual {versions.textual or 'missing'}",
                f"llama-cpp-python {versions.llama_cpp_python or 'missing'}, "
                f"llama.cpp {versions.llama_cpp or 'unknown'}",
            ],
        ),
        ("system", [versions.system]),
        ("processor", [machine.processor, cores]),
        ("memory", [f"{memory}, {swap if machine.swap_bytes else 'no swap'}"]),
        ("power", power),
        ("build", build),
        ("devices", [*map(_device, machine.devices)] or ["unknown"]),
        ("GPUs", [*map(_graphics, report.graphics)] or ["none seen"]),
        ("OpenMP", [f"{name}={value}" for name, value in report.openmp.items()]),
        ("folders", [f"{name:<7}{path}" for name, path in report.folders.items()]),
        ("models", [*_models(report.models)] or ["none"]),
        ("measured", [*map(_measurement, report.measurements)] or ["nothing yet"]),
    ]


def _device(device: Device) -> str:
    memory = f"{size(device.free_bytes)} of {size(device.total_bytes)} free"
    return f"{device.name}: {device.description}, {memory}"


def _graphics(graphics: Graphics) -> str:
    facts = [graphics.name]
    if graphics.memory_bytes is not None:
        facts.append(size(graphics.memory_bytes))
    if graphics.driver:
        facts.append(f"driver {graphics.driver}")
    if graphics.cuda:
        facts.append("CUDA up to {}.{}".format(*graphics.cuda))
    return ", ".join(facts)


def _models(models: Sequence[ModelHere]) -> Iterator[str]:
    for model in models[:MODELS_SHOWN]:
        yield f"{model.name}, {size(model.size_bytes)}"
        yield model.path
    if len(models) > MODELS_SHOWN:
        yield f"and {len(models) - MODELS_SHOWN} more: specchat models"


def _measurement(measurement: Measurement) -> str:
    models = " <- ".join(filter(None, (measurement.target or "?", measurement.draft)))
    costs = [f"{measurement.token_ms:.0f} ms a token"] if measurement.token_ms else []
    most = max(measurement.verify, default=1)
    if most > 1:
        costs.append(f"{most} at once {measurement.verify[most]:.0f} ms")
    if measurement.draft_token_ms:
        costs.append(f"a token of the draft {measurement.draft_token_ms:.0f} ms")
    return f"{measurement.made[:10]} {models}: {', '.join(costs)}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _labelled(label: str, facts: list[str]) -> Iterable[str]:
    """Facts beside their label, each on lines of its own."""
    for number, fact in enumerate(facts):
        first = label if number == 0 else ""
        yield from wrapped(fact, f"{first:<{LABEL}}", " " * (LABEL + 2))
