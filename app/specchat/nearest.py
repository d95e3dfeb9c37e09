"""The name that somebody probably meant."""

from collections.abc import Iterable


def did_you_mean(name: str, names: Iterable[str], before: str = "") -> str:
    """` Did you mean x?` for the nearest known name, or nothing.

    Args:
        before: what names are written with, such as the slash of commands.
    """
    import difflib

    nearest = difflib.get_close_matches(name, sorted(names), n=1)
    return f" Did you mean {before}{nearest[0]}?" if nearest else ""
