"""Files that keep a run: JSON, CSV, HTML."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import msgspec

from specchat.bench.record import Answer, Record
from specchat.errors import InvalidSetting

CSV_COLUMNS = (
    "set",
    "prompt",
    "repetition",
    "variant",
    "rule",
    "finish_reason",
    "prompt_tokens",
    "emitted",
    "decode_s",
    "tokens_per_second",
    "drafted",
    "tested",
    "accepted",
    "accepted_ngram",
    "rounds",
    "draft_s",
    "verify_s",
    "draft_decode_s",
    "step_back_s",
    "replayed",
    "snapshots_s",
    "started_s",
)
"""Fields of `Answer`: one line an answer."""


def as_json(record: Record) -> str:
    """The whole record; its schema is in docs/bench.schema.json."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1).decode() + "\n"


def as_csv(record: Record) -> str:
    """One line an answer, with a head; what was not told is left empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows(_cells(answer) for answer in record.answers)
    return out.getvalue()


def require_writable(paths: Mapping[str, Path | None]) -> None:
    """See before a long run that its files can be written.

    Args:
        paths: for an option's name its file.

    Raises:
        InvalidSetting: a folder is missing, or a folder is in the file's place.
    """
    for option, path in paths.items():
        if path is None:
            continue
        tried = f"Tried to write the result to '{path}'."
        if path.is_dir():
            raise InvalidSetting(tried, "That is a folder.", f"Give {option} the name of a file.")
        if not path.parent.is_dir():
            raise InvalidSetting(
                tried, "Its folder does not exist.", "Make the folder, or choose another one."
            )


def write_file(path: Path, text: str) -> None:
    """Write the text as UTF-8.

    Raises:
        InvalidSetting: the system refuses.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidSetting(
            f"Tried to write the result to '{path}'.",
            f"The system refused: {error.strerror}.",
            "Choose another place.",
        ) from error


def _cells(answer: Answer) -> list[object]:
    values = [getattr(answer, column) for column in CSV_COLUMNS]
    return ["" if value is None else value for value in values]
