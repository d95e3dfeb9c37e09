"""Text in the 80 columns of a terminal."""

import textwrap

WIDTH = 80


def wrapped(
    text: str, first: str = "", later: str | None = None, *, cut_long_words: bool = True
) -> list[str]:
    """Lines that fit.

    Args:
        first: what the first line begins with.
        later: what the others begin with; None: the same.
        cut_long_words: long ones such as paths are cut rather than let out.
    """
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if later is None else later,
        break_on_hyphens=False,
        break_long_words=cut_long_words,
    )
