"""Which pair is loaded: the one that was named, the last one, or the best on this disk."""

from typing import Literal

import msgspec

from specchat.engine.protocol import Load, Notice
from specchat.pairing.catalog import CatalogPair

Origin = Literal["named", "files", "last", "best", "built_in"]
"""By --pair; by --target; used last; best on this disk; nothing else is here."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said about the pair, by the names of the options."""

    pair: str | None = None
    """A name in the catalog."""
    target: str | None = None
    draft: str | None = None
    ctx: int | None = None
    threads: int | None = None
    gpu_layers: int | None = None
    """None leaves it to the memory plan; -1 puts all on the GPU."""
    rpc: tuple[str, ...] = ()
    drafter: Literal["auto", "model", "ngram", "none"] = "auto"
    draft_length: int | Literal["auto"] = "auto"
    draft_required: bool = False
    """Refuse what cannot draft, instead of going on without it."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A pair with its files, before it has its place in memory."""

    asked: Asked
    load: Load
    """As asked; `place` fits it to the machine."""
    origin: Origin
    title: str
    """The pair in words, such as `Qwen2.5 Coder 7B Q4_K_M`."""
    name: str | None = None
    """In the catalog."""
    first_run: bool = False
    """Nothing but the built-in model is here, and nothing was asked for."""
    pair: CatalogPair | None = None
    """The catalog's entry, where there is one."""
    notices: tuple[Notice, ...] = ()


def choose(asked: Asked) -> Choice:
    """The pair to load. Nothing is loaded, and nothing is asked of the network.

    It looks at the folders of models only when nothing was named.

    Raises:
        InvalidSetting: options that do not go together, or a pair of no catalog.
        NoModel: files of the pair are not on this disk, or there is no model at all.
        InvalidCatalog: the person's own catalog does not read.
    """
    raise NotImplementedError
