"""Tools of other systems, as scripts that print what those print."""

import shlex
from collections.abc import Mapping
from pathlib import Path


def write_tool(folder: Path, name: str, answers: Mapping[str, str], *, exit_code: int = 0) -> None:
    """A program of this name; what it prints depends on all its arguments, joined by spaces.

    Other arguments than those of `answers` end it with an error.
    """
    folder.mkdir(exist_ok=True)
    script = ["#!/bin/sh", 'case "$*" in']
    for number, (arguments, text) in enumerate(answers.items()):
        output = folder / f"{name}.{number}.txt"
        output.write_text(text)
        script.append(f"{shlex.quote(arguments)}) /bin/cat {shlex.quote(str(output))};")
        script.append(f"exit {exit_code};;")
    script += ["esac", "exit 2", ""]
    path = folder / name
    path.write_text("\n".join(script))
    path.chmod(0o755)


NVIDIA_SMI_QUERY = (
    "--query-gpu=name,memory.total,driver_version,compute_cap --format=csv,noheader,nounits"
)
NVIDIA_SMI_OLD_QUERY = "--query-gpu=name,memory.total,driver_version --format=csv,noheader,nounits"


def nvidia_smi_table(driver: str, cuda: str) -> str:
    """The head of what `nvidia-smi` prints."""
    return (
        "Sat Mar  1 12:00:00 2025       \n"
        f"+{'-' * 89}+\n"
        f"| NVIDIA-SMI {driver:<22} Driver Version: {driver:<14} CUDA Version: {cuda:<8} |\n"
        f"|{'-' * 41}+{'-' * 24}+{'-' * 22}+\n"
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. "
        "ECC |\n"
    )


def write_nvidia_smi(folder: Path, *cards: str, driver: str, cuda: str) -> None:
    """An nvidia-smi that tells of these cards, each `name, MiB, driver, compute capability`."""
    answers = {"": nvidia_smi_table(driver, cuda), NVIDIA_SMI_QUERY: "\n".join([*cards, ""])}
    write_tool(folder, "nvidia-smi", answers)
