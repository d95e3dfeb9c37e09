"""`specchat check`: whether one file can draft for another, before anything is loaded."""

from pathlib import Path

import msgspec

from specchat.commands.lines import wrapped
from specchat.hub.remote_header import is_address, read_remote
from specchat.pairing.drafter_type import (
    DRAFTER_NAMES,
    MEMORY_NAMES,
    DrafterKind,
    MemoryKind,
    drafter_kind,
    memory_kind,
)
from specchat.pairing.findings import context_length
from specchat.pairing.gguf_file import GgufFile, read_gguf
from specchat.pairing.verdict import Verdict, judge, short_name

LABEL_WIDTH = 18
MARKS = {"good": " ", "note": "!", "problem": "x"}


class FileFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a header says of its file."""

    path: str
    size_bytes: int
    architecture: str
    n_tokens: int
    """In the vocabulary."""
    n_ctx_train: int
    """0 if the file does not say."""
    memory: MemoryKind
    drafter: DrafterKind

    @classmethod
    def of(cls, file: GgufFile) -> "FileFacts":
        """The facts of one file."""
        return cls(
            path=file.path,
            size_bytes=file.size_bytes,
            architecture=file.architecture,
            n_tokens=len(file.tokens),
            n_ctx_train=context_length(file),
            memory=memory_kind(file),
            drafter=drafter_kind(file),
        )


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `specchat check --json` prints."""

    target: FileFacts
    draft: FileFacts | None
    verdict: Verdict


def report_schema() -> bytes:
    """The JSON Schema of `CheckReport`, as published in docs/check.schema.json."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(CheckReport)), indent=2)


def check(target: str, draft: str | None, *, as_json: bool) -> int:
    """Print the verdict; the exit code is 0 if the pair can be used, else 1.

    Raises:
        SpecchatError: a file cannot be read.
    """
    files = [_read(name) for name in (target, draft) if name is not None]
    report = CheckReport(
        target=FileFacts.of(files[0]),
        draft=FileFacts.of(files[1]) if len(files) > 1 else None,
        verdict=judge(*files),
    )
    if as_json:
        print(msgspec.json.encode(report).decode())
    else:
        print("\n".join(report_lines(report, files)))
    return 0 if report.verdict.usable else 1


def report_lines(report: CheckReport, files: list[GgufFile]) -> list[str]:
    """The report in lines of a terminal: the verdict first, then the files, then what was found."""
    verdict = report.verdict
    lines = [*_labelled("", verdict.sentence), *_labelled("", verdict.advice), ""]
    for role, file in zip(("target", "draft"), files, strict=False):
        lines += _labelled(f"  {role}", _file_line(file))
    if verdict.findings:
        lines.append("")
    for finding in verdict.findings:
        lines += _labelled(f"{MARKS[finding.level]} {finding.topic}", finding.sentence)
    return lines


def _read(name: str) -> GgufFile:
    if is_address(name) and not Path(name).exists():
        return read_remote(name)
    return read_gguf(name)


def _file_line(file: GgufFile) -> str:
    kind = drafter_kind(file)
    what = MEMORY_NAMES[memory_kind(file)] if kind in ("model", "mtp") else DRAFTER_NAMES[kind]
    return f"{short_name(file)}, {size_text(file.size_bytes)}, {file.architecture}, {what}"


def size_text(n_bytes: int) -> str:
    """Bytes in the unit that reads best, as a file manager shows them."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= 0.9995 * size:  # three digits of the unit below would round up to 1000
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"


def _labelled(label: str, text: str) -> list[str]:
    if not label:
        return wrapped(text)
    return wrapped(text, f"{label:<{LABEL_WIDTH}}", " " * LABEL_WIDTH)
