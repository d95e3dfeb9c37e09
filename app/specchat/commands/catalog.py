"""`specchat catalog check`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.errors import InvalidSetting

if TYPE_CHECKING:
    from specchat.pairing.catalog_check import CheckedFile


def check(files: tuple[str, ...]) -> int:
    """Print what is wrong in files of the catalog, ours and the person's own by default.

    Returns:
        The exit code: 0 when all is well, 1 when there are mistakes.

    Raises:
        InvalidSetting: a file cannot be read.
    """
    from specchat.pairing.catalog import catalog_files, catalog_folder, own_catalog_folder
    from specchat.pairing.catalog_check import find_problems

    ours = _read(catalog_files(catalog_folder()))
    if files:
        checked = _read(map(Path, files))
        problems = find_problems(checked, ours)
    else:
        own = _read(catalog_files(own_catalog_folder()))
        checked = [*ours, *own]
        problems = find_problems(ours, []) + find_problems(own, ours)
    for problem in problems:
        print(problem)
    print(
        f"{_count(len(checked), 'file')}, "
        f"{_count(sum(len(file.models) for file in checked), 'model')}, "
        f"{_count(sum(len(file.pairs) for file in checked), 'pair')}: "
        f"{_count(len(problems), 'problem')}."
    )
    return 1 if problems else 0


def _read(paths: Iterable[Path]) -> list[CheckedFile]:
    from specchat.pairing.catalog_check import check_file

    checked = []
    for path in paths:
        try:
            checked.append(check_file(path))
        except OSError as error:
            raise InvalidSetting(
                f"Tried to check '{path}'.",
                f"The system refused: {error.strerror}.",
                "Give the path of a TOML file, or none to check all of the catalog.",
            ) from error
    return checked


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
