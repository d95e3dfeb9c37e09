"""What the name of a GGUF file says: its quantisation, its place in a split model, whether it may
be a trained head."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from specchat.pairing.drafter_type import DrafterKind

QUANT = re.compile(
    r"(?<![A-Za-z0-9])"
    r"((?:UD-)?"
    r"(?:I?Q[1-8]_(?:K(?:_(?:XXS|XS|S|M|L|XL|XXL))?|XXS|XS|S|M|NL|[01](?:_[48]_[48])?)"
    r"|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4|BF16|F16|FP16|F32))"
    r"(?![A-Za-z0-9])",
    re.IGNORECASE,
)
SPLIT = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
COMPANION = re.compile(
    r"(?P<projector>mmproj)|(?P<matrix>(?<![a-z])imatrix(?![a-z]))", re.IGNORECASE
)
COMPANION_WORDS = {"projector": "an image projector", "matrix": "an importance matrix"}
HEAD_BEGINS = re.compile(r"(?:mtp|eagle-?3|dflash|dspark)[-_.]", re.IGNORECASE)
"""How publishers begin the name of a head; llama.cpp looks for heads by it."""
HEAD_WORD = re.compile(
    r"(?<![a-z0-9])(?:(?P<mtp_sidecar>mtp|nextn|assistant)|(?P<dspark>dspark)|(?P<dflash>dflash2?)"
    r"|(?P<eagle3>eagle-?3?))(?![a-z0-9])",
    re.IGNORECASE,
)
"""Elsewhere in the name, or in its folder's, a word says less: models with MTP heads have it."""
HEAD_KINDS: tuple[DrafterKind, ...] = ("mtp_sidecar", "dspark", "dflash", "eagle3")


class SplitPart(NamedTuple):
    """A file `stem-00001-of-00003.gguf`; the stem has the folder too."""

    stem: str
    number: int
    of: int


def is_gguf(name: str) -> bool:
    """Whether the name is one of a GGUF file."""
    return name.lower().endswith(".gguf")


def base_name(name: str) -> str:
    """The last part of a name on the Hub."""
    return name.rpartition("/")[2]


def quant_of(name: str) -> str | None:
    """The quantisation in the name of a file, or of its folder; in capitals, as in llama.cpp."""
    for part in reversed(name.split("/")):
        found = QUANT.findall(part)
        if found:
            return str(found[-1]).upper()
    return None


def split_part(name: str) -> SplitPart | None:
    """Which part of a split model the file is, if it is one."""
    match = SPLIT.fullmatch(name)
    if match is None:
        return None
    return SplitPart(match["stem"], int(match["number"]), int(match["count"]))


def split_names(part: SplitPart) -> tuple[str, ...]:
    """The names of all parts, in order."""
    return tuple(
        f"{part.stem}-{number:05}-of-{part.of:05}.gguf" for number in range(1, part.of + 1)
    )


def companion(name: str) -> str | None:
    """What a GGUF file is that no chat can be had with, by its name; None for a model."""
    match = COMPANION.search(base_name(name))
    return None if match is None else COMPANION_WORDS[str(match.lastgroup)]


def is_named_head(name: str) -> bool:
    """Whether the name is one that only heads have: `mtp-...`, `eagle3-...` and their like."""
    return HEAD_BEGINS.match(base_name(name)) is not None


def named_kind(name: str) -> DrafterKind | None:
    """The kind of head that a GGUF file may be by its name, or its folder's; None: it says none."""
    match = HEAD_WORD.search(base_name(name)) or HEAD_WORD.search(name)
    return next((kind for kind in HEAD_KINDS if match is not None and match[kind]), None)


def whole_models(names: Iterable[str]) -> list[tuple[str, ...]]:
    """The models among the names, by name: each a tuple of its parts. Companions and heads are not.

    A split model of which a part is missing is left out as well.
    """
    return [parts for parts in whole_files(names) if not is_named_head(parts[0])]


def whole_files(names: Iterable[str]) -> list[tuple[str, ...]]:
    """The same with the heads."""
    given = set(names)
    files = set()
    for name in given:
        if not is_gguf(name) or companion(name):
            continue
        part = split_part(name)
        parts = (name,) if part is None else split_names(part)
        if given.issuperset(parts):
            files.add(parts)
    return sorted(files)
