"""Which files of a repository a person means by `repo`, `repo:quant` or `repo:file`."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

import msgspec

from specchat.errors import InvalidSetting, NotOnHub
from specchat.hub.naming import base_name, named_kind, quant_of, whole_files, whole_models

USUAL_QUANT = "Q4_K_M"
"""What `repo` alone means where there is a choice."""
SHOWN_CHOICES = 12
Parts = tuple[str, ...]
"""The names of a file, or of all parts of a split one."""
ADDRESSES = ("https://huggingface.co/", "http://huggingface.co/", "huggingface.co/", "hf.co/")


class Wanted(msgspec.Struct, frozen=True):
    """What is asked of the Hub."""

    repo: str
    choice: str | None = None
    """A quantisation, or the name of a file, which may have `*`; None leaves it to us."""


def parse_wanted(text: str) -> Wanted:
    """Read `repo[:quant]`, `repo:file`, or the address of a repository or of a file in it.

    Raises:
        InvalidSetting: it is none of them.
    """
    name = next((text[len(start) :] for start in ADDRESSES if text.startswith(start)), text)
    repo, _, choice = name.partition(":")
    owner, _, rest = repo.partition("/")
    repo_name, _, path = rest.partition("/")
    kind, _, revision_and_file = path.partition("/")
    if kind in ("blob", "resolve") and not choice:
        choice = revision_and_file.partition("/")[2].partition("?")[0]
    elif path not in ("", "tree/main"):
        repo_name = ""
    if not owner or not repo_name or any(character.isspace() for character in repo):
        raise InvalidSetting(
            f"Tried to read {text!r} as a model on the Hub.",
            "It is no name of a repository.",
            "Write OWNER/NAME, OWNER/NAME:QUANT or OWNER/NAME:FILE, "
            "such as Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q4_K_M.",
        )
    return Wanted(f"{owner}/{repo_name}", choice or None)


def pick(
    names: Sequence[str], wanted: Wanted, is_head: Callable[[Parts], bool] = lambda parts: False
) -> Parts:
    """The file, or all parts of a split one, that is meant: a model, unless a head is named.

    Args:
        is_head: whether a file whose name leaves it open is a trained head. It is asked only where
            that makes a difference.

    Raises:
        NotOnHub: the repository has no such file, or several.
    """
    models = whole_models(names)
    named = _by_file(names, wanted.choice) if wanted.choice is not None else []
    if len(named) > 1:
        fitting = _without_heads([parts for parts in named if parts in models], is_head) or named
    elif named:
        fitting = named
    elif models:
        models, fitting = _fitting_models(models, wanted.choice, is_head)
    else:
        models = whole_files(names)
        fitting = _of_quant(models, wanted.choice)
    if len(fitting) == 1:
        return fitting[0]
    if not models:
        raise _no_models(wanted)
    if wanted.choice is None:
        raise _choice_error(wanted, f"It has {len(models)} GGUF models.", models)
    if fitting:
        raise _choice_error(wanted, f"{len(fitting)} files fit {wanted.choice}.", fitting)
    raise _choice_error(wanted, f"No GGUF file there fits {wanted.choice}.", models)


def _fitting_models(
    models: list[Parts], choice: str | None, is_head: Callable[[Parts], bool]
) -> tuple[list[Parts], list[Parts]]:
    """The models without what turned out to be heads, and those of them that the choice fits."""
    if len(models) == 1 and choice is None:
        return models, models
    left = models
    while fitting := _of_quant(left, choice):
        kept = _without_heads(fitting, is_head)
        if kept == fitting:
            return left, fitting
        left = [parts for parts in left if parts in kept or parts not in fitting]
    if _without_heads(left, is_head):
        return left, []
    return models, _of_quant(models, choice)


def _without_heads(files: list[Parts], is_head: Callable[[Parts], bool]) -> list[Parts]:
    """The same without heads, which are looked for as long as it matters."""
    found: set[Parts] = set()
    n_models = 0
    for parts in sorted(files, key=lambda each: named_kind(each[0]) is not None):
        if n_models > 1:  # the choice stays open, whatever the others are
            break
        if is_head(parts):
            found.add(parts)
        else:
            n_models += 1
    return [parts for parts in files if parts not in found]


def _of_quant(models: list[Parts], choice: str | None) -> list[Parts]:
    if choice is not None:
        return _by_quant(models, choice)
    return (_by_quant(models, USUAL_QUANT) if len(models) > 1 else []) or models


def _by_file(names: Sequence[str], choice: str) -> list[Parts]:
    """Named outright: also what is no chat model, and what is split into parts meanwhile."""
    whole_name = choice.casefold()
    patterns = (whole_name, whole_name.removesuffix(".gguf") + "-?????-of-?????.gguf")
    exact = [name for name in names if name.casefold() == whole_name]
    found = exact or [
        name
        for name in names
        for each in (name.casefold(), base_name(name).casefold())
        if any(fnmatchcase(each, pattern) for pattern in patterns)
    ]
    whole = {name: parts for parts in whole_files(names) for name in parts}
    return list(dict.fromkeys(whole.get(name, (name,)) for name in found))


def _by_quant(models: list[Parts], choice: str) -> list[Parts]:
    wanted = choice.upper()
    quants = [(parts, quant_of(parts[0]) or "") for parts in models]
    exact = [parts for parts, quant in quants if quant == wanted]
    return exact or [parts for parts, quant in quants if quant.removeprefix("UD-") == wanted]


def _no_models(wanted: Wanted) -> NotOnHub:
    return NotOnHub(
        f"Tried to find a model in {wanted.repo}.",
        "The repository has no GGUF model.",
        "Look for one whose name ends in -GGUF: llama.cpp reads no other format.",
    )


def _choice_error(wanted: Wanted, happened: str, models: list[Parts]) -> NotOnHub:
    shown = ", ".join(_choices(models)[:SHOWN_CHOICES])
    more = len(models) - SHOWN_CHOICES
    return NotOnHub(
        f"Tried to pick a file of {wanted.repo}.",
        happened,
        f"Name one as {wanted.repo}:CHOICE, where CHOICE is one of: {shown}"
        + (f" and {more} more." if more > 0 else "."),
    )


def _choices(models: list[Parts]) -> list[str]:
    """The shortest words that tell them apart: quantisations, names, or names with folders."""
    quants = [quant_of(parts[0]) for parts in models]
    known = [quant for quant in quants if quant is not None]
    for words in (known, [base_name(parts[0]) for parts in models]):
        if len(set(words)) == len(models):
            return words
    return [parts[0] for parts in models]
