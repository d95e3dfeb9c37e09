"""Which files of a repository a person means by `repo`, `repo:quant` or `repo:file`."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from specchat.errors import InvalidSetting, NotOnHub
from specchat.hub.naming import base_name, quant_of, whole_models

USUAL_QUANT = "Q4_K_M"
"""What `repo` alone means where there is a choice."""
SHOWN_CHOICES = 12
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


def pick(names: Sequence[str], wanted: Wanted) -> tuple[str, ...]:
    """The file, or all parts of a split one, that is meant.

    Raises:
        NotOnHub: the repository has no such file, or several.
    """
    models = whole_models(names)
    if wanted.choice is None:
        return _pick_usual(models, wanted)
    matching = list(_by_file(names, wanted.choice) or _by_quant(models, wanted.choice))
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise _choice_error(wanted, f"{len(matching)} files fit {wanted.choice}.", matching)
    if not models:
        raise _no_models(wanted)
    raise _choice_error(wanted, f"No GGUF file there fits {wanted.choice}.", models)


def _pick_usual(models: list[tuple[str, ...]], wanted: Wanted) -> tuple[str, ...]:
    if not models:
        raise _no_models(wanted)
    usual = models if len(models) == 1 else _by_quant(models, USUAL_QUANT)
    if len(usual) != 1:
        raise _choice_error(wanted, f"It has {len(models)} GGUF files.", models)
    return usual[0]


def _by_file(names: Sequence[str], choice: str) -> list[tuple[str, ...]]:
    """Named outright: also what is no chat model, and what is split into parts meanwhile."""
    whole_name = choice.casefold()
    patterns = (whole_name, whole_name.removesuffix(".gguf") + "-?????-of-?????.gguf")
    found = [
        name
        for name in names
        for each in (name.casefold(), base_name(name).casefold())
        if any(fnmatchcase(each, pattern) for pattern in patterns)
    ]
    whole = {name: parts for parts in whole_models(names) for name in parts}
    return list(dict.fromkeys(whole.get(name, (name,)) for name in found))


def _by_quant(models: list[tuple[str, ...]], choice: str) -> list[tuple[str, ...]]:
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


def _choice_error(wanted: Wanted, happened: str, models: list[tuple[str, ...]]) -> NotOnHub:
    quants = [quant_of(parts[0]) for parts in models]
    told_apart_by_quant = None not in quants and len(set(quants)) == len(quants)
    choices = [
        str(quant) if told_apart_by_quant else base_name(parts[0])
        for parts, quant in zip(models, quants, strict=True)
    ]
    shown = ", ".join(choices[:SHOWN_CHOICES])
    more = len(choices) - SHOWN_CHOICES
    return NotOnHub(
        f"Tried to pick a file of {wanted.repo}.",
        happened,
        f"Name one as {wanted.repo}:CHOICE, where CHOICE is one of: {shown}"
        + (f" and {more} more." if more > 0 else "."),
    )
