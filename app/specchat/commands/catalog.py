"""`specchat catalog check`."""

from pathlib import Path

from specchat.errors import InvalidSetting


def check(files: tuple[str, ...]) -> int:
    """Print what is wrong in files of the catalog, ours and the person's own by default.

    Returns:
        The exit code: 0 when all is well, 1 when there are mistakes.

    Raises:
        InvalidSetting: a file cannot be read.
    """
    from specchat.pairing.catalog import catalog_files, catalog_folder, own_catalog_folder
    from specchat.pairing.catalog_check import CheckedFile, check_file, find_problems

    def read(paths: tuple[Path, ...]) -> list[CheckedFile]:
        return [_readable(path) for path in paths]

    def _readable(path: Path) -> CheckedFile:
        try:
            return check_file(path)
        except OSError as error:
            raise InvalidSetting(
                f"Tried to check '{path}'.",
                f"The system refused: {error.strerror}.",
                "Give the path of a TOML file, or none to check all of the catalog.",
            ) from error

    ours = read(catalog_files(catalog_folder()))
    if files:
        given = read(tuple(map(Path, files)))
        problems, checked = find_problems(given, ours), given
    else:
        own = read(catalog_files(own_catalog_folder()))
        problems = find_problems(ours, ()) + find_problems(own, ours)
        checked = ours + own
    for problem in problems:
        print(problem)
    pairs, models = sum(len(f.pairs) for f in checked), sum(len(f.models) for f in checked)
    said = f"{len(checked)} files, {models} models, {pairs} pairs"
    print(f"{said}: {len(problems) or 'no'} problem{'s' if len(problems) != 1 else ''}.")
    return 1 if problems else 0
